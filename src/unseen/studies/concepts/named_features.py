"""Features in a folder and in the folders of its domains, found by the names of their classes.

They may be stores of an extraction, or a user's own `train` and `test`. Validation features belong to the training
features: a concept study has no validation split, because its protocol holds out training samples.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.releases import WNID
from unseen.errors import UserError, did_you_mean, names_of, option
from unseen.features.features import INTEGER, Features
from unseen.features.readers import read_features
from unseen.studies.stored_features import OWN, Place, check_alike, own_features, read_for_planning, stores_in

SIDES = ("train", "test")
SPLITS = {"train": ("train", "val"), "test": ("test",)}
"""Splits whose features are used for training and for testing."""
Sources = Mapping[str, Sequence["NamedFeatures"]]
"""Features for training and for testing, those of each split in the order of their folders."""


@dataclass(frozen=True, eq=False)
class NamedFeatures:
    """Features of a split, opened for planning."""

    place: Place
    split: str | None
    features: Features

    @cached_property
    def rows(self) -> dict[str, NDArray[np.int64]]:
        """The rows of each class that has any."""
        y = self.features.y
        order = np.argsort(y, kind="stable")
        codes, starts = np.unique(y[order], return_index=True)
        parts = np.split(order, starts[1:])
        return {self.features.classes[code]: part for code, part in zip(codes.tolist(), parts, strict=True)}

    @cached_property
    def verified(self) -> Features:
        """The same features, after all their bytes were verified."""
        return read_features(self.place.path)

    def images(self, name: str) -> list[str]:
        """The names of the images of a class; empty if they are not known."""
        return [self.features.ids[row] for row in self.rows[name]] if self.features.ids else []


def named_features(folder: Path, backbone: str, levels: Mapping[str, Collection[str]]) -> Sources:
    """The features of a backbone that have the concepts of some domains.

    Concepts without features are refused, and so are those of which two places have features, unless these are stores
    of the same images.
    """
    for domain, concepts in levels.items():
        if len({*concepts}) < 2:
            raise UserError(
                f"{domain}: has a single class ({', '.join(concepts)}), and a classifier needs two; add classes, or "
                f"leave the domain out ({option('datasets')})"
            )
    needed = {name for concepts in levels.values() for name in concepts}
    found = [
        NamedFeatures(place, split, read_for_planning(place.path))
        for split, place in feature_places(folder)
        if place.backbone in {None, backbone}
    ]
    if not found:
        raise UserError(f"{folder}: no features of {backbone} in the folders of its domains")
    known = {split for splits in SPLITS.values() for split in splits}
    for each in found:
        if each.split not in known and needed & each.rows.keys():
            raise UserError(
                f"{each.place.path}: features of the split {each.split or 'unknown'}, but only training, validation "
                "and test features are used; give these features as train and test"
            )
    sources = {side: [each for split in SPLITS[side] for each in found if each.split == split] for side in SIDES}
    for side, there in sources.items():
        if not there:
            raise UserError(f"{folder}: no finished {side} features to regroup; finish the extraction")
        _refuse_lacking(needed, there, side, folder)
    used = {side: [each for each in there if needed & each.rows.keys()] for side, there in sources.items()}
    _refuse_mixed([each for there in used.values() for each in there], folder)
    for there in used.values():
        _refuse_repeated(there, needed)
    return used


def class_counts(folder: Path) -> Counter[str]:
    """Class → number of rows of one of the backbones in a folder, in all splits together."""
    whose = next((place.backbone for _, place in feature_places(folder)), None)
    counts: Counter[str] = Counter()
    for _, place in feature_places(folder):
        if place.backbone == whose:
            features = read_for_planning(place.path)
            counts.update({features.classes[code]: rows for code, rows in enumerate(np.bincount(features.y).tolist())})
    if not counts:
        raise UserError(f"{folder}: no features in it; give a folder with `train` and `test`, or one folder per domain")
    return +counts


def named_classes(folder: Path) -> set[str]:
    """The names of all classes of which there are features in a folder and in the folders of its domains."""
    return {name for _, place in feature_places(folder) for name in read_for_planning(place.path).classes}


def one_backbone(folder: Path) -> str:
    """The name of the only backbone whose features are in a folder."""
    names = sorted({place.backbone or OWN for _, place in feature_places(folder)})
    if len(names) > 1:
        raise UserError(
            f"{folder}: features of several backbones ({', '.join(names)}); choose one ({option('backbone')})"
        )
    return names[0] if names else OWN


def feature_places(folder: Path) -> Iterator[tuple[str | None, Place]]:
    """(split, features) in a folder and in the folders of its domains, without those that were regrouped."""
    domains = sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    for domain in (folder, *domains):
        there = own_features(domain)
        own: list[tuple[str | None, Place]] = list(there.items()) if {*SIDES} <= there.keys() else []
        named = {place.path for _, place in own}
        stores = [(store.split, store) for store in stores_in(domain) if store.backbone and store.path not in named]
        yield from ((split, place) for split, place in (*own, *stores) if "regrouped_from" not in place.about)


def _refuse_lacking(needed: Collection[str], sources: Sequence[NamedFeatures], side: str, folder: Path) -> None:
    """Refuse concepts without features."""
    left = sorted({*needed}.difference(*(each.rows for each in sources)))
    if not left:
        return
    lacking = f"{folder}: no {side} features of {len(left):,} of {len(needed):,} concepts ({names_of(left)})"
    for each in sources:
        if all(INTEGER.fullmatch(name) for name in each.features.classes):
            raise UserError(
                f"{lacking}: the classes of {each.place.path} are only numbered, so their concepts are not known; "
                "name them by their concepts (an array `classes`, or strings as labels)"
            )
    classes = {name for each in sources for name in each.features.classes}
    raise UserError(lacking if WNID.fullmatch(left[0]) else f"{lacking}{did_you_mean(left[0], classes)}")


def _refuse_mixed(used: Sequence[NamedFeatures], folder: Path) -> None:
    """Refuse features that are, or may be, of different backbones."""
    check_alike(each.place for each in used)
    first = used[0]
    for each in used:
        if each.features.dimension != first.features.dimension:
            raise UserError(
                f"{each.place.path}: features of {each.features.dimension} dimensions, those of {first.place.path} "
                f"have {first.features.dimension}; they are of different backbones"
            )
    inside = next((each for each in used if each.place.path.parent != folder), None)
    direct = next((each for each in used if each.place.path.parent == folder), None)
    if inside and direct and any(each.place.backbone is None for each in used):
        raise UserError(
            f"{direct.place.path} and {inside.place.path}: may be features of different backbones; give features of "
            "all classes in one folder, or one folder per domain, not both"
        )


def _refuse_repeated(sources: Sequence[NamedFeatures], needed: Collection[str]) -> None:
    """Refuse two sources of a class: in one split, unless they are known to be alike; in two, if they share images."""
    first: dict[str, dict[str | None, NamedFeatures]] = {}
    for each in sources:
        for name in sorted(each.rows.keys() & needed):
            for split, other in first.setdefault(name, {}).items():
                images, others = set(each.images(name)), set(other.images(name))
                described = each.place.backbone and other.place.backbone
                if split == each.split and not (described and images and images == others):
                    raise UserError(
                        f"{name}: {other.place.path} and {each.place.path} have {split} features of it; keep one of "
                        "them, as they may be of other images or of another backbone"
                    )
                if split != each.split and images & others:
                    raise UserError(
                        f"{each.place.path}: {len(images & others):,} images of {name} are in {other.place.path} too "
                        f"({names_of(sorted(images & others))}); each image belongs to one split"
                    )
            first[name].setdefault(each.split, each)
