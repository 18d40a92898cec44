"""Write what the study of the pool reads: test pictures, networks with their classifiers, and a table of models.

    python -m emoji_shift.write_study PICTURES.npz POOL_DIR... --out OUT_DIR
    cd OUT_DIR; python -m unseen run study.toml --allow-code --out run

POOL_DIR has what `emoji_shift.train_pool` wrote.
"""

import argparse
import csv
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from emoji_shift.setups import setups
from emoji_shift.train_pool import read_pool
from unseen.data.concepts.drawings import DATA

HERE = Path(__file__).parent
STUDY = DATA / "emoji_shift.toml"
Arrays = dict[str, NDArray[Any]]


def main() -> None:
    """Write the folder."""
    parser = argparse.ArgumentParser(description="Write the study of the pool of emoji and drawings.")
    parser.add_argument("pictures", type=Path, help="arrays, from emoji_shift.render")
    parser.add_argument("pools", type=Path, nargs="+", help="folders, from emoji_shift.train_pool")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    models = {name: arrays for folder in args.pools for name, arrays in read_pool(folder).items()}
    known = {setup.name: setup for setup in setups()}
    with np.load(args.pictures, allow_pickle=False) as stored:
        pictures = dict(stored)
    classes = pictures["classes"].tolist()
    write_sets(pictures, classes, args.out / "sets")
    for folder in ("weights", "heads"):
        (args.out / folder).mkdir(parents=True, exist_ok=True)
    rows = []
    names = [name for name in known if name in models]
    for number, name in enumerate(names):
        arrays = models[name]
        state = {key.removeprefix("state/"): array for key, array in arrays.items() if key.startswith("state/")}
        np.savez(args.out / "weights" / f"{number}.npz", **state)  # type: ignore[arg-type]
        np.savez(
            args.out / "heads" / f"{number}.npz", weights=arrays["weights"].astype(np.float32),
            bias=arrays["biases"].astype(np.float32), classes=np.array(classes),
            normalised=known[name].captions,
        )  # fmt: skip
        rows.append([name, f"backbones.py:m{number}", known[name].group, f"heads/{number}.npz"])
    with (args.out / "models.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["model", "backbone", "group", "head"], *rows])
    (args.out / "models.json").write_text(json.dumps(names))
    for own in ("backbones.py", "networks.py"):
        shutil.copy(HERE / own, args.out / own)
    shutil.copy(STUDY, args.out / "study.toml")


def write_sets(pictures: Arrays, classes: list[str], folder: Path) -> None:
    """A folder of pictures and a table of their labels for each test set."""
    for name, array in pictures.items():
        if not (name.startswith(("id_", "ood_")) and array.ndim == 4):
            continue
        (folder / name).mkdir(parents=True, exist_ok=True)
        lines = ["path,label"]
        for number, (picture, label) in enumerate(zip(array, pictures[f"{name}_label"], strict=True)):
            path = f"{name}/{number:04d}.png"
            Image.fromarray(picture).save(folder / path)
            lines.append(f"{path},{classes[label]}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
