"""Revisited Oxford and Paris: landmarks to be found by queries, with images that are easy, hard or unclear for each.

Radenović et al. 2018, "Revisiting Oxford and Paris: large-scale image retrieval benchmarking". The images are those of
Oxford 5k and Paris 6k. Queries are no part of the database, and are cropped to a box, as in the authors' code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from unseen.data.core.cropped import Box, CroppedImages
from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.ranking import RELATIONS, Relation, image_label, query_label
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.errors import UserError
from unseen.reading.guard import reading
from unseen.reading.pickles import read_plain_pickle

IMAGES = "jpg"


def read(place: Path, *, truth: str) -> Listing:
    """The images of the database as training images, in the order of their list, and the queries as test images."""
    file = place / truth
    content = read_plain_pickle(file, encoding="bytes")
    with reading(file, "the ground truth of a revisited data set"):
        record = _record(content)
        images, queries = (_names(record, name, file) for name in ("imlist", "qimlist"))
        marks = record["gnd"]
        if not isinstance(marks, list) or len(marks) != len(queries):
            raise UserError(f"{file}: 'gnd' must have an entry for each of the {len(queries)} queries")
        found = [_relations(_record(mark), len(images), f"{file}: query {number}") for number, mark in enumerate(marks)]
        boxes = {_path(name): box for name, (box, _) in zip(queries, found, strict=True)}
    of_images: list[dict[Relation, list[int]]] = [{} for _ in images]
    for number, (_, related) in enumerate(found):
        for relation, numbers in related.items():
            for image in numbers:
                of_images[image].setdefault(relation, []).append(number)
    rows = [Row(_path(name), image_label(own), "train") for name, own in zip(images, of_images, strict=True)]
    rows += [Row(_path(name), query_label(number), "test") for number, name in enumerate(queries)]
    listing = files_listing(place, rows)
    return replace(listing, open=partial(_open, listing, boxes))


def _open(listing: Listing, boxes: Mapping[str, Box]) -> CroppedImages:
    return CroppedImages(listing.open(), boxes)


def _path(name: str) -> str:
    return f"{IMAGES}/{name}.jpg"


def _record(value: object) -> dict[str, Any]:
    """A dictionary with names as text; those of Python 2 are read as bytes."""
    if not isinstance(value, dict):
        raise ValueError(f"{type(value).__name__} instead of a dictionary")
    return {_text(name): each for name, each in value.items()}


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} instead of a name")
    return value


def _names(record: Mapping[str, Any], key: str, file: Path) -> list[str]:
    names = [_text(name) for name in record[key]]
    if not names or len(set(names)) < len(names):
        raise UserError(f"{file}: {key!r} must name images, each once")
    return names


def _relations(mark: Mapping[str, Any], images: int, where: str) -> tuple[Box, dict[Relation, list[int]]]:
    """The box of a query, and the images that are something to it."""
    box = _numbers(mark["bbx"])
    if len(box) != 4 or not all(map(isfinite, box)):
        raise UserError(f"{where}: its box is not four numbers but {box}")
    found, known = dict[Relation, list[int]](), set[int]()
    for relation in RELATIONS:
        numbers = [int(number) for number in _numbers(mark[relation])]
        if numbers != _numbers(mark[relation]) or not all(0 <= number < images for number in numbers):
            raise UserError(f"{where}: {relation!r} must be indices of the {images} images, from 0")
        if len(set(numbers)) < len(numbers) or known.intersection(numbers):
            raise UserError(f"{where}: names an image twice among {', '.join(RELATIONS)}")
        known.update(numbers)
        found[relation] = numbers
    left, upper, right, lower = box
    return (left, upper, right, lower), found


def _numbers(value: object) -> list[float]:
    """Numbers from a list, a tuple, or an array of any shape."""
    flat: list[float] = []
    for each in value if isinstance(value, list | tuple) else [value]:
        if isinstance(each, np.ndarray):
            flat += each.ravel().tolist()
        elif isinstance(each, int | float) and not isinstance(each, bool):
            flat.append(each)
        elif isinstance(each, list | tuple):
            flat += _numbers(each)
        else:
            raise ValueError(f"{type(each).__name__} instead of a number")
    return flat


def _set(name: str, title: str, images: int, folder: str, get: str) -> Dataset:
    truth = f"gnd_{name}.pkl"
    reader = partial(read, truth=truth)
    own: Sequence[str] = (name, folder)
    return Dataset(
        name=name,
        title=title,
        classes=0,
        target="ranking",
        few_shot="other",
        counts={"train": images, "test": 70},
        layouts=tuple(Layout(each, (truth, IMAGES), reader) for each in own),
        get=f"{get}, with all images in one folder {IMAGES}, and from cmp.felk.cvut.cz/revisitop {truth}",
        licence="Flickr's terms of use",
        citation="Radenović et al. 2018, Revisiting Oxford and Paris: Large-Scale Image Retrieval Benchmarking",
    )


DATASETS = (
    _set("roxford5k", "Revisited Oxford", 4993, "oxford5k", "Oxford VGG, Oxford Buildings: oxbuild_images-v1.tgz"),
    _set("rparis6k", "Revisited Paris", 6322, "paris6k", "Oxford VGG, Paris Buildings: paris_1-v1.tgz, paris_2-v1.tgz"),
)
