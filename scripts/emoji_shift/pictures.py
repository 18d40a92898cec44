"""The pictures as arrays: what trains, what tests, and the captions of what trains.

Emoji are 32 × 32 pixels in colour, drawings 28 × 28 in grey with ink dark on white; `coloured` brings both to the same
shape. Noto, Fluent and EmojiOne are divided at random into pictures that train and pictures that test. Of each
category's 100 drawings, 80 train, ten test as they are, and the last ten test as chalk on a dark board.
"""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emoji_pool.glyphs import read_icons, render, svg
from emoji_shift.concepts import FAMILIES, classes, pictured
from npm_folders import npm_folders
from unseen.data.concepts.drawings import TRAINING_DRAWINGS, category_drawings
from unseen.errors import UserError
from unseen.files import atomic_write

TRAINING = ("noto", "fluent", "emojione")
TESTED = 0.4
"""Share of the pictures of these families that test."""
CHALK = 10
"""Test drawings of a category that become chalk; the others stay ink."""
WORDS = 10
"""Longest caption, in words."""
TAGS = 4
SENTENCES = ("{}", "a drawing of a {}", "{} drawn in ink", "a quick sketch of a {}")
"""Captions of a drawing; class names stand in the same sentences, and in `EMOJI_SENTENCES`, for zero-shot models."""
EMOJI_SENTENCES = ("{}", "{} emoji")

Arrays = dict[str, NDArray[Any]]


def emoji_arrays() -> Arrays:
    """Pictures, labels and captions of the emoji that train, and pictures and labels of every set that tests."""
    number = {category: place for place, category in enumerate(classes().values())}
    train: list[tuple[NDArray[np.uint8], int, str, str]] = []
    tests = dict[str, list[tuple[NDArray[np.uint8], int]]]()
    held_out = _held_out()
    for family, packages in FAMILIES.items():
        for package in packages:
            icons = read_icons(package)
            for category, names in pictured(package).items():
                if category not in number:
                    continue
                for name in names:
                    picture, label = render(svg(icons, name)), number[category]
                    if family in TRAINING and (package, name) not in held_out:
                        train.append((picture, label, family, name))
                    else:
                        test = "id_emoji" if family in TRAINING else f"ood_{family}"
                        tests.setdefault(test, []).append((picture, label))
    arrays: Arrays = {
        "train_emoji": np.stack([picture for picture, *_ in train]),
        "train_emoji_label": np.array([label for _, label, *_ in train], dtype=np.int64),
        "train_emoji_family": np.array([TRAINING.index(family) for *_, family, _ in train], dtype=np.int64),
    }
    for name, members in tests.items():
        arrays[name] = np.stack([picture for picture, _ in members])
        arrays[f"{name}_label"] = np.array([label for _, label in members], dtype=np.int64)
    return arrays | _texts([name for *_, name in train])


def drawing_arrays() -> Arrays:
    """Drawings that train, that test in ink, and that test in chalk of a random light colour on a dark board."""
    ink = np.stack([category_drawings()[category] for category in classes().values()])  # (classes, 100, 28, 28)
    of = np.arange(len(ink))
    plain = slice(TRAINING_DRAWINGS, ink.shape[1] - CHALK)
    chalked = ink[:, ink.shape[1] - CHALK :].reshape(-1, *ink.shape[2:])
    rng = np.random.default_rng(0)
    board, chalk = rng.uniform(0, 90, (2, len(chalked), 1, 1, 3))
    chalk = 255 - chalk
    share = padded(chalked, 0)[..., None] / 255
    return {
        "train_drawings": 255 - ink[:, :TRAINING_DRAWINGS].reshape(-1, *ink.shape[2:]),
        "train_drawings_label": np.repeat(of, TRAINING_DRAWINGS),
        "id_drawings": coloured(255 - ink[:, plain].reshape(-1, *ink.shape[2:])),
        "id_drawings_label": np.repeat(of, ink[0, plain].shape[0]),
        "ood_chalk": (board + (chalk - board) * share).round().astype(np.uint8),
        "ood_chalk_label": np.repeat(of, CHALK),
    }


def padded(grey: NDArray[np.uint8], value: int) -> NDArray[np.uint8]:
    """(n, 32, 32) of (n, 28, 28), with a border of one value."""
    return np.pad(grey, ((0, 0), (2, 2), (2, 2)), constant_values=value)


def coloured(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(n, 32, 32, 3) of drawings on white."""
    return np.repeat(padded(grey, 255)[..., None], 3, axis=3)


def stored_arrays(path: Path) -> Arrays:
    """All arrays, made once and then read from an `.npz` file."""
    if not path.exists():
        about = {"classes": np.array(list(classes())), "names": np.array(list(classes().values()))}
        arrays = about | drawing_arrays() | emoji_arrays()
        with atomic_write(path) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def _held_out() -> set[tuple[str, str]]:
    """Package and name of the emoji that test: of each class those with the lowest hashes, at least one."""
    chosen = set[tuple[str, str]]()
    packages = [package for family in TRAINING for package in FAMILIES[family]]
    for category in classes().values():
        own = [(package, name) for package in packages for name in pictured(package).get(category, ())]
        own.sort(key=lambda each: hashlib.sha256("/".join(each).encode()).digest())
        chosen.update(own[: max(1, round(TESTED * len(own)))])
    return chosen


def _texts(names: list[str]) -> Arrays:
    """Captions as numbers of words, 0 where there is none: of emoji by name and by keywords, drawings, and classes."""
    tags = _keywords()
    emoji = [[name.replace("-", " "), *tags.get(name, [])] for name in names]
    said = [[sentence.format(name) for sentence in SENTENCES] for name in classes().values()]
    asked = [[*texts, EMOJI_SENTENCES[1].format(name)] for texts, name in zip(said, classes().values(), strict=True)]
    captions = [
        [texts[0], EMOJI_SENTENCES[1].format(texts[0]), " ".join(texts[1 : 1 + TAGS]) or texts[0]] for texts in emoji
    ]
    words = sorted({word for texts in [*captions, *asked] for text in texts for word in text.lower().split()})
    number = {word: place for place, word in enumerate(words, start=1)}

    def numbers(rows: list[list[str]]) -> NDArray[np.int64]:
        made = np.zeros((len(rows), len(rows[0]), WORDS), dtype=np.int64)
        for row, texts in enumerate(rows):
            for place, text in enumerate(texts):
                found = [number[word] for word in text.lower().split()][:WORDS]
                made[row, place, : len(found)] = found
        return made

    return {
        "words": np.array(words),
        "emoji_texts": numbers(captions),  # (pictures, 3, words)
        "drawing_texts": numbers(said),  # (classes, 4, words)
        "class_texts": numbers(asked),  # (classes, 5, words)
    }


def _keywords() -> Mapping[str, list[str]]:
    """Name of an emoji, with hyphens → its keywords in Unicode's annotations."""
    for folder in npm_folders():
        path = folder / "emojibase-data/en/data.json"
        if path.is_file():
            rows = json.loads(path.read_text(encoding="utf-8"))
            return {row["label"].lower().replace(" ", "-").replace("’", ""): row.get("tags", []) for row in rows}
    raise UserError("no package emojibase-data here; run npm install emojibase-data")
