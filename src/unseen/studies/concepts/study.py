"""The concept study: a backbone on the concepts it has seen and on levels of concepts it has not.

This module has its jobs and the record of its run.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from unseen.backbones.backbone import RANDOM as RANDOM_WEIGHTS
from unseen.backbones.backbone import Backbone
from unseen.backbones.catalogue import Published
from unseen.backbones.training_data import published_as, trained_on
from unseen.features.about import BackboneAbout, StoreAbout
from unseen.images.domains import DRAWN_BY, SEEN, SOMEBODY_ELSE, US
from unseen.images.open_dataset import OpenDataset
from unseen.images.own.concept_data import ConceptData
from unseen.images.releases import release_of
from unseen.images.splits import Splits
from unseen.images.transform import Transform
from unseen.ontology.levels import Levels, spoken
from unseen.ontology.levels_hash import levels_hash
from unseen.ontology.wordnet import wordnet
from unseen.papers.comparability import Draw, ScoredData
from unseen.papers.leaderboard import other_size
from unseen.probes.by_name.linear import Linear
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.runs.cautions import Caution, caution
from unseen.runs.data import Backbone as ReportBackbone
from unseen.runs.data import Domain, RunData, Study
from unseen.runs.notices import Notice, notice
from unseen.runs.own_metric import metric_jobs
from unseen.runs.random_draws import DRAW, RANDOM
from unseen.runs.setup import (
    SHORT,
    Extraction,
    FeatureKey,
    ImagesUsed,
    LevelsUsed,
    ProtocolUsed,
    Setup,
    SplitsUsed,
)
from unseen.studies.concepts.features import SIDES, Place, Places
from unseen.studies.concepts.plan import Asked
from unseen.studies.concepts.variants import DRAWS, split_rule
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probing import (
    episode_notices,
    plan,
    plan_extended,
    search_notices,
    short_shots,
    skipped_shots,
)

STUDY: Study = "concepts"
SIZE = 224
"""Side of the images in pixels in ImageNet-CoG, except for a few models."""
LEVEL = re.compile(r"l[0-9]+")
USUAL_LAYERS = ("penultimate", "embedding", "output")
"""Layers that are directly before the classifier, or the output of a network without one."""


def as_published(backbone: Backbone) -> Backbone:
    """The backbone with the preprocessing of ImageNet-CoG: shortest side to the crop size, bicubic, centre crop."""
    transform = backbone.spec.transform
    changed = replace(transform, resize=transform.size, interpolation="bicubic", squash=False)
    return replace(backbone, spec=replace(backbone.spec, transform=changed))


def study_jobs(asked: Asked, pairs: Sequence[ProbedFeatures]) -> list[Job]:
    """All jobs of a study."""
    seeds = range(asked.seeds)
    jobs = plan(Logistic(asked.protocol), pairs, asked.shots, seeds)
    further = plan_extended(pairs, seeds=seeds, protocol=asked.protocol, kinds=asked.extended)
    own = [job for pair in pairs for each in asked.own.probes for job in each.jobs(pair, seeds)]
    fitted = [*jobs, *further, *own]
    return [*fitted, *metric_jobs(asked.own.metrics, fitted)]


def study_run(
    asked: Asked,
    pairs: Sequence[ProbedFeatures],
    places: Places,
    *,
    images: Sequence[ImagesUsed] = (),
    splits: SplitsUsed | None = None,
    notices: Sequence[Notice] = (),
) -> RunData:
    """The record of a study, without its scores.

    Args:
        images, splits: the sources of the images (`images_used`), and how those of the levels were split, if known.
        notices: notices for the reader.
    """
    names = list(places)
    first = {name: next(iter(places[name].values()))[0] for name in names}
    setup = study_setup(asked, first, splits)
    backbones = [_backbone(name, place) for name, place in first.items()]
    return RunData(
        title="Concept generalization",
        scores=(),
        domains=_domains(asked),
        backbones=backbones,
        baseline=names[0],
        told=[*dict.fromkeys([*notices, *random_notices(backbones), *_notices(asked, pairs)])],
        protocols=setup.protocols,
        levels=setup.levels,
        splits=splits,
        images=images,
        seeds=range(asked.seeds),
        published=asked.published,
        features=[_feature_key(pair, places[pair.backbone][pair.dataset]) for pair in pairs],
        scored=[_scored(asked, pair, places[pair.backbone][pair.dataset]) for pair in pairs],
        flaws=[flaw for pair in pairs for flaw in pair.flaws],
        study=STUDY,
    )


def _scored(asked: Asked, pair: ProbedFeatures, sides: tuple[Place, Place]) -> ScoredData:
    """The numbers of classes and images behind the scores on a domain."""
    return pair.scored(asked.protocol.name, _draw(asked, pair.dataset, sides), asked.variant)


def _draw(asked: Asked, domain: str, sides: tuple[Place, Place]) -> Draw:
    """Who chose the images, according to the features; ImageNet-1K is used completely, without a draw."""
    sources = [place.about.get("source") for place in sides]
    if domain == SEEN:
        return "given" if all(isinstance(source, dict) for source in sources) else "unknown"
    by = {source.get(DRAWN_BY) if isinstance(source, dict) else None for source in sources}
    if by == {US}:
        return "ours"
    return "given" if by == {SOMEBODY_ELSE} else asked.draw


def study_setup(asked: Asked, backbones: Mapping[str, Place], splits: SplitsUsed | None = None) -> Setup:
    """Everything that determines a study, known before its features, to compare with the run in a folder.

    Args:
        backbones: features of each backbone, or their future description.
    """
    return Setup(
        protocols=[ProtocolUsed.of("logistic", asked.protocol), *_linear_protocol(asked), *asked.own.protocols()],
        levels=LevelsUsed(asked.levels.name, levels_hash(asked.levels)),
        splits=splits,
        extractions={name: known for name, place in backbones.items() if (known := extraction_of(place.known))},
    )


def _linear_protocol(asked: Asked) -> list[ProtocolUsed]:
    """The protocol of the probe `linear`, which is not that of the study, if it is among the additional probes."""
    used = Linear.in_study(asked.protocol).protocol
    return [ProtocolUsed.of("many-shot", used)] if Linear.name in asked.extended else []


def extraction_of(known: StoreAbout) -> Extraction | None:
    """The extraction of features, as far as they record it; None if they record nothing."""
    found = Extraction(known.backbone or BackboneAbout(), known.precision, known.fast, known.exif, known.decode)
    return None if found == Extraction() else found


def random_notices(backbones: Iterable[ReportBackbone]) -> list[Notice]:
    """Notices about untrained networks; their names in tables are those of the trained ones."""
    return [
        notice("random-weights", backbone=each.name)
        for each in backbones
        if each.features is not None and each.features.backbone.weights == RANDOM_WEIGHTS
    ]


def images_used(domains: Sequence[OpenDataset], seen: str = SEEN) -> list[ImagesUsed]:
    """The sources of the images of each split; the levels share one source.

    Args:
        seen: name of the domain of seen concepts.
    """
    found = []
    for domain in domains:
        for split in SIDES:
            source, _ = domain.part(split)
            release = release_of(source.about)
            found.append(
                ImagesUsed(
                    domain.name,
                    split,
                    images=len(source.entries),
                    release=release.code if release else None,
                    blurred=release.blurred if release else None,
                    pool=domain.name != seen,
                )
            )
    return found


def splits_used(file: Path | None, variant: str) -> SplitsUsed:
    """How the images of the levels are split: by a file, or by our own draw."""
    if file is not None:
        return SplitsUsed(file=file.name, hash=Splits.read(file).content_hash)
    rule = split_rule(variant)
    return SplitsUsed(seed=0, test=rule.test, max_train=rule.max_train)


def own_splits(data: ConceptData) -> SplitsUsed:
    """How the images of the user's own data are split, or the file with the splits."""
    rule = data.rule
    if rule is None:
        return SplitsUsed(file=data.description.path.name)
    return SplitsUsed(seed=0, test=rule.test, max_train=data.description.file.train or None)


