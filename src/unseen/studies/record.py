"""The record of a run, for all inputs of probes: its data sets, its backbones, and what they were measured with."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from unseen.backbones.backbone import RANDOM as RANDOM_WEIGHTS
from unseen.backbones.catalogue import Published
from unseen.backbones.training_data import is_imagenet_1k, published_as, resembled, same_data, trained_on
from unseen.data.concepts.domains import SEEN
from unseen.data.core.dataset import Dataset
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.releases import release_of
from unseen.data.registry import task_sets
from unseen.features.about import BackboneAbout, StoreAbout
from unseen.features.costs import BackboneCost, best_known, read_cost
from unseen.features.store import MANIFEST
from unseen.ontology.levels import Levels, spoken
from unseen.ontology.levels_hash import levels_hash
from unseen.ontology.wordnet import wordnet
from unseen.papers.comparability import ScoredData, compare, published_dataset
from unseen.papers.leaderboard import other_size
from unseen.runs.cautions import PHRASES, Caution, caution
from unseen.runs.data import Axis, Backbone, Domain, RunData
from unseen.runs.flaws import Flaw
from unseen.runs.notices import Notice, notice
from unseen.runs.random_draws import DRAW, RANDOM
from unseen.runs.setup import Extraction, FeatureKey, ImagesUsed, LevelsUsed, ProtocolUsed, SplitsUsed
from unseen.studies.concepts.levels import DRAWS
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.stored_features import read_about
from unseen.studies.study import Study

SIZE = 224
"""Side of the images in pixels in the papers, except for a few models."""
LEVEL = re.compile(r"l[0-9]+")
USUAL_LAYERS = ("penultimate", "embedding", "output")
"""Layers that are directly before the classifier, or the output of a network without one."""
OWN_LAYER = "own"
"""The word for the layer that a backbone is usually used with."""
YOURS = "yours"
"""The category of backbones that no paper names, and the default name of a user's own features."""
TITLES: Mapping[Axis, str] = {
    "concepts": "Concept generalization",
    "tasks": "Transfer to other tasks",
    "shifts": "Accuracy under distribution shift",
    "probe": "Your features",
}


def run_title(study: Study, axes: Sequence[Axis]) -> str:
    """The heading of the page: the study's own, or one for what is measured."""
    return study.title or " and ".join(TITLES[axis] for axis in axes)


def levels_used(opened: OpenedData) -> LevelsUsed | None:
    """The levels of a study."""
    levels = opened.levels
    return LevelsUsed(levels.levels.name, levels_hash(levels.levels)) if levels else None


def domain_records(
    opened: OpenedData,
    data: Iterable[StudyData],
    concepts: Mapping[str, Sequence[str]],
    limits: Mapping[str, int | None],
) -> list[Domain]:
    """The data sets of a run.

    Args:
        concepts: names of the classes of domains, and of features in files.
        limits: largest number of images per class and split.
    """
    found, drawn = list[Domain](), list[Sequence[str]]()
    for each in data:
        ids = concepts.get(each.name, ())
        if each.is_file:
            title = "your data" if each.name == YOURS else each.name
            found.append(Domain(each.name, title, concepts=ids, axis="probe"))
        elif not each.is_domain or opened.levels is None:
            dataset = each.dataset
            found.append(
                Domain(
                    each.name, dataset.title, classes=dataset.classes if dataset.dense else 0,
                    limit=limits.get(each.name), licence=dataset.licence, axis="tasks",
                )
            )  # fmt: skip
        elif DRAW.fullmatch(each.name):
            drawn.append(ids)
        else:
            found.append(_concept_domain(opened, each.name, ids, limits.get(each.name)))
    if drawn and opened.levels is not None:
        levels = opened.levels.levels
        everything = sorted({concept.wnid for concept in levels.concepts})
        title = f"mean of {DRAWS} random sets"
        found.append(Domain(RANDOM, title, concepts=_named(everything, levels), classes=len(drawn[0])))
    return found


