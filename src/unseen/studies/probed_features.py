"""The features of a backbone on a data set, as a study probes and records them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from unseen.backbones.vector_parts import stored_parts
from unseen.data.core.dataset import Dataset, Target
from unseen.data.core.multi_label import class_names, shown_classes
from unseen.data.core.open_dataset import check_classes
from unseen.data.core.rows import ALL
from unseen.errors import UserError
from unseen.features.about import StoreAbout
from unseen.features.by_hash import align_splits, split_labels
from unseen.features.checked import Tell
from unseen.features.features import Features, align
from unseen.papers.comparability import PLAIN, Draw, ScoredData
from unseen.probes.samples import ClassCounts, SamplesPerClass
from unseen.probes.vectors import Order, Vectors
from unseen.runs.flaws import MOST_EXAMPLES, Flaw
from unseen.studies.stored_features import read_for_planning, refuse_other_classes

UNNAMED = "yours"
"""The default name of the user's own features: of their backbone and of their domain."""
SPLIT_WORDS = {"train": "training images", "val": "validation images", "test": "test images", ALL: "images"}


@dataclass(frozen=True)
class ProbedFeatures(Vectors):
    """Features with what a run records of them.

    Attributes:
        keys: key of the extraction settings by split; empty if the features are still to be extracted.
        pixels: side of the input images of the backbone; None if the features do not record it.
        draw: who chose the images; unknown if the features do not record it.
        limit: largest number of images per class and split, if only a part was used for a quick look.
        flaws: damaged images that the extraction skipped.
        names: names of the classes, in the order of class indices, if known.
    """

    keys: Mapping[str, str] = field(default_factory=dict)
    pixels: int | None = None
    draw: Draw = "given"
    limit: int | None = None
    flaws: tuple[Flaw, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def named_dataset(self) -> str:
        """The data set as notices name it: not at all if the user gave it no name."""
        return "" if self.dataset == UNNAMED else self.dataset

    def scored(self, protocol: str, draw: Draw | None = None, variant: str = PLAIN) -> ScoredData:
        """The numbers of classes and images behind the scores of a protocol on these features."""
        who, rows = draw or self.draw, dict(self.rows)
        return ScoredData(self.backbone, self.dataset, protocol, self.classes, rows, who, variant, limit=self.limit)


def probed_features(
    backbone: str,
    dataset: str,
    parts: Mapping[str, Features],
    places: Mapping[str, Path | str],
    *,
    order: Order = "training",
    target: Target = "class",
    metric: str = "top1",
) -> ProbedFeatures:
    """The description of features that were read, whose splits share one list of classes.

    Args:
        target: one class per image, several, or rankings, which have no numbers of images per class.
        metric: the data set's own.
    """
    first = next(iter(parts.values()))
    counts = class_counts({split: part.y for split, part in parts.items()}, first.classes, several=target == "classes")
    known = {split: StoreAbout.of(part.provenance) for split, part in parts.items()}
    spec = first.provenance.get("backbone")
    transform = spec.get("transform") if isinstance(spec, dict) else None
    return ProbedFeatures(
        backbone,
        dataset,
        {split: len(part) for split, part in parts.items()},
        len(counts.train) if target != "ranking" else 0,
        first.dimension,
        {split: str(part.provenance["content_hash"]) for split, part in parts.items()},
        {split: str(place) for split, place in places.items()},
        samples_of(parts),
        counts if target != "ranking" else None,
        target,
        metric,
        order,
        parts=stored_parts(first.provenance),
        keys={split: _key(part) for split, part in parts.items()},
        pixels=int(transform["size"]) if isinstance(transform, dict) else None,
        draw="given" if all(isinstance(part.provenance.get("source"), dict) for part in parts.values()) else "unknown",
        limit=next((limit for part in parts.values() if (limit := part.provenance.get("limit"))), None),
        flaws=tuple(
            flaw for split, part in parts.items() for flaw in _left_out(backbone, dataset, split, part, known[split])
        ),
        names=tuple(first.classes),
    )


def features_of_domain(
    backbone: str,
    domain: str,
    places: Mapping[str, Path],
    concepts: Collection[str],
    tell: Tell | None = None,
    *,
    verify: bool = False,
) -> ProbedFeatures:
    """Existing features of concepts, or of a user's own classes; features that do not match are refused.

    Classes keep the order of the training features.

    Args:
        concepts: ids of the classes; empty if unknown.
        tell: as in `read_features`.
        verify: as in `read_for_planning`.
    """
    read = {split: read_for_planning(path, tell, verify=verify) for split, path in places.items()}
    train, first = read["train"], places["train"]
    others = {
        split: align(train, part, f"{first} and {places[split]}") for split, part in read.items() if split != "train"
    }
    aligned = {split: others["test"][0] if split == "train" else others[split][1] for split in places}
    refuse_other_classes(aligned["train"], concepts, domain, first)
    if len(aligned["train"].classes) < 2:
        called = ", ".join(aligned["train"].classes)
        raise UserError(f"{first}: {domain} has a single class ({called}); a classifier needs two")
    found = probed_features(backbone, domain, aligned, places)
    for split in ("test", "val"):
        if split in found.hashes and found.hashes[split] == found.hashes["train"]:
            raise UserError(f"{first} and {places[split]}: the same features; give features of other images")
    return found


def features_of_task(backbone: str, dataset: Dataset, places: Mapping[str, Path]) -> ProbedFeatures:
    """Existing features of a data set; unusable features are refused. Classes are in the order of their names.

    The bytes of a store are not verified here, since the probes do that.
    """
    try:
        parts = {split: read_for_planning(path) for split, path in places.items()}
        aligned = align_splits(list(parts.values()), " and ".join(map(str, places.values())))
        ordered = dict(zip(parts, aligned, strict=True))
        where = f"features by {backbone}"
        if dataset.has_classes:
            remedy, several = "every class needs one", dataset.multi_label
            check_classes(split_labels(ordered), where, remedy, several=several, gaps=dataset.gaps)
    except UserError as error:
        raise UserError(f"{dataset.name}: {error}") from None
    found = probed_features(
        backbone, dataset.name, ordered, places, order="sorted", target=dataset.target, metric=dataset.metric
    )
    return replace(found, gaps=dataset.gaps)


def samples_of(parts: Mapping[str, Features]) -> SamplesPerClass | None:
    """Training and validation images per class; None for images without splits."""
    fitted = [part.y for split, part in parts.items() if split in {"train", "val"}]
    return SamplesPerClass.of(np.bincount(np.concatenate(fitted)).tolist()) if fitted else None


def class_counts(
    labels: Mapping[str, Sequence[int] | np.ndarray], names: Sequence[str], *, several: bool
) -> ClassCounts:
    """Training images, with those for validation and those without splits, and test images of each class.

    Args:
        labels: split → indices into `names`, the labels.
        several: whether a label stands for several classes, which are counted each.
    """
    sides = [np.zeros(len(names), np.int64), np.zeros(len(names), np.int64)]
    for split, y in labels.items():
        sides[split == "test"] += np.bincount(np.asarray(y, np.int64), minlength=len(names))
    if not several:
        return ClassCounts(tuple(sides[0].tolist()), tuple(sides[1].tolist()))
    classes = class_names(names)
    place = {name: number for number, name in enumerate(classes)}
    shown = np.zeros((len(names), len(classes)), np.int64)
    for row, label in enumerate(names):
        shown[row, [place[name] for name in shown_classes(label)]] = 1
    train, test = (tuple((side @ shown).tolist()) for side in sides)
    return ClassCounts(train, test)


def _key(features: Features) -> str:
    """The key of the extraction settings, since features of two machines may differ in their last bits."""
    return str(features.provenance.get("key", features.provenance["content_hash"]))[:16]


def _left_out(backbone: str, dataset: str, split: str, features: Features, known: StoreAbout) -> Iterator[Flaw]:
    """The damaged images that the extraction of features skipped."""
    if known.damaged:
        examples = tuple(f"{image.id}: {image.reason}" for image in known.damaged[:MOST_EXAMPLES])
        total = len(features) + len(known.damaged)
        yield Flaw("damaged-images", backbone, dataset, SPLIT_WORDS[split], len(known.damaged), total, examples)
