"""The concept study: a backbone on the concepts it has seen and on levels of concepts it has not.

What its jobs are, and what is written of the run beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from unseen.backbones.backbone import Backbone
from unseen.backbones.catalogue import Published
from unseen.backbones.training_data import UNKNOWN, published_as, trained_on
from unseen.features.about import BackboneAbout
from unseen.images.domains import DRAWN_BY, SEEN, SOMEBODY_ELSE, US, DomainImages
from unseen.images.transform import NORMALISATIONS, Transform
from unseen.ontology.levels import Levels, spoken
from unseen.ontology.wordnet import wordnet
from unseen.papers.comparability import Draw, ScoredData
from unseen.papers.leaderboard import OTHER_SIZE, other_size
from unseen.probes.probe import FeatureJob
from unseen.probes.protocol import COG_V2, LogisticProtocol
from unseen.runs.data import Backbone as ReportBackbone
from unseen.runs.data import Domain, FeatureKey, RunData, Study
from unseen.runs.notices import Notice, notice
from unseen.runs.random_draws import DRAW, RANDOM
from unseen.runs.record import VERSION
from unseen.studies.concepts.features import Place, Places
from unseen.studies.concepts.plan import Asked, levels_hash
from unseen.studies.concepts.variants import DRAWS
from unseen.studies.probing import FeaturePair, plan, plan_extended, possible_shots
from unseen.version import __version__

STUDY: Study = "concepts"
SIZE = 224
"""Pixels of an image's side in ImageNet-CoG, but for a few models."""
USUAL_LAYERS = ("penultimate", "embedding", "output")
"""Where features come from that are before a classifier, or all that a network gives."""
TRAINED = "trained with "
UNPOOLED = "features are the class token"
"""How the catalogue's note begins of a model that the paper did not pool otherwise."""


def as_published(backbone: Backbone) -> Backbone:
    """The backbone with the preprocessing of ImageNet-CoG: shortest side to the crop's size, bicubic, centre crop."""
    transform = backbone.spec.transform
    changed = replace(transform, resize=transform.size, interpolation="bicubic", squash=False)
    return replace(backbone, spec=replace(backbone.spec, transform=changed))


def study_jobs(asked: Asked, pairs: Sequence[FeaturePair]) -> list[FeatureJob]:
    """Every job of a study."""
    jobs: list[FeatureJob] = [*plan(STUDY, pairs, asked.protocol, asked.shots, range(asked.seeds))]
    further = plan_extended(STUDY, pairs, seeds=range(asked.seeds), protocol=asked.protocol, kinds=asked.extended)
    return [*jobs, *further]


def study_run(
    asked: Asked,
    pairs: Sequence[FeaturePair],
    places: Places,
    images: Mapping[str, str],
    notices: Sequence[Notice] = (),
) -> RunData:
    """What is written of a study, without its scores.

    Args:
        images: what is known of where the images come from and how they were drawn: label → text.
        notices: what a reader must be told.
    """
    names = list(places)
    said = [*notices, *_notices(asked, pairs)]
    features = [
        FeatureKey(pair.backbone, pair.domain, _features_text(pair, places[pair.backbone][pair.domain]))
        for pair in pairs
    ]
    first = {name: next(iter(places[name].values()))[0] for name in names}
    return RunData(
        title="Concept generalization",
        scores=(),
        domains=_domains(asked),
        backbones=[_backbone(name, place) for name, place in first.items()],
        baseline=names[0],
        told=[*dict.fromkeys(said)],
        provenance={
            **study_provenance(asked, first),
            **images,
            **{f"features of {each.domain} by {each.backbone}": each.key for each in features},
            VERSION: __version__,
        },
        published=asked.published,
        features=features,
        scored=[_scored(asked, pair, places[pair.backbone][pair.domain]) for pair in pairs],
        flaws=[flaw for pair in pairs for flaw in pair.flaws],
        study=STUDY,
    )


def _scored(asked: Asked, pair: FeaturePair, sides: tuple[Place, Place]) -> ScoredData:
    """What the scores on a domain are of."""
    images = {"train": pair.rows, "test": pair.test_rows}
    draw = _draw(asked, pair.domain, sides)
    return ScoredData(pair.backbone, pair.domain, asked.protocol.name, pair.classes, images, draw, asked.variant)


def _draw(asked: Asked, domain: str, sides: tuple[Place, Place]) -> Draw:
    """Who chose the images, as the features say; those of ImageNet-1K are all its images, drawn by nobody."""
    sources = [place.about.get("source") for place in sides]
    if domain == SEEN:
        return "given" if all(isinstance(source, dict) for source in sources) else "unknown"
    by = {source.get(DRAWN_BY) if isinstance(source, dict) else None for source in sources}
    if by == {US}:
        return "ours"
    return "given" if by == {SOMEBODY_ELSE} else asked.draw


def study_provenance(asked: Asked, backbones: Mapping[str, Place]) -> dict[str, str]:
    """What decides a study before any of its features are there.

    Args:
        backbones: features of each, or what they will say of themselves.
    """
    texts = {f"backbone {name}": backbone_text(place) for name, place in backbones.items()}
    made = {label: text for label, text in texts.items() if text}
    levels = f"{asked.levels.name}, {levels_hash(asked.levels)}"
    return {"protocol": _protocol_text(asked.protocol), "levels": levels, **made}


def images_text(domains: Sequence[DomainImages], seen: str = SEEN) -> dict[str, str]:
    """Where the images of each side come from, by label; the levels share a place.

    Args:
        seen: the name of the domain of seen concepts.
    """
    found: dict[str, str] = {}
    for domain in domains:
        for split, (source, _) in domain.sides.items():
            label = f"{split} images of {seen}" if domain.name == seen else "images of the levels"
            found[label] = source.about.get("release") or f"{len(source.entries):,} images of no release that is known"
    return found


