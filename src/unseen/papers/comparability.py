"""Whether scores may be compared with published ones: same classes, same number of images, same protocol.

A run records the data of each of its scores (`ScoredData`); the data of published numbers are known (`PublishedData`).
`compare` compares the two and gives reasons as codes with their numbers. Some reasons rule out the comparison; the
others are shown beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from unseen.data.core.dataset import Dataset

Draw = Literal["ours", "given", "unknown"]
"""Who chose the images: we drew them, existing lists name them, or the features do not record it."""
Code = Literal[
    "unknown-counts", "part", "other-protocol", "unknown-settings", "other-variant", "other-classes", "other-images",
    "pruned-search", "similar-images", "own-draw", "unknown-images", "own-data",
]  # fmt: skip
CAVEATS: frozenset[Code] = frozenset({"pruned-search", "similar-images", "own-draw", "unknown-images"})
"""Reasons that are shown beside a comparison. All others rule it out."""
OTHER_DATA: frozenset[Code] = frozenset({"other-classes", "other-images", "unknown-counts"})
"""Reasons that are about the data themselves: they are not those of the published numbers."""
SIMILAR = 0.02
"""Share of images that may be missing or extra, because of damage or another release of the same images."""
PLAIN = "plain"
COG_PROTOCOL = "cog-v2"
COG_PRUNED = "cog-v2-pruned"
"""The same except for trials that stop early; the effect is measured (benchmarks/README.md) and shown beside it."""
ERICSSON_PROTOCOLS = ("ericsson-2021", "ericsson-2021-exact")
CONCEPTS = 1000
TEST_IMAGES = 50 * CONCEPTS
LEVEL_IMAGES = {
    "cog-v2": (1_168_804, 1_165_790, 1_145_206, 1_157_129, 1_141_662),
    "cog-v1": (1_166_497, 1_162_532, 1_157_993, 1_156_172, 1_131_387),
}
"""Images of the levels L1 to L5 as printed in the papers, training and test together."""
IMAGENET_1K = {"train": 1_281_167, "test": 50_000}


@dataclass(frozen=True)
class ScoredData:
    """The data of the scores of a backbone on a domain or data set.

    Attributes:
        images: split → number of images.
        variant: how the images of a concept were chosen (`unseen.studies.concepts.variants`).
        limit: maximum number of images per class and split, if the rest was left out for a quick look.
    """

    backbone: str
    domain: str
    protocol: str
    classes: int
    images: Mapping[str, int]
    draw: Draw = "unknown"
    variant: str = PLAIN
    limit: int | None = None


@dataclass(frozen=True)
class Part:
    """Some splits of a data set together, and their number of images; `name` is empty for all of them."""

    name: str
    splits: tuple[str, ...]
    images: int


@dataclass(frozen=True)
class PublishedData:
    """The data of published numbers.

    Attributes:
        protocols: those that give comparable numbers, the paper's own first.
        pruned: those that differ in which trials of the search are trained to their end, which must be shown.
        drawn: whether its authors drew the images in a way that we can follow but not repeat.
    """

    protocols: tuple[str, ...]
    classes: int
    parts: tuple[Part, ...]
    drawn: bool = False
    pruned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reason:
    """Why two numbers are not for the same data: the value in the run, the value in the paper, and the part of the
    data. For settings that are not stated: their names, their protocol and the probe.
    """

    code: Code
    found: str | int = ""
    expected: str | int = ""
    part: str = ""

    @property
    def refuses(self) -> bool:
        return self.code not in CAVEATS


@dataclass(frozen=True)
class Comparability:
    """Whether scores may be compared with published ones, and what to show about it."""

    reasons: tuple[Reason, ...] = ()

    @property
    def allowed(self) -> bool:
        return not any(reason.refuses for reason in self.reasons)

    @property
    def other_data(self) -> bool:
        """Whether the data are not those of that name."""
        return any(reason.code in OTHER_DATA for reason in self.reasons)


def published_domain(source: str, domain: str) -> PublishedData | None:
    """The data of ImageNet-CoG's numbers on a domain; None if it has none.

    Args:
        source: cog-v2 or cog-v1.
    """
    if source not in LEVEL_IMAGES:
        return None
    train, test = ("training", ("train",)), ("test", ("test",))
    if domain == "in1k":
        parts = (Part(*train, IMAGENET_1K["train"]), Part(*test, IMAGENET_1K["test"]))
        return PublishedData((COG_PROTOCOL,), CONCEPTS, parts, pruned=(COG_PRUNED,))
    levels = {f"l{number}": images for number, images in enumerate(LEVEL_IMAGES[source], 1)}
    if domain not in levels:
        return None
    parts = (Part(*train, levels[domain] - TEST_IMAGES), Part(*test, TEST_IMAGES))
    return PublishedData((COG_PROTOCOL,), CONCEPTS, parts, drawn=True, pruned=(COG_PRUNED,))


def published_dataset(dataset: "Dataset") -> PublishedData:
    """The data of Ericsson et al.'s numbers on a data set: a complete copy.

    A different choice of validation images does not matter, because the final training uses both parts.
    """
    counts = dataset.counts
    if "test" not in counts:
        return PublishedData(ERICSSON_PROTOCOLS, dataset.classes, (Part("", ("all",), dataset.images),))
    learned = Part("training and validation", ("train", "val"), counts["train"] + counts.get("val", 0))
    return PublishedData(ERICSSON_PROTOCOLS, dataset.classes, (learned, Part("test", ("test",), counts["test"])))


def published_maps(protocol: str, dataset: "Dataset") -> PublishedData:
    """The data of Ericsson et al.'s numbers on a data set with boxes or maps: a complete copy."""
    train, test = (
        Part(word, (split,), dataset.counts[split]) for split, word in (("train", "training"), ("test", "test"))
    )
    return PublishedData((protocol,), dataset.classes, (train, test))


def compare(scored: ScoredData | None, published: PublishedData | None) -> Comparability:
    """Compare the data of scores with those of published ones.

    Args:
        scored: None if a run does not record its data.
        published: None for a user's own data, for which there are no published numbers.
    """
    if scored is not None and scored.limit is not None:
        return Comparability((Reason("part", scored.limit),))
    if published is None:
        return Comparability((Reason("own-data"),))
    if scored is None:
        return Comparability((Reason("unknown-counts"),))
    reasons = []
    if scored.protocol in published.pruned:
        reasons.append(Reason("pruned-search", scored.protocol, published.protocols[0]))
    elif scored.protocol not in published.protocols:
        reasons.append(Reason("other-protocol", scored.protocol, published.protocols[0]))
    if scored.variant != PLAIN:
        reasons.append(Reason("other-variant", scored.variant))
    if scored.classes != published.classes:
        reasons.append(Reason("other-classes", scored.classes, published.classes))
    else:
        reasons += [reason for part in published.parts if (reason := _images(scored, part))]
    if scored.draw == "unknown":
        reasons.append(Reason("unknown-images"))
    elif scored.draw == "ours" and published.drawn:
        reasons.append(Reason("own-draw"))
    return Comparability(tuple(reasons))


def _images(scored: ScoredData, part: Part) -> Reason | None:
    count = sum(scored.images.get(split, 0) for split in part.splits)
    if count == part.images:
        return None
    similar = abs(count - part.images) <= SIMILAR * part.images
    return Reason("similar-images" if similar else "other-images", count, part.images, part.name)
