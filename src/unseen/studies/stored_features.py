"""Features of data sets in a folder: finding them, and checking that they match.

The folder has one folder per data set, with stores as `unseen extract` and `unseen run` write them, of one backbone or
several; or with the user's own features, `train`, `val` and `test` (or `all`), each a store or a file.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from unseen.data.core.dataset import Dataset
from unseen.data.core.releases import WNID
from unseen.data.core.rows import ALL, SPLIT_FOLDERS, SPLITS
from unseen.errors import UserError, did_you_mean, option
from unseen.features.about import StoreAbout
from unseen.features.checked import Tell
from unseen.features.features import INTEGER, Features
from unseen.features.readers import SUFFIXES, read_features
from unseen.features.store import MANIFEST, read_manifest, read_store

FEATURES = "features"
"""Name of the folder of features in the folder of a run."""
OWN = "yours"
"""The name of a backbone whose features do not say what it is."""
ALIKE = ("backbone", "precision", "fast", "exif", "decode", "revision")
"""Settings that all features of a backbone must share: a part of those listed by `Settings.decides`."""


@dataclass(frozen=True)
class Place:
    """The path of features and their description, which is empty for a user's own file."""

    path: Path
    about: Mapping[str, Any] = field(default_factory=dict)

    @property
    def known(self) -> StoreAbout:
        """The description as typed fields."""
        return StoreAbout.of(self.about)

    @property
    def backbone(self) -> str | None:
        """The name of the backbone, or its id if it has no name."""
        spec = self.known.backbone
        return self.known.name or (spec.id if spec else None)

    @property
    def split(self) -> str | None:
        return self.known.split

    @property
    def way(self) -> dict[str, Any]:
        """The settings of the extraction."""
        decoder = {"decode": "cpu"} if "fast" in self.about else {}  # earlier stores do not record the decoder
        return decoder | {name: self.about[name] for name in ALIKE if name in self.about}


@dataclass(frozen=True)
class Splits:
    """The splits of a data set whose features are used; those in `perhaps` only if there are any."""

    needed: tuple[str, ...]
    perhaps: tuple[str, ...] = ()

    @property
    def every(self) -> tuple[str, ...]:
        """All of them, in order."""
        return tuple(split for split in (*SPLITS, ALL) if split in {*self.needed, *self.perhaps})

    @staticmethod
    def of(dataset: Dataset, *, is_domain: bool) -> "Splits":
        """Those of a domain of concepts, whose probes need no validation split, or of another data set."""
        if is_domain:
            return DOMAIN_SPLITS
        if dataset.target == "ranking":
            return Splits(("train", "test"))
        return Splits(SPLITS if dataset.test is not None else (ALL,))


DOMAIN_SPLITS = Splits(("train", "test"), ("val",))
"""The splits of a domain of concepts."""


def find_features(folder: Path, name: str, splits: Splits, backbones: Collection[str]) -> dict[str, dict[str, Place]]:
    """The features of a data set by backbone and split.

    Args:
        folder: folder of the features of all data sets.
        backbones: names or ids to use; empty for all. For features without a description, the name of the backbone.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; it should contain one folder of features per data set")
    there = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    if name not in there:
        hint = did_you_mean(name, there) or f"; it has {', '.join(there) or 'none'}"
        raise UserError(f"{folder}: no features of {name}{hint}; leave it out ({option('datasets')}), or extract it")
    place = folder / name
    own = {split: found for split, found in own_features(place).items() if split in splits.every}
    if own and all(split in own for split in splits.needed):
        return _of_user(place, own, backbones)
    stores = stores_in(place)
    names = list(backbones) or sorted({store.backbone for store in stores if store.backbone})
    if own and not any(store.backbone in names for store in stores):
        absent = " and ".join(split for split in splits.needed if split not in own)
        raise UserError(f"{place}: features of {', '.join(own)}, but no {absent}; each split needs its own")
    return {each: _of_stores(place, stores, each, splits) for each in names or [OWN]}


def own_features(folder: Path) -> dict[str, Place]:
    """The splits of the user's own features in a folder, as stores or as files."""
    words = {**SPLIT_FOLDERS, ALL: (ALL,)}
    found = {split: [place for word in names if (place := _own(folder, word))] for split, names in words.items()}
    return {split: places[0] for split, places in found.items() if places}


def stores_in(folder: Path) -> list[Place]:
    """The finished stores in a folder."""
    if not folder.is_dir():
        return []
    found = [(entry, about_finished(entry)) for entry in sorted(folder.iterdir()) if entry.is_dir()]
    return [Place(path, about) for path, about in found if about is not None]


def check_alike(places: Iterable[Place]) -> None:
    """Refuse features of different backbones or settings."""
    first, *others = places
    for other in others:
        for name in ALIKE:
            if name in first.way and name in other.way and first.way[name] != other.way[name]:
                what = "by another backbone" if name == "backbone" else f"with another {name}"
                raise UserError(
                    f"{other.path}: extracted {what} than {first.path}; extract all features of a study with the same "
                    "settings"
                )


