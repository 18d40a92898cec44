"""The plan of a concept study: its work, and estimates of time, disk space and memory."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.device import on_gpu
from unseen.features.disk import feature_bytes, remaining_rows
from unseen.features.settings import Settings
from unseen.features.speed import extraction_seconds, seconds_per_image
from unseen.images.domains import SEEN
from unseen.images.open_dataset import OpenDataset
from unseen.ontology.levels import SHIPPED, Levels, load_levels
from unseen.ontology.levels_hash import levels_hash
from unseen.papers.comparability import Draw
from unseen.probes.by_name import all_probes
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.own import OwnProbe
from unseen.probes.protocol import LogisticProtocol
from unseen.probes.samples import ClassCounts
from unseen.runs.parts import WHOLE
from unseen.studies.concepts.features import SIDES
from unseen.studies.concepts.variants import PLAIN
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.probed_features import ProbedFeatures


@dataclass(frozen=True)
class Asked:
    """The options of a concept study.

    Attributes:
        domains: names of the domains, in order.
        concepts: ids of each domain's concepts; domains with unknown concepts are omitted.
        variant: how the images of a concept are drawn (`unseen.studies.concepts.variants`).
        draw: who chose the images of the levels, if their features do not record it.
        extended: names of additional probes (`unseen.probes.by_name`).
        own: probes and metrics of the user's own.
        seen: name of the domain of seen concepts.
        numbers: the level of each domain.
    """

    levels: Levels
    domains: tuple[str, ...]
    concepts: Mapping[str, tuple[str, ...]]
    protocol: LogisticProtocol
    shots: tuple[int | None, ...]
    seeds: int
    variant: str = PLAIN
    draw: Draw = "unknown"
    extended: tuple[str, ...] = ()
    own: OwnCode = NO_CODE
    seen: str = SEEN
    numbers: Mapping[str, int] = field(default_factory=dict)

    @property
    def published(self) -> str:
        """`cog-v2` or `cog-v1` if the levels are the published ones; empty for others."""
        own = levels_hash(self.levels)
        return next((name for name in SHIPPED if levels_hash(load_levels(name)) == own), "")


@dataclass(frozen=True)
class DomainCost:
    """The cost of a domain for all backbones: images by split, images with existing features, and bytes.

    Attributes:
        bytes, missing: bytes of all features of the domain, and of those that this part of the work has yet to write.
    """

    name: str
    concepts: int
    train: int
    test: int
    done: int
    bytes: int
    missing: int


def extraction_costs(
    domains: Sequence[OpenDataset], backbones: Sequence[Backbone], folder: Path, settings: Settings, gpus: int = 1
) -> tuple[list[DomainCost], float]:
    """The cost of each domain for all backbones, and the estimated seconds of the missing features."""
    costs, seconds = list[DomainCost](), 0.0
    speed: tuple[float, list[float]] | None = None
    for domain in domains:
        rows = sum(domain.rows.values())
        left = domain_remaining(domain, backbones, folder, settings)
        of_all = left
        if settings.part != WHOLE:
            of_all = domain_remaining(domain, backbones, folder, replace(settings, part=WHOLE))
        size, missing = (
            sum(feature_bytes(n, each.spec.dimension, settings) for n, each in zip(of, backbones, strict=True))
            for of in ([rows] * len(backbones), left)
        )
        images = domain.rows["train"], domain.rows["test"]
        costs.append(DomainCost(domain.name, len(domain.classes), *images, rows - max(of_all), size, missing))
        if max(left):
            speed = speed or seconds_per_image(domain.part("train")[0], backbones, settings)
            seconds += extraction_seconds(speed, left, settings, gpus)
    return costs, seconds


def domain_remaining(domain: OpenDataset, backbones: Sequence[Backbone], folder: Path, settings: Settings) -> list[int]:
    """Number of images of a domain without features in `folder`, by backbone."""
    specs, place = [backbone.spec for backbone in backbones], folder / domain.name
    parts = [remaining_rows(*domain.part(split), split, specs, place, settings) for split in SIDES]
    return [sum(of) for of in zip(*parts, strict=True)]


def missing_bytes(
    domains: Sequence[OpenDataset], backbones: Sequence[Backbone], folder: Path, settings: Settings
) -> int:
    """Bytes of the features of domains that are missing in `folder`."""
    return sum(
        feature_bytes(left, backbone.spec.dimension, settings)
        for domain in domains
        for left, backbone in zip(domain_remaining(domain, backbones, folder, settings), backbones, strict=True)
    )


def expected_pairs(domains: Sequence[OpenDataset], backbones: Sequence[Backbone]) -> list[ProbedFeatures]:
    """Missing features as pairs for planning."""
    counts = {domain.name: _images_by_class(domain) for domain in domains}
    return [
        ProbedFeatures(
            backbone.label,
            domain.name,
            domain.rows,
            len(domain.classes),
            backbone.spec.dimension,
            samples=counts[domain.name].samples,
            counts=counts[domain.name],
        )
        for backbone in backbones
        for domain in domains
    ]


def _images_by_class(domain: OpenDataset) -> ClassCounts:
    counts: Counter[tuple[str, str]] = Counter()
    for _, manifest in domain.images:
        counts.update((entry.label, side) for entry, side in zip(manifest.entries, manifest.splits, strict=True))
    train, test = (tuple(counts[concept, side] for concept in domain.classes) for side in SIDES)
    return ClassCounts(train, test)


def probing_memory(
    pairs: Sequence[ProbedFeatures],
    protocol: LogisticProtocol,
    *,
    extended: Collection[str] = (),
    own: Sequence[OwnProbe] = (),
) -> int:
    """Bytes of memory for probing the largest pair with the most demanding probe."""
    probes = [all_probes()[name].in_study(protocol) for name in (Logistic.name, *extended)]
    probes += [each.probe for each in own]
    return max(probe.memory(pair.size(probe), gpu=on_gpu()) for pair in pairs for probe in probes)