def _concept_domain(opened: OpenedData, name: str, ids: Sequence[str], limit: int | None) -> Domain:
    assert opened.levels is not None
    levels, drawn = opened.levels.levels, opened.levels.drawn
    concepts, examples = _named(ids, levels), drawn.examples(name) if drawn else ()
    if name == opened.seen:
        title = "IN-1K" if name == SEEN else name
        return Domain(name, title, True, None, concepts, examples, classes=len(ids), limit=limit)
    level = levels[opened.levels.numbers[name]]
    title = name.upper() if LEVEL.fullmatch(name) else name
    return Domain(name, title, False, _similarity(level), concepts, examples, classes=len(ids), limit=limit)


def _similarity(concepts: Sequence[Any]) -> float | None:
    known = [concept.similarity for concept in concepts if concept.similarity is not None]
    return float(np.mean(known)) if known else None


def _named(ids: Sequence[str], levels: Levels) -> list[str]:
    """Readable names of concepts, with their ids."""
    names = {concept.wnid: concept.word for concept in levels.concepts}
    for wnid in ids:
        if wnid not in names:
            names[wnid] = spoken(wnid_name) if (wnid_name := _wordnet_name(wnid)) else wnid
    return [f"{names[wnid]} ({wnid})" if names[wnid] != wnid else wnid for wnid in ids]


def _wordnet_name(wnid: str) -> str:
    return wordnet().synset(wnid).name if wnid in wordnet().position else ""


def images_used(opened: OpenedData, data: Iterable[StudyData]) -> list[ImagesUsed]:
    """The images of opened data sets, by split; a run refuses others of the same name."""
    found = list[ImagesUsed]()
    for each in data:
        if each.opened is None or each.is_test_set:
            continue
        if each.is_domain and not (opened.levels and opened.levels.drawn):
            found += _images_of_domain(each, opened.seen)
            continue
        shown = each.dataset.content or each.opened.manifest.content_hash
        counts = each.dataset.counts if each.dataset.content else Counter(each.opened.manifest.splits)
        found += [ImagesUsed(each.name, split, images=count, hash=shown) for split, count in counts.items()]
    return found


def _images_of_domain(data: StudyData, seen: str | None) -> Iterable[ImagesUsed]:
    """The sources of the images of each split; the levels share one source."""
    for split in ("train", "test"):
        source, _ = data.images.part(split)
        release = release_of(source.about)
        yield ImagesUsed(
            data.name, split, images=len(source.entries), release=release.code if release else None,
            blurred=release.blurred if release else None, pool=data.name != seen,
        )  # fmt: skip


def citations(data: Iterable[StudyData]) -> dict[str, str]:
    """Lines of provenance about the user's own data sets."""
    own = [each.dataset for each in data if each.dataset.content]
    return {f"citation of {each.name}": each.citation for each in own if each.citation}


def image_notices(images: Sequence[ImagesUsed], data: Iterable[StudyData]) -> list[Notice]:
    """Notices about the images of data sets."""
    blurred = [notice("blurred-faces")] if any(each.blurred for each in images) else []
    return [*blurred, *(_shared(each.dataset) for each in data if each.dataset.shared)]


def _shared(dataset: Dataset) -> Notice:
    return notice(
        "test-in-training", dataset.name, title=dataset.title, images=dataset.shared, of=dataset.counts["test"]
    )


@dataclass(frozen=True)
class Described:
    """A backbone as it is described in a run.

    Attributes:
        vectors, patches: everything that determines its features; None if there are none.
        finetuning: everything about it that determines a training.
        classifier: hash of everything that determines the outputs of a classifier.
        cost: what its features cost, as far as known.
        text: what it is, in a few words; empty for what its features are.
        group: category, instead of that of a published model.
        trained_on: its training data, as the user declares them.
    """

    label: str
    vectors: Extraction | None = None
    patches: Extraction | None = None
    finetuning: BackboneAbout | None = None
    classifier: str | None = None
    cost: BackboneCost | None = None
    text: str = ""
    group: str = ""
    trained_on: Sequence[str] = ()

    @property
    def spec(self) -> BackboneAbout:
        """What is known of the network."""
        extraction = self.vectors or self.patches
        return extraction.backbone if extraction else self.finetuning or BackboneAbout()