def read_about(store: Path) -> dict[str, Any]:
    """The description of a store; an unfinished store is an error."""
    about = about_finished(store)
    if about is None:
        raise UserError(f"{store}: its extraction is unfinished; run it again to continue")
    return about


def about_finished(store: Path) -> dict[str, Any] | None:
    """The description of a store; None if it is not finished."""
    return read_manifest(store).provenance if (store / MANIFEST).is_file() else None


def damaged_images(what: str, store: Path) -> str:
    """A sentence about the damaged images that a store skipped; empty if there are none.

    Args:
        what: name of the features.
    """
    damaged = StoreAbout.of(read_about(store)).damaged
    if not damaged:
        return ""
    are = "damaged image was" if len(damaged) == 1 else "damaged images were"
    first = f"{damaged[0].id}: {damaged[0].reason}"
    return f"{what}: {len(damaged):,} {are} left out, first {first}; all are listed in {store / MANIFEST}"


def read_for_planning(path: Path, tell: Tell | None = None, *, verify: bool = False) -> Features:
    """Read features for planning; the bytes of a store need not be verified, since the probes do that.

    Args:
        verify: verify them here too, since a run that is complete has no probe left to do it.
    """
    return read_store(path) if path.is_dir() and not verify else read_features(path, tell=tell)


def refuse_other_classes(features: Features, concepts: Collection[str], domain: str, where: Path) -> None:
    """Refuse features whose classes are not the concepts of a domain; numbered classes must have the same number.

    Words for the classes of published levels cannot be compared with their ids.
    """
    if not concepts:
        return
    classes = set(features.classes)
    if len(classes) != len(concepts):
        raise UserError(f"{where}: features of {len(classes)} classes, but {domain} has {len(concepts)} concepts")
    strange = sorted(classes - set(concepts))
    if strange and not _other_words(classes, concepts):
        raise UserError(f"{where}: {strange[0]} is not a concept of {domain}; are these the features of other levels?")


def has_classes(place: Path, concepts: Collection[str]) -> bool:
    """Whether features are of exactly these classes, as far as their names tell."""
    classes = set(read_for_planning(place).classes)
    return len(classes) == len(concepts) and (classes == set(concepts) or _other_words(classes, concepts))


def _other_words(classes: Collection[str], concepts: Collection[str]) -> bool:
    """Whether the names of classes cannot be compared with ids of concepts: they are numbers, or words for ids."""
    ids = [all(WNID.fullmatch(name) for name in names) for names in (classes, concepts)]
    return not ids[0] and (ids[1] or all(INTEGER.fullmatch(name) for name in classes))


def _of_user(folder: Path, own: Mapping[str, Place], backbones: Collection[str]) -> dict[str, dict[str, Place]]:
    """The user's own features, which are of one backbone."""
    ids = {place.backbone for place in own.values() if place.backbone}
    if len(ids) > 1 or (ids and backbones and ids != set(backbones)):
        wanted = " and ".join(sorted(backbones)) or "one backbone"
        raise UserError(f"{folder}: features of {' and '.join(sorted(ids))}, not of {wanted}")
    if len(backbones) > 1:
        raise UserError(f"{folder}: has features of one backbone, but {' and '.join(sorted(backbones))} are requested")
    return {next(iter(ids), None) or next(iter(backbones), OWN): dict(own)}


def _of_stores(folder: Path, stores: Sequence[Place], backbone: str, splits: Splits) -> dict[str, Place]:
    there = {store.split for store in stores if store.backbone == backbone}
    wanted = [split for split in splits.every if split in splits.needed or split in there]
    return {split: _one(folder, stores, backbone, split) for split in wanted}


def _one(folder: Path, stores: Sequence[Place], backbone: str, split: str) -> Place:
    """The only store of a backbone's features of a split."""
    fitting = [store for store in stores if store.backbone == backbone and store.split == split]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(store.path.name for store in fitting)
        raise UserError(
            f"{folder}: {split} features of {backbone} with several settings ({names}); keep only one of them"
        )
    stopped = [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and about_finished(entry) is None]
    if stopped:
        raise UserError(f"{stopped[0]}: its extraction is unfinished; run it again to continue")
    there = sorted({store.backbone for store in stores if store.backbone})
    hint = did_you_mean(backbone, there) or (f"; it has those of {', '.join(there)}" if there else "")
    raise UserError(f"{folder}: no {split} features of {backbone}{hint}; extract them, or leave the data set out")


def _own(folder: Path, split: str) -> Place | None:
    if (folder / split).is_dir():
        return Place(folder / split, about_finished(folder / split) or {})
    file = next((folder / f"{split}{suffix}" for suffix in SUFFIXES if (folder / f"{split}{suffix}").is_file()), None)
    return Place(file) if file else None