def image_notices(images: Sequence[ImagesUsed]) -> list[Notice]:
    """Notices about the sources of images."""
    return [notice("blurred-faces")] if any(each.blurred for each in images) else []


def _notices(asked: Asked, pairs: Sequence[ProbedFeatures]) -> list[Notice]:
    own = [each for probe in asked.own.probes for each in skipped_shots(probe.probe.default_shots, pairs)]
    return [
        *search_notices(asked.protocol, "short-protocol"),
        *skipped_shots(asked.shots, pairs),
        *short_shots(asked.shots, pairs, Logistic(asked.protocol)),
        *episode_notices(pairs, asked.extended),
        *own,
    ]


def _domains(asked: Asked) -> list[Domain]:
    domains = []
    for name in asked.domains:
        ids = asked.concepts.get(name, ())
        if name == asked.seen:
            title = "IN-1K" if name == SEEN else name
            domains.append(Domain(name, title, seen=True, concepts=_named(ids, asked.levels), classes=len(ids)))
        elif not DRAW.fullmatch(name):
            level = asked.levels[asked.numbers[name]]
            concepts = _named(ids, asked.levels)
            title = name.upper() if LEVEL.fullmatch(name) else name
            domains.append(Domain(name, title, False, _similarity(level), concepts, classes=len(ids)))
    drawn = [asked.concepts.get(name, ()) for name in asked.domains if DRAW.fullmatch(name)]
    if drawn:
        everything = sorted({concept.wnid for concept in asked.levels.concepts})
        concepts = _named(everything, asked.levels)
        domains.append(Domain(RANDOM, f"mean of {DRAWS} random sets", concepts=concepts, classes=len(drawn[0])))
    return domains


