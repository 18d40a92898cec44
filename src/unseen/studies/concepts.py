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
from unseen.images.domains import SEEN, DomainImages
from unseen.jobs.work import Job
from unseen.ontology.levels import SHIPPED, Levels, spoken
from unseen.ontology.wordnet import wordnet
from unseen.probes.protocol import COG_V2, LogisticProtocol
from unseen.report.run_data import Backbone as ReportBackbone
from unseen.report.run_data import Domain, RunData, Study
from unseen.results.leaderboard import OTHER_SIZE, other_size
from unseen.studies.concept_features import Place, Places
from unseen.studies.concept_plan import Asked, levels_hash
from unseen.studies.concept_variants import DRAW, DRAWS, RANDOM
from unseen.studies.probing import FeaturePair, plan, plan_extended, possible_shots
from unseen.studies.run_folder import MADE_BY, VERSION
from unseen.version import __version__

STUDY: Study = "concepts"
SIZE = 224
"""Pixels of an image's side in ImageNet-CoG, but for a few models."""
USUAL_LAYERS = ("penultimate", "embedding", "output")
"""Where features come from that are before a classifier, or all that a network gives."""
TRAINED = "trained with "
UNPOOLED = "features are the class token"
"""How the catalogue's note begins of a model that the paper did not pool otherwise."""
OTHER_IMAGES = (
    "The test images of the levels are our own draw under the protocol of ImageNet-CoG, not those its authors drew: "
    "scores may be set beside the published ones, but are not expected to agree to the decimal."
)
BLURRED = (
    "ImageNet-1K is the release with blurred faces: its scores are not those of the release that published models were "
    "scored on (they lost 0.9 points on average in the paper's appendix E)."
)


def as_published(backbone: Backbone) -> Backbone:
    """The backbone with the preprocessing of ImageNet-CoG: shortest side to the crop's size, bicubic, centre crop."""
    transform = backbone.spec.transform
    changed = replace(transform, resize=transform.size, interpolation="bicubic", squash=False)
    return replace(backbone, spec=replace(backbone.spec, transform=changed))


def study_jobs(asked: Asked, pairs: Sequence[FeaturePair]) -> list[Job]:
    """Every job of a study."""
    jobs: list[Job] = [*plan(STUDY, pairs, asked.protocol, asked.shots, range(asked.seeds))]
    if not asked.extended:
        return jobs
    return [*jobs, *plan_extended(STUDY, pairs, seeds=range(asked.seeds), protocol=asked.protocol)]


def study_run(
    asked: Asked, pairs: Sequence[FeaturePair], places: Places, images: Mapping[str, str], notices: Sequence[str] = ()
) -> RunData:
    """What is written of a study, without its scores.

    Args:
        images: what is known of where the images come from and how they were drawn: label → text.
        notices: sentences that a reader must see.
    """
    names = list(places)
    said = [*notices, *_notices(asked, pairs)]
    features = {
        f"features of {pair.domain} by {pair.backbone}": _features_text(pair, places[pair.backbone][pair.domain])
        for pair in pairs
    }
    first = {name: next(iter(places[name].values()))[0] for name in names}
    return RunData(
        title="Concept generalization",
        scores=(),
        domains=_domains(asked),
        backbones=[_backbone(name, place) for name, place in first.items()],
        baseline=names[0],
        notice=" ".join(dict.fromkeys(said)),
        provenance={
            **study_provenance(asked, first),
            **images,
            **features,
            VERSION: __version__,
        },
        published=asked.published,
        study=STUDY,
    )


def study_provenance(asked: Asked, backbones: Mapping[str, Place]) -> dict[str, str]:
    """What decides a study before any of its features are there.

    Args:
        backbones: features of each, or what they will say of themselves.
    """
    made = {f"{MADE_BY}{name}": backbone_text(place) for name, place in backbones.items() if place.backbone}
    levels = f"{asked.levels.name}, {levels_hash(asked.levels)}"
    return {"protocol": _protocol_text(asked.protocol), "levels": levels, **made}


def images_text(domains: Sequence[DomainImages]) -> dict[str, str]:
    """Where the images of each side come from, by label; the levels share a place."""
    found: dict[str, str] = {}
    for domain in domains:
        for split, (source, _) in domain.sides.items():
            label = f"{split} images of {SEEN}" if domain.name == SEEN else "images of the levels"
            found[label] = source.about.get("release") or f"{len(source.entries):,} images of no release that is known"
    return found


def image_notices(images: Mapping[str, str]) -> list[str]:
    """What a reader must know of such images."""
    blurred = any("blurred" in text for text in images.values())
    return [BLURRED] if blurred else []


