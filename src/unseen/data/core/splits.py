"""Division of a concept's images into training and test images: drawn by hash, stored as a compact manifest.

Images are ordered by SHA-256 of `seed/class/name`: the split of a class depends neither on the order in which the file
system lists files nor on other classes, and adding or removing an image changes few assignments.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from unseen.data.core.name_codec import pack_names, unpack_names
from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.reading.arrays import read_npz
from unseen.reading.guard import reading

FORMAT = 1


@dataclass(frozen=True)
class SplitRule:
    """Numbers of test and training images per class; a class with fewer than `test + min_train` images is refused."""

    test: int = 50
    min_train: int = 732
    max_train: int = 1300


COG = SplitRule()
"""ImageNet-CoG: 50 test images per concept, up to 1,300 of the rest for training."""
COG_BALANCED = SplitRule(max_train=732)
"""Its class-balanced variant: exactly 732 training images."""


@dataclass(frozen=True)
class ClassSplit:
    """Names of a class's images, each list sorted."""

    train: tuple[str, ...]
    test: tuple[str, ...]


@dataclass(frozen=True)
class Splits:
    """The split of every class, by class id in sorted order, and its origin.

    `rule` and `seed` are None for splits that were not drawn here.
    """

    classes: Mapping[str, ClassSplit]
    source: str
    rule: SplitRule | None = None
    seed: int | None = None

    @property
    def content_hash(self) -> str:
        """SHA-256 over all (class, side, name), in order: it depends on the split, not on how it was drawn."""
        digest = hashlib.sha256()
        for name, split in self.classes.items():
            for side, images in (("test", split.test), ("train", split.train)):
                digest.update("".join(f"{name}\t{side}\t{image}\n" for image in images).encode())
        return digest.hexdigest()

    def write(self, path: Path) -> None:
        """Write the manifest, an `.npz` of a few bytes per image."""
        columns = {side: [getattr(split, side) for split in self.classes.values()] for side in ("test", "train")}
        about = {
            "format": FORMAT,
            "source": self.source,
            "rule": asdict(self.rule) if self.rule else None,
            "seed": self.seed,
            "content_hash": self.content_hash,
            "classes": list(self.classes),
        }
        arrays = {"about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)}
        for side, groups in columns.items():
            arrays |= {f"{side}_{key}": array for key, array in pack_names(groups).items()}
        with atomic_write(path) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a manifest; one whose content does not match its hash is refused."""
        with reading(path, "a splits manifest"):
            arrays = read_npz(path)
            about: dict[str, Any] = json.loads(arrays["about"].tobytes())
            if about["format"] != FORMAT:
                raise UserError(f"{path}: manifest format {about['format']}, this version reads {FORMAT}")
            sides = {
                side: unpack_names({k.removeprefix(f"{side}_"): v for k, v in arrays.items() if k.startswith(side)})
                for side in ("test", "train")
            }
            groups = zip(sides["train"], sides["test"], strict=True)
            classes = {
                name: ClassSplit(train, test) for name, (train, test) in zip(about["classes"], groups, strict=True)
            }
            rule = SplitRule(**about["rule"]) if about["rule"] else None
            splits, recorded = cls(classes, about["source"], rule, about["seed"]), about["content_hash"]
        if splits.content_hash != recorded:
            raise UserError(f"{path}: its content does not match its hash; build or download it again")
        return splits


def draw_splits(
    images: Iterable[tuple[str, Sequence[str]]],
    wanted: Iterable[str],
    *,
    source: str,
    rule: SplitRule = COG,
    seed: int = 0,
) -> Splits:
    """Draw the split of every wanted class from (class id, image names) pairs.

    Every wanted class must occur with at least `rule.test + rule.min_train` images; other classes are skipped.
    """
    if rule.test < 1 or rule.min_train < 1 or rule.max_train < rule.min_train:
        given = f"{rule.test}, {rule.min_train} and {rule.max_train}"
        raise UserError(f"a split needs test ≥ 1 and 1 ≤ min_train ≤ max_train, got {given}")
    missing = set(wanted)
    classes: dict[str, ClassSplit] = {}
    for name, names in images:
        if name in missing:
            missing.remove(name)
            classes[name] = _draw(name, names, rule, seed, source)
    if missing:
        more = f" and {len(missing) - 1} more concepts" if len(missing) > 1 else ""
        raise UserError(f"{source}: no images of {min(missing)}{more}")
    return Splits(dict(sorted(classes.items())), source, rule, seed)


def _draw(name: str, names: Sequence[str], rule: SplitRule, seed: int, source: str) -> ClassSplit:
    least = rule.test + rule.min_train
    if len(names) < least:
        raise UserError(f"{source}: {name} has {len(names)} images, but {rule.test} + {rule.min_train} are needed")
    if len(set(names)) < len(names):
        raise UserError(f"{source}: {name} has two images of the same name")
    drawn = sorted(names, key=lambda image: draw_place(seed, name, image))
    train = drawn[rule.test : rule.test + rule.max_train]
    return ClassSplit(tuple(sorted(train)), tuple(sorted(drawn[: rule.test])))


def sizes(splits: Splits) -> Iterator[tuple[str, int, int]]:
    """(class id, training images, test images) of every class."""
    for name, split in splits.classes.items():
        yield name, len(split.train), len(split.test)


def draw_place(seed: int, concept: str, image: str) -> bytes:
    """Sort key of an image in the draw of its concept: the same on every machine and independent of other images."""
    return hashlib.sha256(f"{seed}/{concept}/{image}".encode()).digest()