def backbone_records(described: Iterable[Described], top1: Mapping[str, float], *, concepts: bool) -> list[Backbone]:
    """The backbones of a run.

    Args:
        top1: known ImageNet accuracies, between 0 and 1.
        concepts: whether they are compared with the models of ImageNet-CoG, by whose categories they are grouped.
    """
    return [_record(each, top1.get(each.label), concepts=concepts) for each in described]


def _record(described: Described, top1: float | None, *, concepts: bool) -> Backbone:
    spec = described.spec
    identifier = spec.id or described.label
    model = published_as(identifier, spec.weights) if spec.weights and concepts else None
    known = described.classifier is None and spec != BackboneAbout()
    known_data = training_data(identifier, spec) if known else ("unknown",) if concepts else None
    return Backbone(
        described.label,
        described.group or (model.category if model else "" if described.classifier else YOURS),
        described.text or _sizes(spec),
        _cautions(identifier, spec, model, described.trained_on) if concepts else (),
        imagenet_top1=top1,
        training_data=tuple(described.trained_on) or known_data,
        features=described.vectors,
        patches=described.patches,
        finetuning=described.finetuning,
        classifier=described.classifier,
        cost=described.cost,
    )


def _sizes(spec: BackboneAbout) -> str:
    sizes = [f"{spec.dimension} features"] if spec.dimension else []
    sizes += [f"images of {spec.transform.size} pixels"] if spec.transform else []
    return " of ".join(sizes)


def extraction_of(known: StoreAbout) -> Extraction | None:
    """The extraction of features, as far as they record it; None if they record nothing."""
    found = Extraction(known.backbone or BackboneAbout(), known.precision, known.fast, known.exif, known.decode)
    return None if found == Extraction() else found


def about_features(place: str) -> StoreAbout:
    """What features say of themselves; nothing for a user's own file."""
    path = Path(place)
    return StoreAbout.of(read_about(path)) if (path / MANIFEST).is_file() else StoreAbout()


def cost_of(features: Iterable[str | Path]) -> BackboneCost | None:
    """What features cost, from the stores among some places of them; None if none of these says it."""
    return best_known(read_cost(Path(place)) for place in dict.fromkeys(features))


def random_notices(described: Iterable[Described]) -> list[Notice]:
    """Notices about untrained networks; their names in tables are those of the trained ones."""
    names = [_network(each) for each in described if (each.spec.weights or "").startswith(RANDOM_WEIGHTS)]
    return [notice("random-weights", backbone=name) for name in dict.fromkeys(names)]


def training_notices(backbones: Iterable[Backbone], domains: Sequence[Domain]) -> list[Notice]:
    """Notices about data sets that are among the training data of a backbone, and about names that may be mistakes."""
    known, used = [*backbones], {name for domain in domains for name in (domain.name, domain.title)}
    among = [
        notice("trained-on", backbone=each.name, title=domain.title)
        for domain in domains
        for each in known
        if each.was_trained_on(domain)
    ]
    unknown = [
        notice("training-data-unknown", backbone=each.name, data=data, nearest=" or ".join(nearest))
        for each in known
        for data in each.training_data or ()
        if (nearest := resembled(data)) and not any(same_data(data, name) for name in used)
    ]
    return among + unknown


def size_notices(described: Iterable[Described]) -> list[Notice]:
    """Notices about images of other sizes than those of published models."""
    sizes = {_network(each): each.spec.transform.size for each in described if each.spec.transform}
    return [
        notice("other-size", backbone=name, size=size, published=SIZE) for name, size in sizes.items() if size != SIZE
    ]


def patch_notices(described: Iterable[Described], study: Study) -> list[Notice]:
    """Notices about patches of another layer than the one, or of one of several, that are named for vectors."""
    found = list[Notice]()
    for each in described:
        words, extraction = study.keys_of(each.label).layers, each.patches
        layer = extraction.backbone.layer if extraction else None
        if layer and words and {*words} not in ({layer}, {OWN_LAYER}):
            found.append(notice("patches-of-layer", backbone=each.label, layer=layer, layers=", ".join(words)))
    return found


def _network(described: Described) -> str:
    """The name of a backbone; that of its network if it is one of several representations of it."""
    return described.spec.name_of_network(described.label)