def _notices(asked: Asked, pairs: Sequence[FeaturePair]) -> list[str]:
    said = []
    if asked.protocol.name != COG_V2.name:
        said.append(
            f"A short form of the protocol ({asked.protocol.name}): {asked.protocol.trials} trials of "
            f"{asked.protocol.epochs} epochs."
        )
    if asked.own_draw and asked.levels.name.startswith(SHIPPED):
        said.append(OTHER_IMAGES)
    fewest = min(pairs, key=lambda pair: pair.samples)
    possible = possible_shots(asked.shots, fewest.samples, asked.protocol.validation)
    if set(possible) != set(asked.shots):
        short = ", ".join(str(number) for number in asked.shots if number not in possible)
        said.append(
            f"A concept of {fewest.domain} has {fewest.samples} training images: with {short} shots it takes part "
            f"with as many as it can."
        )
    return said


def _domains(asked: Asked) -> list[Domain]:
    domains = []
    for name in asked.domains:
        ids = asked.concepts.get(name, ())
        if name == SEEN:
            domains.append(Domain(name, "IN-1K", seen=True, concepts=_named(ids, asked.levels)))
        elif not DRAW.fullmatch(name):
            level = asked.levels[int(name.removeprefix("l"))]
            domains.append(
                Domain(name, name.upper(), similarity=_similarity(level), concepts=_named(ids, asked.levels))
            )
    if any(DRAW.fullmatch(name) for name in asked.domains):
        everything = sorted({concept.wnid for concept in asked.levels.concepts})
        domains.append(Domain(RANDOM, f"mean of {DRAWS} random sets", concepts=_named(everything, asked.levels)))
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
    spec = place.about.get("backbone")
    if not isinstance(spec, dict):
        return ReportBackbone(name, "yours", cautions=[f"{TRAINED}{UNKNOWN}"])
    model = published_as(name, spec["weights"])
    description = f"{spec['dimension']} features of images of {spec['transform']['size']} pixels"
    return ReportBackbone(name, model.category if model else "yours", description, _cautions(name, spec, model))


def _cautions(name: str, spec: Mapping[str, Any], model: Published | None) -> list[str]:
    """Why it is not fair to compare a backbone with the paper's ResNet50, or with the published model that it is."""
    transform = spec["transform"]
    size, resize, interpolation = transform["size"], transform["resize"], transform["interpolation"]
    data = model.extra_data if model else trained_on(name, spec["weights"])
    usual = resize == size and interpolation == "bicubic" and not transform.get("squash")
    unpooled = model is not None and model.note.startswith(UNPOOLED)
    cautions = [
        (f"{TRAINED}{data}", data),
        (f"images of {size} pixels", size != SIZE),
        (f"preprocessing other than the paper's ({_resize_text(transform)})", not usual),
        (OTHER_SIZE, other_size(spec["parameters"] / 1e6)),
        (f"features of the layer {spec['layer']}", spec["layer"] not in USUAL_LAYERS),
        (f"pooling {spec['pool']}, not the class token", unpooled and spec["pool"] != "cls"),
    ]
    return [text for text, holds in cautions if holds]


def _resize_text(transform: Mapping[str, Any]) -> str:
    sides = "both sides" if transform.get("squash") else "shortest side"
    return f"{sides} to {transform['resize']}, {transform['interpolation']}" if transform["resize"] else "not resized"


def backbone_text(place: Place) -> str:
    """What decides a backbone's features, in a line."""
    about, spec = place.about, place.about["backbone"]
    transform = spec["transform"]
    return (
        f"{spec['weights']}, tensors {spec['digest'][:16] or 'none'}, layer {spec['layer']}, pooling {spec['pool']}, "
        f"shortest side to {transform['resize']}, {transform['interpolation']}, crop {transform['size']}, "
        f"{about['precision']} precision{', fast decoding' if about['fast'] else ''}"
        f"{', EXIF orientation' if about['exif'] else ''}"
    )


def _features_text(pair: FeaturePair, sides: tuple[Place, Place]) -> str:
    """What tells features from others of the same domain: the key of what decides them; of own files, their hash.

    Features that two machines made alike differ in their last bits, so that their hashes would not do.
    """
    hashes = zip(sides, (pair.train, pair.test), strict=True)
    return ", ".join(str(place.about.get("key", content))[:16] for place, content in hashes)


def _protocol_text(protocol: LogisticProtocol) -> str:
    order = "one trial at a time" if protocol.round_size == 1 else f"rounds of {protocol.round_size} trials"
    return f"{protocol.name}: {protocol.trials} trials of {protocol.epochs} epochs, {order}"
