"""Features of a study's domains: making them, finding them in a folder, and checking that they belong together.

Below the folder there is one for each domain, and in it stores as `unseen extract` writes them, of one backbone or
several, or features of the user's own: `train` and `test`, as a store or as a file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, did_you_mean
from unseen.features.about import StoreAbout
from unseen.features.checked import Tell
from unseen.features.features import Features, align
from unseen.features.progress import Progress
from unseen.features.readers import SUFFIXES, read_features
from unseen.features.settings import Settings
from unseen.features.store import read_store
from unseen.images.domains import DomainImages
from unseen.images.releases import WNID
from unseen.runs.extraction import Pass, extract_passes
from unseen.runs.means import ALONE, Means
from unseen.studies.features import about_finished
from unseen.studies.probing import FeaturePair, pair_from_features

SIDES = ("train", "test")
OWN = "yours"
ALIKE = ("backbone", "precision", "fast", "exif", "decode", "revision")
"""What all features of a backbone must have in common: a part of what `Settings.decides` lists."""


@dataclass(frozen=True)
class Place:
    """Where features are, and what they say of themselves; features in a user's own file say nothing."""

    path: Path
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> StoreAbout:
        """The same, field by field."""
        return StoreAbout.of(self.about)

    @property
    def backbone(self) -> str | None:
        """What the backbone was called; its id where it was given no name."""
        spec = self.known.backbone
        return self.known.name or (spec.id if spec else None)

    @property
    def split(self) -> str | None:
        return self.known.split

    @property
    def way(self) -> dict[str, Any]:
        """How they were made."""
        decoder = {"decode": "cpu"} if "fast" in self.about else {}  # which stores do not say
        return decoder | {name: self.about[name] for name in ALIKE if name in self.about}


Places = dict[str, dict[str, tuple[Place, Place]]]
"""Backbone → domain → training and test features."""


def extract_domains(
    domains: Sequence[DomainImages],
    backbones: Sequence[Backbone],
    folder: Path,
    settings: Settings,
    watch: Callable[[str, str], Callable[[Progress], None]],
    means: Means = ALONE,
) -> Iterator[tuple[str, str, list[Path]]]:
    """Extract what is missing, one pass over the images for all backbones; (domain, split, stores) as each is done.

    Args:
        watch: gives what is called after every batch of a domain's split.
        means: what to extract with.
    """
    sides = [(domain, split) for domain in domains for split in SIDES]
    passes = [
        Pass(*domain.sides[split], split, folder / domain.name, partial(watch, domain.name, split))
        for domain, split in sides
    ]
    for (domain, split), stores in zip(sides, extract_passes(means, passes, backbones, settings), strict=True):
        yield domain.name, split, stores


def find_features(folder: Path, domains: Sequence[str], backbones: Collection[str]) -> Places:
    """Training and test features of every domain below a folder, by backbone.

    Args:
        backbones: ids to take; empty where the folder has features of one only. For features that do not say whose
            they are, what to call it.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; features are in a folder for each domain below it")
    there = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    found: Places = {}
    for domain in domains:
        if domain not in there:
            hint = did_you_mean(domain, there) or f"; there are {', '.join(there) or 'none'}"
            raise UserError(
                f"{folder}: no features of the domain {domain}{hint}; leave it out (--domains), or extract it"
            )
        for name, pair in _in_domain(folder / domain, backbones).items():
            found.setdefault(name, {})[domain] = pair
    for name in found:
        lacking = next((domain for domain in domains if domain not in found[name]), None)
        if lacking:
            raise UserError(f"{folder / lacking}: no features of {name}, which the other domains have")
    return found


def feature_pairs(
    backbone: str,
    places: Mapping[str, tuple[Place, Place]],
    concepts: Mapping[str, Collection[str]],
    tell: Tell | None = None,
) -> list[FeaturePair]:
    """What planning needs of a backbone's features; features that do not belong together are refused.

    Args:
        places: by domain.
        concepts: ids of each domain's classes; empty where they are not known.
        tell: as in `read_features`.
    """
    check_alike(place for sides in places.values() for place in sides)
    pairs: list[FeaturePair] = []
    for domain, (train, test) in places.items():
        read = [read_for_planning(side.path, tell) for side in (train, test)]
        sides = align(read[0], read[1], f"{train.path} and {test.path}")
        _of_domain(sides[0], concepts.get(domain, ()), domain, train.path)
        pair = pair_from_features(backbone, domain, *sides, (train.path, test.path))
        if pairs and pair.dimension != pairs[0].dimension:
            lengths = f"{pair.dimension} dimensions, those of {pairs[0].domain} {pairs[0].dimension}"
            raise UserError(f"{train.path}: features of {lengths}; they are of different backbones")
        if pair.train == pair.test:
            raise UserError(f"{train.path} and {test.path}: the same features; test on others than are trained on")
        pairs.append(pair)
    return pairs


def stores_in(folder: Path) -> list[Place]:
    """The finished stores in a folder."""
    if not folder.is_dir():
        return []
    found = [(entry, about_finished(entry)) for entry in sorted(folder.iterdir()) if entry.is_dir()]
    return [Place(path, about) for path, about in found if about is not None]


def check_alike(places: Iterable[Place]) -> None:
    """Refuse features that were not made by the same backbone in the same way."""
    first, *others = places
    for other in others:
        for name in ALIKE:
            if name in first.way and name in other.way and first.way[name] != other.way[name]:
                what = "by another backbone" if name == "backbone" else f"with another {name}"
                raise UserError(f"{other.path}: made {what} than {first.path}; features of a study must be made alike")


def class_names(places: Mapping[str, tuple[Place, Place]]) -> dict[str, tuple[str, ...]]:
    """What each domain's features call its classes."""
    return {domain: tuple(sorted(read_for_planning(train.path).classes)) for domain, (train, _) in places.items()}