def training_data(name: str, spec: BackboneAbout) -> tuple[str, ...]:
    """Training data beside ImageNet-1K: the data sets of a published model, or codes of `trained_on`."""
    if not spec.weights:
        return ("unknown",)
    model = published_as(name, spec.weights)
    return trained_on(name, spec.weights) if model is None else (model.extra_data,) if model.extra_data else ()


def _cautions(name: str, spec: BackboneAbout, model: Published | None, declared: Sequence[str] = ()) -> list[Caution]:
    """Reasons why a comparison with the paper's ResNet50, or with the published version of the model, is not fair.

    Args:
        declared: its training data, as the user declares them.
    """
    data = [each for each in declared if not is_imagenet_1k(each)] if declared else training_data(name, spec)
    cautions = [
        caution(code) if model is None and code in PHRASES else caution("trained-with", data=each)
        for each, code in ((each, f"trained-with-{each}") for each in data)
    ]
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


@dataclass(frozen=True, eq=False)
class Measured:
    """What a part of a run measures, from which its record is made.

    Attributes:
        data: its data sets.
        backbones: its backbones.
        protocols: how its probes are fitted.
        concepts: names of the classes of domains, and of features in files.
        limits: largest number of images per class and split.
        domains: data sets as they are recorded, if `data` does not say it.
    """

    data: Sequence[StudyData] = ()
    backbones: Sequence[Described] = ()
    protocols: Sequence[ProtocolUsed] = ()
    concepts: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limits: Mapping[str, int | None] = field(default_factory=dict)
    domains: Sequence[Domain] | None = None
    scored: Sequence[ScoredData] = ()
    features: Sequence[FeatureKey] = ()
    images: Sequence[ImagesUsed] | None = None
    flaws: Sequence[Flaw] = ()
    told: Sequence[Notice] = ()
    splits: SplitsUsed | None = None
    remarks: Mapping[str, str] = field(default_factory=dict)


def run_record(
    study: Study, opened: OpenedData, part: Measured, top1: Mapping[str, float] = MappingProxyType({})
) -> RunData:
    """The record of a run, or of a part of it, without its scores."""
    domains = part.domains
    if domains is None:
        domains = domain_records(opened, part.data, part.concepts, part.limits)
    domains = _as_measured(domains, part.scored)
    concepts = any(each.axis in {"concepts", "probe"} for each in domains)
    keys = {each.label: study.keys_of(each.label) for each in part.backbones}
    described = [
        replace(each, group=each.group or keys[each.label].group or "", trained_on=keys[each.label].trained_on)
        for each in part.backbones
    ]
    records = backbone_records(described, top1, concepts=concepts)
    images = images_used(opened, part.data) if part.images is None else part.images
    axes = [*dict.fromkeys(each.axis for each in domains)]
    on_domains = any(each.is_domain for each in part.data)
    drawn = opened.levels.drawn if on_domains and opened.levels else None
    notices = [
        *(drawn.notices if drawn else ()),
        *opened.notices, *opened.missed, *image_notices(images, part.data), *random_notices(part.backbones),
        *patch_notices(part.backbones, study), *training_notices(records, domains),
        *(size_notices(part.backbones) if "tasks" in axes and any(each.features for each in records) else ()),
        *part.told,
    ]  # fmt: skip
    return RunData(
        title=run_title(study, axes),
        scores=(),
        domains=domains,
        backbones=records,
        baseline=records[0].name if records else "",
        told=[*dict.fromkeys(notices)],
        steps=drawn.steps if drawn else (),
        protocols=part.protocols,
        levels=levels_used(opened) if on_domains else None,
        splits=part.splits if on_domains else None,
        images=images,
        seeds=range(study.seeds) if concepts else (),
        remarks={**citations(part.data), **part.remarks, **(drawn.remarks if drawn else {})},
        published=opened.levels.published if on_domains and opened.levels else "",
        scored=part.scored,
        features=part.features,
        flaws=part.flaws,
    )


def _as_measured(domains: Sequence[Domain], scored: Iterable[ScoredData]) -> list[Domain]:
    """Domains without the facts of published data sets whose names other data have."""
    published = {name: published_dataset(dataset) for name, dataset in task_sets().items()}
    other = {each.domain for each in scored if compare(each, published.get(each.domain)).other_data}
    return [replace(each, title=each.name, licence="") if each.name in other else each for each in domains]
