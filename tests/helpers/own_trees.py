"""Small data sets of a user's own, in folders and files."""

from collections.abc import Mapping
from pathlib import Path

from picture_files import jpeg

CLASSES = ("robin", "tit", "wren")
SIZES = {"train": 6, "test": 2}


def bird_rows(sizes: Mapping[str, int] = SIZES) -> list[tuple[str, str, str]]:
    """(path, class, split) of images; paths do not tell the split."""
    return [
        (f"{name}/{split}{number}.jpg", name, split)
        for split, count in sizes.items()
        for name in CLASSES
        for number in range(count)
    ]


def write_birds(root: Path, sizes: Mapping[str, int] = SIZES, *, by_split: bool = True) -> Path:
    """Images below a folder, all different: `train/wren/train0.jpg`, or `wren/train0.jpg`."""
    for seed, (path, _, split) in enumerate(bird_rows(sizes)):
        file = root / split / path if by_split else root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(jpeg(seed))
    return root


def write_toml(root: Path, text: str, name: str = "birds.toml") -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)
    return root / name
