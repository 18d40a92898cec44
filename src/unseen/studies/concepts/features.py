"""Features of the domains of a study: extracting them, finding them in a folder, and checking that they match.

The folder has one folder per domain, which contains stores written by `unseen extract`, of one backbone or several, or
the user's own features: `train` and `test`, as a store or as a file.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, did_you_mean, option
from unseen.features.about import StoreAbout
from unseen.features.checked import Tell
from unseen.features.features import INTEGER, Features, align
from unseen.features.progress import Progress
from unseen.features.readers import SUFFIXES, read_features
from unseen.features.settings import Settings
from unseen.features.store import read_store
from unseen.images.open_dataset import OpenDataset
from unseen.images.own.description import FOLDERS
from unseen.images.releases import WNID
from unseen.runs.extraction import Pass, extract_passes
from unseen.runs.means import ALONE, Means
from unseen.studies.features import about_finished
from unseen.studies.probed_features import ProbedFeatures, probed_features

SIDES = ("train", "test")
VALIDATION = "val"
OWN = "yours"
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


Places = dict[str, dict[str, tuple[Place, Place]]]
"""Backbone → domain → training and test features."""


def extract_domains(
    domains: Sequence[OpenDataset],
    backbones: Sequence[Backbone],
    folder: Path,
    settings: Settings,
    watch: Callable[[str, str], Callable[[Progress], None]],
    means: Means = ALONE,
) -> Iterator[tuple[str, str, list[Path]]]:
    """Extract missing features, with one pass over the images for all backbones.

    Yields (domain, split, stores) when each split is done.

    Args:
        watch: returns the progress callback of a domain and split.
        means: the hardware to extract on.
    """
    sides = [(domain, split) for domain in domains for split in SIDES]
    passes = [
        Pass(*domain.part(split), split, folder / domain.name, partial(watch, domain.name, split))
        for domain, split in sides
    ]
    for (domain, split), stores in zip(sides, extract_passes(means, passes, backbones, settings), strict=True):
        yield domain.name, split, stores


def find_features(folder: Path, domains: Sequence[str], backbones: Collection[str]) -> Places:
    """Training and test features of every domain in a folder, by backbone.

    Args:
        backbones: ids to use; may be empty if the folder has features of one backbone only. For features without a
            description, the name of the backbone.
    """
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; it should contain one folder of features per domain")
    there = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    found: Places = {}
    for domain in domains:
        if domain not in there:
            hint = did_you_mean(domain, there) or f"; it has {', '.join(there) or 'none'}"
            raise UserError(
                f"{folder}: no features of the domain {domain}{hint}; leave it out ({option('domains')}), or extract it"
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
) -> list[ProbedFeatures]:
    """The features of a backbone as pairs for planning; features that do not match are refused.

    Args:
        places: training and test features by domain.
        concepts: ids of each domain's classes; empty if unknown.
        tell: as in `read_features`.
    """
    check_alike(place for sides in places.values() for place in sides)
    pairs: list[ProbedFeatures] = []
    for domain, (train, test) in places.items():
        read = [read_for_planning(side.path, tell) for side in (train, test)]
        sides = align(read[0], read[1], f"{train.path} and {test.path}")
        _of_domain(sides[0], concepts.get(domain, ()), domain, train.path)
        if len(sides[0].classes) < 2:
            raise UserError(
                f"{train.path}: {domain} has a single class ({sides[0].classes[0]}); a classifier needs two"
            )
        paths = {"train": train.path, "test": test.path}
        pair = probed_features(backbone, domain, dict(zip(SIDES, sides, strict=True)), paths)
        if pairs and pair.dimension != pairs[0].dimension:
            lengths = f"{pair.dimension} dimensions, those of {pairs[0].dataset} {pairs[0].dimension}"
            raise UserError(f"{train.path}: features of {lengths}; they are of different backbones")
        if pair.hashes["train"] == pair.hashes["test"]:
            raise UserError(f"{train.path} and {test.path}: the same features; give test features of other images")
        pairs.append(pair)
    return pairs


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


def class_names(places: Mapping[str, tuple[Place, Place]]) -> dict[str, tuple[str, ...]]:
    """The names of the classes of each domain, from its features."""
    return {domain: tuple(sorted(read_for_planning(train.path).classes)) for domain, (train, _) in places.items()}


def own_features(folder: Path) -> list[tuple[str, Place]]:
    """The splits of the user's own features in a folder, as stores or as files; none without `train` and `test`."""
    names = {"train": ("train",), VALIDATION: FOLDERS[VALIDATION], "test": ("test",)}
    found = [(split, place) for split, words in names.items() for word in words if (place := _own(folder, word))]
    return found if {*SIDES} <= {split for split, _ in found} else []


