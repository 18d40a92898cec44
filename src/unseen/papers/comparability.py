"""Whether scores may be set beside published ones: the same classes, as many images, the same protocol.

A run writes down what each of its scores is of (`ScoredData`); what the published numbers are of is known
(`PublishedData`). `compare` sets one against the other and gives reasons as codes with their numbers. Some reasons
refuse the comparison; the others are to be told beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from unseen.images.datasets.dataset import Dataset
    from unseen.images.dense.dense_dataset import DenseDataset

Draw = Literal["ours", "given", "unknown"]
"""Who chose the images: we drew them, somebody else's lists name them, or the features do not say."""
Code = Literal[
    "unknown-counts", "part", "other-protocol", "other-variant", "other-classes", "other-images",
    "pruned-search", "similar-images", "own-draw", "unknown-images", "own-data",
]  # fmt: skip
CAVEATS: frozenset[Code] = frozenset({"pruned-search", "similar-images", "own-draw", "unknown-images"})
"""Reasons that are told beside a comparison. All others refuse it."""
SIMILAR = 0.02
"""Share of images that may be missing or extra, as damaged ones and another release of the same images are."""
PLAIN = "plain"
COG_PROTOCOL = "cog-v2"
COG_PRUNED = "cog-v2-pruned"
"""The same but for trials that stop early; what that changes is measured (benchmarks/README.md) and said beside it."""
ERICSSON_PROTOCOLS = ("ericsson-2021", "ericsson-2021-exact")
CONCEPTS = 1000
TEST_IMAGES = 50 * CONCEPTS
LEVEL_IMAGES = {
    "cog-v2": (1_168_804, 1_165_790, 1_145_206, 1_157_129, 1_141_662),
    "cog-v1": (1_166_497, 1_162_532, 1_157_993, 1_156_172, 1_131_387),
}
"""Images of the levels L1 to L5 as the papers print them, training and test together."""
IMAGENET_1K = {"train": 1_281_167, "test": 50_000}


@dataclass(frozen=True)
class ScoredData:
    """What the scores of a backbone on a domain or data set are of.

    Attributes:
        images: split → number of images.
        variant: how the images of a concept were chosen (`unseen.studies.concepts.variants`).
        limit: at most so many images of each class in every split, where the rest was left out for a quick look.
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
    """Some splits of a data set together, and how many images they have; `name` is empty for all of them."""

    name: str
    splits: tuple[str, ...]
    images: int


@dataclass(frozen=True)
class PublishedData:
    """What published numbers are of.

    Attributes:
        protocols: those that give comparable numbers, the paper's own first.
        pruned: those that differ in which trials of the search are trained to their end, which is to be told.
        drawn: whether its authors drew the images in a way that we can follow but not repeat.
    """

    protocols: tuple[str, ...]
    classes: int
    parts: tuple[Part, ...]
    drawn: bool = False
    pruned: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reason:
    """Why two numbers are not of the same data: what the run has, what the paper has, and of which part of the data."""

    code: Code
    found: str | int = ""
    expected: str | int = ""
    part: str = ""

    @property
    def refuses(self) -> bool:
        return self.code not in CAVEATS


@dataclass(frozen=True)
class Comparability:
    """Whether scores may be set beside published ones, and what is to be said of it."""

    reasons: tuple[Reason, ...] = ()

    @property
    def allowed(self) -> bool:
        return not any(reason.refuses for reason in self.reasons)


def published_domain(source: str, domain: str) -> PublishedData | None:
    """What the numbers of ImageNet-CoG on a domain are of; None where it has none.

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
    """What the numbers of Ericsson et al. on a data set are of: a complete copy.

    Who validates with other training images than we do still trains on the same ones in the end.
    """
    counts = dataset.counts
    if "test" not in counts:
        return PublishedData(ERICSSON_PROTOCOLS, dataset.classes, (Part("", ("all",), dataset.images),))
    learned = Part("training and validation", ("train", "val"), counts["train"] + counts["val"])
    return PublishedData(ERICSSON_PROTOCOLS, dataset.classes, (learned, Part("test", ("test",), counts["test"])))


def published_maps(protocol: str, dataset: "DenseDataset") -> PublishedData:
    """What the numbers of Ericsson et al. on a data set with boxes or maps are of: a complete copy."""
    train, test = (
        Part(word, (split,), dataset.counts[split]) for split, word in (("train", "training"), ("test", "test"))
    )
    return PublishedData((protocol,), len(dataset.classes), (train, test))


def compare(scored: ScoredData | None, published: PublishedData | None) -> Comparability:
    """Whether scores are of what published ones are of.

    Args:
        scored: None where a run does not say what they are of.
        published: None for a user's own data, which no published number is of.
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
    found = sum(scored.images.get(split, 0) for split in part.splits)
    if found == part.images:
        return None
    similar = abs(found - part.images) <= SIMILAR * part.images
    return Reason("similar-images" if similar else "other-images", found, part.images, part.name)
