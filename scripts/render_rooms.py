"""Render rooms with furniture into the data sets `rooms-classes`, `rooms-boxes`, `rooms-normals` and `rooms-depth`.

    pip install embreex
    python scripts/render_rooms.py DATA --furniture FOLDER [--train 300] [--test 80] [--size 224] [--workers 2]

The models are those of Debian's package `sweethome3d-furniture` (120 MB), which is downloaded into FOLDER and unpacked
there the first time, with apt-get and dpkg-deb. DATA/rooms is written; it must not be there yet. The same versions of
the models and of this script give the same rooms again, whatever the number of processes.
"""

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rooms.catalogue import Piece, fetch, read_catalogue, split_pieces
from rooms.layout import Room, furnish
from rooms.render import render
from rooms.write import Box, boxes_of, write_attribution, write_boxes, write_view
from unseen.errors import UserError

LEAST_BOXES = 3
"""Pieces that an image shows at least."""
ATTEMPTS = 100
"""Seeds for each room, of which the first that shows enough pieces is taken."""
SEEDS = {"train": 0, "test": 1_000_000_000}


def main() -> None:
    """Fetch the models and render the rooms of both splits."""
    parser = argparse.ArgumentParser(description="Render rooms with furniture into a data set with boxes and maps.")
    parser.add_argument("data", type=Path, help="folder of all data sets; its folder rooms is written")
    parser.add_argument("--furniture", type=Path, required=True, help="folder for Debian's furniture models")
    parser.add_argument("--train", type=int, default=300, help="training rooms")
    parser.add_argument("--test", type=int, default=80, help="test rooms")
    parser.add_argument("--size", type=int, default=224, help="width and height of the images in pixels")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)), help="processes")
    args = parser.parse_args()
    folder = args.data / "rooms"
    try:
        if folder.exists():
            raise UserError(f"{folder} is there already; remove it, or name another folder")
        fetch(args.furniture)
        parts = split_pieces(read_catalogue(args.furniture))
        wanted = {"train": args.train, "test": args.test}
        used = {
            split: render_split(folder, split, number, parts[split], args.size, args.workers)
            for split, number in wanted.items()
        }
        write_attribution(folder, used)
    except UserError as error:
        sys.exit(f"render_rooms: {error}")


def render_split(
    folder: Path, split: str, number: int, pieces: Sequence[Piece], size: int, workers: int
) -> list[Piece]:
    """Render the rooms of a split and write them; the pieces that are visible in them, once for each room."""
    names = [f"{split}/{room:04d}.png" for room in range(number)]
    work = partial(render_room, folder, split, pieces, size)
    rooms, started = list[tuple[str, Room, Sequence[Box]]](), time.monotonic()
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        for name, (room, boxes) in zip(names, pool.imap(work, range(number)), strict=True):
            rooms.append((name, room, boxes))
            if len(rooms) % 20 == 0 or len(rooms) == number:
                took = time.monotonic() - started
                print(f"{split}: {len(rooms)} of {number} rooms in {took:.0f} s", flush=True)
    write_boxes(folder, split, size, rooms)
    return [piece for _, room, _ in rooms for piece in {placed.piece for placed in room.placed}]


def render_room(folder: Path, split: str, pieces: Sequence[Piece], size: int, number: int) -> tuple[Room, list[Box]]:
    """Render one room and write its image and maps; the first of some seeds that shows enough pieces."""
    for attempt in range(ATTEMPTS):
        room = furnish(SEEDS[split] + number * ATTEMPTS + attempt, pieces)
        if len(room.placed) < LEAST_BOXES:
            continue
        view = render(room, size)
        boxes = boxes_of(room, view.things)
        if len(boxes) >= LEAST_BOXES:
            write_view(folder, f"{split}/{number:04d}.png", view)
            return room, boxes
    raise UserError(f"no room with {LEAST_BOXES} visible pieces in {ATTEMPTS} attempts")


if __name__ == "__main__":
    main()