def _in_domain(folder: Path, backbones: Collection[str]) -> dict[str, tuple[Place, Place]]:
    own = dict(own_features(folder))
    if own:
        _refuse_validation(own.get(VALIDATION))
        train, test = (own[split] for split in SIDES)
        ids = {place.backbone for place in (train, test) if place.backbone}
        if len(ids) > 1 or (ids and backbones and ids != set(backbones)):
            wanted = " and ".join(sorted(backbones)) or "one backbone"
            raise UserError(f"{folder}: features of {' and '.join(sorted(ids))}, not of {wanted}")
        if len(backbones) > 1:
            raise UserError(
                f"{folder}: has features of one backbone, but {' and '.join(sorted(backbones))} are requested"
            )
        return {next(iter(ids), None) or next(iter(backbones), OWN): (train, test)}
    stores = stores_in(folder)
    names = list(backbones) or sorted({store.backbone for store in stores if store.backbone})
    if len(names) > 1 and not backbones:
        raise UserError(
            f"{folder}: features of several backbones ({', '.join(names)}); choose one ({option('backbone')})"
        )
    _refuse_validation(next((store for store in stores if store.split == VALIDATION and store.backbone in names), None))
    return {name: (_one(folder, stores, name, "train"), _one(folder, stores, name, "test")) for name in names or [OWN]}


def _refuse_validation(place: Place | None) -> None:
    """Refuse validation features, which would be left out."""
    if place is not None:
        raise UserError(
            f"{place.path}: validation features, which a concept study has no use for; join them with the training "
            f"features ({option('regroup', True)}), or remove them"
        )


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
        raise UserError(
            f"{folder}: {split} features of {backbone} with several settings ({names}); keep only one of them"
        )
    stopped = [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and about_finished(entry) is None]
    if stopped:
        raise UserError(f"{stopped[0]}: its extraction is unfinished; run it again to continue")
    there = sorted({store.backbone for store in stores if store.backbone})
    hint = did_you_mean(backbone, there) or (f"; it has those of {', '.join(there)}" if there else "")
    raise UserError(f"{folder}: no {split} features of {backbone}{hint}")


def read_for_planning(path: Path, tell: Tell | None = None) -> Features:
    """Read features for planning; the bytes of a store are not verified, since the probes do that."""
    return read_store(path) if path.is_dir() else read_features(path, tell=tell)


def _of_domain(features: Features, concepts: Collection[str], domain: str, where: Path) -> None:
    """Refuse features whose classes are not the concepts of the domain; numbered classes must have the same number.

    Words for the classes of published levels cannot be compared with their ids.
    """
    if not concepts:
        return
    classes = set(features.classes)
    if len(classes) != len(concepts):
        raise UserError(f"{where}: features of {len(classes)} classes, but {domain} has {len(concepts)} concepts")
    strange = sorted(classes - set(concepts))
    ids = [all(WNID.fullmatch(name) for name in names) for names in (classes, concepts)]
    numbered = all(INTEGER.fullmatch(name) for name in classes)
    if strange and (ids[0] or not (ids[1] or numbered)):
        raise UserError(f"{where}: {strange[0]} is not a concept of {domain}; are these the features of other levels?")