def own_features(folder: Path) -> tuple[Place, Place] | None:
    """Features that are called `train` and `test`, as a user's own are, as stores or as files."""
    train, test = (_own(folder, split) for split in SIDES)
    return (train, test) if train and test else None


def _in_domain(folder: Path, backbones: Collection[str]) -> dict[str, tuple[Place, Place]]:
    own = own_features(folder)
    if own:
        ids = {place.backbone for place in own if place.backbone}
        if len(ids) > 1 or (ids and backbones and ids != set(backbones)):
            wanted = " and ".join(sorted(backbones)) or "one backbone"
            raise UserError(f"{folder}: features of {' and '.join(sorted(ids))}, not of {wanted}")
        if len(backbones) > 1:
            raise UserError(
                f"{folder}: has features of one backbone, but {' and '.join(sorted(backbones))} are asked for"
            )
        return {next(iter(ids), None) or next(iter(backbones), OWN): own}
    stores = stores_in(folder)
    names = list(backbones) or sorted({store.backbone for store in stores if store.backbone})
    if len(names) > 1 and not backbones:
        raise UserError(f"{folder}: features of several backbones ({', '.join(names)}); say which with --backbone")
    return {name: (_one(folder, stores, name, "train"), _one(folder, stores, name, "test")) for name in names or [OWN]}


def _own(folder: Path, split: str) -> Place | None:
    if (folder / split).is_dir():
        return Place(folder / split, about_finished(folder / split) or {})
    file = next((folder / f"{split}{suffix}" for suffix in SUFFIXES if (folder / f"{split}{suffix}").is_file()), None)
    return Place(file) if file else None


def _one(folder: Path, stores: Sequence[Place], backbone: str, split: str) -> Place:
    """The only store of a backbone's features of a split."""
    fitting = [store for store in stores if store.backbone == backbone and store.split == split]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(store.path.name for store in fitting)
        raise UserError(f"{folder}: {split} features of {backbone} made in several ways ({names}); keep those you mean")
    stopped = [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and about_finished(entry) is None]
    if stopped:
        raise UserError(f"{stopped[0]}: its extraction was not finished; run it again to continue")
    there = sorted({store.backbone for store in stores if store.backbone})
    hint = did_you_mean(backbone, there) or (f"; there are those of {', '.join(there)}" if there else "")
    raise UserError(f"{folder}: no {split} features of {backbone}{hint}")


def read_for_planning(path: Path, tell: Tell | None = None) -> Features:
    """Features for planning: a store's bytes are not gone through, as whoever probes them does that."""
    return read_store(path) if path.is_dir() else read_features(path, tell=tell)


def _of_domain(features: Features, concepts: Collection[str], domain: str, where: Path) -> None:
    """Refuse features whose classes are not the domain's concepts, or not as many where classes are only numbered."""
    if not concepts:
        return
    classes = set(features.classes)
    if len(classes) != len(concepts):
        raise UserError(f"{where}: features of {len(classes)} classes, but {domain} has {len(concepts)} concepts")
    strange = sorted(classes - set(concepts))
    if strange and all(WNID.fullmatch(name) for name in classes):
        raise UserError(f"{where}: {strange[0]} is not a concept of {domain}; are these the features of other levels?")
