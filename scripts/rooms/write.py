"""A set of rendered rooms on disk, in the form that `unseen.data.sets.rooms` documents and reads."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from rooms.catalogue import PACKAGE, Piece
from rooms.layout import Room
from rooms.render import View, focal_length
from unseen.data.sets.rooms import ANNOTATIONS, FURNITURE
from unseen.files import atomic_write

LEAST_SHARE = 1e-3
"""Of an image's pixels that a piece needs to get a box."""


@dataclass(frozen=True)
class Box:
    """The visible part of a piece: left, top, width and height in pixels, and its number of pixels."""

    piece: Piece
    edges: tuple[int, int, int, int]
    area: int


def boxes_of(room: Room, things: NDArray[np.int64]) -> list[Box]:
    """The tight boxes around the visible pixels of each piece of a room; pieces of very few pixels have none."""
    found = []
    for number, placed in enumerate(room.placed):
        rows, columns = np.nonzero(things == number)
        if len(rows) >= LEAST_SHARE * things.size:
            left, top = int(columns.min()), int(rows.min())
            edges = (left, top, int(columns.max()) + 1 - left, int(rows.max()) + 1 - top)
            found.append(Box(placed.piece, edges, len(rows)))
    return found


def write_view(folder: Path, name: str, view: View) -> None:
    """The image and its three maps; `name` is SPLIT/NUMBER.png."""
    millimetres = np.clip(view.depth * 1000 + 0.5, 0, 65535).astype(np.uint16)
    normals = np.clip((view.normals + 1) * 127.5 + 0.5, 0, 255).astype(np.uint8)
    normals[~view.normals.any(axis=2)] = 0
    maps = {"images": view.image, "masks": view.classes, "normals": normals, "depth": millimetres}
    for kind, values in maps.items():
        with atomic_write(folder / kind / name) as file:
            Image.fromarray(values).save(file, format="PNG", optimize=True)


def write_boxes(folder: Path, split: str, size: int, rooms: Sequence[tuple[str, Room, Sequence[Box]]]) -> None:
    """The images and boxes of a split in COCO's form; images also tell their focal length and theme, boxes the piece.

    Args:
        rooms: the name of each image, SPLIT/NUMBER.png, its room and its boxes.
    """
    images = [
        {
            "id": number,
            "file_name": name,
            "width": size,
            "height": size,
            "theme": room.theme,
            "seed": room.seed,
            "focal_length": round(focal_length(room.camera, size), 3),
        }
        for number, (name, room, _) in enumerate(rooms)
    ]
    found = [(number, box) for number, (_, _, boxes) in enumerate(rooms) for box in boxes]
    annotations = [
        {
            "id": place,
            "image_id": number,
            "category_id": FURNITURE.index(box.piece.kind) + 1,
            "bbox": box.edges,
            "area": box.area,
            "iscrowd": 0,
            "piece": box.piece.id,
        }
        for place, (number, box) in enumerate(found, start=1)
    ]
    categories = [{"id": number, "name": name} for number, name in enumerate(FURNITURE, start=1)]
    record = {
        "info": {"description": f"rooms rendered from Debian's {PACKAGE}", "licence": "see ATTRIBUTION.md"},
        "images": images,
        "annotations": annotations,
        "categories": categories,
    }
    with atomic_write(folder / ANNOTATIONS[split]) as file:
        file.write(json.dumps(record, indent=1).encode())


def write_attribution(folder: Path, used: Mapping[str, Iterable[Piece]]) -> None:
    """ATTRIBUTION.md: the authors and licences of the pieces in the rooms of each split."""
    lines = [
        "# Attribution",
        "",
        f"These images show models of Debian's package {PACKAGE} (Sweet Home 3D's furniture libraries, cleaned and",
        "converted by Emmanuel Puybaret / eTeks). The models were scaled, placed in rooms and rendered. Each is under",
        "the licence beside it; public domain ones are CC0. The images as a whole can be used under CC BY 3.0.",
        "",
        "| model | name | kind | creator | licence | split | rooms |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for split, pieces in used.items():
        counts = Counter(pieces)
        lines += [
            f"| {piece.id} | {piece.name} | {piece.kind} | {piece.creator} | {piece.licence} | {split} | {count} |"
            for piece, count in sorted(counts.items(), key=lambda item: item[0].id)
        ]
    with atomic_write(folder / "ATTRIBUTION.md") as file:
        file.write(("\n".join(lines) + "\n").encode())