def image_notices(images: Mapping[str, str]) -> list[Notice]:
    """What a reader must know of such images."""
    blurred = any("blurred" in text for text in images.values())
    return [notice("blurred-faces")] if blurred else []


def _notices(asked: Asked, pairs: Sequence[FeaturePair]) -> list[Notice]:
    said, protocol = [], asked.protocol
    if protocol.name != COG_V2.name:
        said.append(notice("short-protocol", protocol=protocol.name, trials=protocol.trials, epochs=protocol.epochs))
    fewest = min(pairs, key=lambda pair: pair.samples)
    possible = possible_shots(asked.shots, fewest.samples, asked.protocol.validation)
    if set(possible) != set(asked.shots):
        short = ", ".join(str(number) for number in asked.shots if number not in possible)
        said.append(notice("few-images", of=fewest.domain, images=fewest.samples, shots=short))
    return said


def _domains(asked: Asked) -> list[Domain]:
    domains = []
    for name in asked.domains:
        ids = asked.concepts.get(name, ())
        if name == asked.seen:
            title = "IN-1K" if name == SEEN else name
            domains.append(Domain(name, title, seen=True, concepts=_named(ids, asked.levels), classes=len(ids)))
        elif not DRAW.fullmatch(name):
            level = asked.levels[int(name.removeprefix("l"))]
            concepts = _named(ids, asked.levels)
            domains.append(Domain(name, name.upper(), False, _similarity(level), concepts, classes=len(ids)))
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
    """Concepts as a person would call them, with their ids."""
    names = {concept.wnid: concept.word for concept in levels.concepts}
    known = wordnet().taxonomy.position
    for wnid in ids:
        if wnid not in names:
            names[wnid] = spoken(wordnet().synset(wnid).name) if wnid in known else wnid
    return [f"{names[wnid]} ({wnid})" for wnid in ids]


def _backbone(name: str, place: Place) -> ReportBackbone:
    spec = place.known.backbone or BackboneAbout()
    identifier = spec.id or name
    model = published_as(identifier, spec.weights) if spec.weights else None
    sizes = [f"{spec.dimension} features"] if spec.dimension else []
    sizes += [f"images of {spec.transform.size} pixels"] if spec.transform else []
    cautions = _cautions(identifier, spec, model)
    made = {"features": text} if (text := backbone_text(place)) else {}
    return ReportBackbone(name, model.category if model else "yours", " of ".join(sizes), cautions, made=made)


def _cautions(name: str, spec: BackboneAbout, model: Published | None) -> list[str]:
    """Why it is not fair to compare a backbone with the paper's ResNet50, or with the published model that it is."""
    data = model.extra_data if model else trained_on(name, spec.weights) if spec.weights else UNKNOWN
    cautions = [f"{TRAINED}{data}"] if data else []
    if spec.transform:
        size, transform = spec.transform.size, spec.transform
        cautions += [f"images of {size} pixels"] if size != SIZE else []
        if transform.resize != size or transform.interpolation != "bicubic" or transform.squash:
            cautions.append(f"preprocessing other than the paper's ({_resize_text(transform)})")
    if spec.parameters is not None and other_size(spec.parameters / 1e6):
        cautions.append(OTHER_SIZE)
    if spec.layer is not None and spec.layer not in USUAL_LAYERS:
        cautions.append(f"features of the layer {spec.layer}")
    if model is not None and model.note.startswith(UNPOOLED) and spec.pool != "cls":
        cautions.append(f"pooling {spec.pool}, not the class token")
    return cautions


def _resize_text(transform: Transform) -> str:
    sides = "both sides" if transform.squash else "shortest side"
    return f"{sides} to {transform.resize}, {transform.interpolation}" if transform.resize else "not resized"


def backbone_text(place: Place) -> str:
    """What decides a backbone's features, in a line, as far as the features say it."""
    known, spec = place.known, place.known.backbone or BackboneAbout()
    transform = spec.transform
    parts = [
        (spec.weights, spec.weights),
        (spec.digest is not None, f"tensors {(spec.digest or '')[:16] or 'none'}"),
        (spec.layer, f"layer {spec.layer}"),
        (spec.pool, f"pooling {spec.pool}"),
        (transform, transform and _transform_text(transform)),
        (known.precision, f"{known.precision} precision"),
        (known.fast, "fast decoding"),
        (known.exif, "EXIF orientation"),
    ]
    return ", ".join(str(text) for holds, text in parts if holds)


def _transform_text(transform: Transform) -> str:
    """What is done to images; the normalisation where it is not by ImageNet's mean and deviation, as it mostly is."""
    text = f"shortest side to {transform.resize}, {transform.interpolation}, crop {transform.size}"
    given = transform.mean, transform.std
    if given == NORMALISATIONS["imagenet"]:
        return text
    name = next((name for name, numbers in NORMALISATIONS.items() if numbers == given), given)
    return f"{text}, normalisation {name}"


def _features_text(pair: FeaturePair, sides: tuple[Place, Place]) -> str:
    """What tells features from others of the same domain: the key of what decides them; of own files, their hash.

    Features that two machines made alike differ in their last bits, so that their hashes would not do.
    """
    hashes = zip(sides, (pair.train, pair.test), strict=True)
    return ", ".join(str(place.about.get("key", content))[:16] for place, content in hashes)


def _protocol_text(protocol: LogisticProtocol) -> str:
    order = "one trial at a time" if protocol.round_size == 1 else f"rounds of {protocol.round_size} trials"
    return f"{protocol.name}: {protocol.trials} trials of {protocol.epochs} epochs, {order}"