def _similarity(concepts: Sequence[Any]) -> float | None:
    known = [concept.similarity for concept in concepts if concept.similarity is not None]
    return float(np.mean(known)) if known else None


def _named(ids: Sequence[str], levels: Levels) -> list[str]:
    """Readable names of concepts, with their ids."""
    names = {concept.wnid: concept.word for concept in levels.concepts}
    for wnid in ids:
        if wnid not in names:
            names[wnid] = spoken(wordnet().synset(wnid).name) if wnid in wordnet().position else wnid
    return [f"{names[wnid]} ({wnid})" if names[wnid] != wnid else wnid for wnid in ids]


def _backbone(name: str, place: Place) -> ReportBackbone:
    spec = place.known.backbone or BackboneAbout()
    identifier = spec.id or name
    model = published_as(identifier, spec.weights) if spec.weights else None
    sizes = [f"{spec.dimension} features"] if spec.dimension else []
    sizes += [f"images of {spec.transform.size} pixels"] if spec.transform else []
    return ReportBackbone(
        name,
        model.category if model else "yours",
        " of ".join(sizes),
        _cautions(identifier, spec, model),
        training_data=training_data(identifier, spec),
        features=extraction_of(place.known),
    )


def training_data(name: str, spec: BackboneAbout) -> tuple[str, ...]:
    """Training data beside ImageNet-1K: the data sets of a published model, or codes of `trained_on`."""
    if not spec.weights:
        return ("unknown",)
    model = published_as(name, spec.weights)
    return trained_on(name, spec.weights) if model is None else (model.extra_data,) if model.extra_data else ()


def _cautions(name: str, spec: BackboneAbout, model: Published | None) -> list[Caution]:
    """Reasons why a comparison with the paper's ResNet50, or with the published version of the model, is not fair."""
    data = training_data(name, spec)
    cautions = [caution("trained-with", data=each) if model else caution(f"trained-with-{each}") for each in data]
    if spec.transform:
        cautions += _transform_cautions(spec.transform)
    if spec.parameters is not None and other_size(spec.parameters / 1e6):
        cautions.append(caution("network-size"))
    if spec.layer is not None and spec.layer not in USUAL_LAYERS:
        cautions.append(caution("layer", layer=spec.layer))
    if model is not None and model.pool and spec.pool != model.pool:
        cautions.append(caution("pooling", pool=spec.pool or ""))
    return cautions


def _transform_cautions(transform: Transform) -> list[Caution]:
    cautions = [caution("image-size", size=transform.size)] if transform.size != SIZE else []
    if transform.resize is None:
        cautions.append(caution("not-resized"))
    elif transform.resize != transform.size or transform.interpolation != "bicubic" or transform.squash:
        code = "squashed" if transform.squash else "resized"
        cautions.append(caution(code, resize=transform.resize, interpolation=transform.interpolation))
    return cautions


def _feature_key(pair: ProbedFeatures, sides: tuple[Place, Place]) -> FeatureKey:
    hashes = zip(SIDES, sides, [pair.hashes[side] for side in SIDES], strict=True)
    keys = {split: (place.known.key or content)[:SHORT] for split, place, content in hashes}
    return FeatureKey(pair.backbone, pair.dataset, keys)
