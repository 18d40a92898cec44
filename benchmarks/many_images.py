"""Host memory of extraction by the number of images: a simulated index, complete planning, a decoded sample.

    .venv/bin/python benchmarks/many_images.py --counts 100000 1000000

Each count is measured in a separate process, on Linux: the peak memory of a phase minus the memory before it. The
index has a thousand classes; its entries are computed on demand, as those of our sources are.
"""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar, overload

import numpy as np
import torch

from machine import describe
from made_images import photograph
from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import whole
from unseen.data.core.source import Entry
from unseen.features.batches import Decoder, Piece, decoded, geometry
from unseen.features.plan import plan

CLASSES = 1000
BATCH = 128
PROCESS = Path("/proc/self")
T = TypeVar("T")


@dataclass(frozen=True)
class Index(Sequence[Entry]):
    """Entries of images that do not exist."""

    images: int

    def __len__(self) -> int:
        return self.images

    @overload
    def __getitem__(self, number: int) -> Entry: ...
    @overload
    def __getitem__(self, number: slice) -> list[Entry]: ...
    def __getitem__(self, number: int | slice) -> Entry | list[Entry]:
        if isinstance(number, slice):
            return [self[each] for each in range(*number.indices(self.images))]
        if not 0 <= number < self.images:
            raise IndexError(number)
        name = f"n{number * CLASSES // self.images:08d}"
        return Entry(f"{name}/{name}_{number}.JPEG", name)


@dataclass(frozen=True)
class Simulated:
    """A source of any number of images, all of which are the same photograph."""

    entries: Index
    file: bytes
    about: dict[str, str] = field(default_factory=dict)

    def read(self, number: int) -> bytes:
        return self.file


def memory(which: str) -> float:
    """Memory of this process in MB: `VmRSS` now, `VmHWM` the most since it was last forgotten."""
    lines = (PROCESS / "status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(which)) / 1000


def added(work: Callable[[], T]) -> tuple[T, float]:
    """The result of a function, and the peak memory in MB that it added."""
    (PROCESS / "clear_refs").write_text("5")  # forget the most memory so far
    before = memory("VmRSS")
    result = work()
    return result, memory("VmHWM") - before


def one(count: int, sample: int) -> None:
    """Plan all, decode an evenly spaced sample in this process, print what each took."""
    source = Simulated(Index(count), photograph(0))
    shape = geometry(Transform())
    decode(source.file, shape)  # so that what decoding has loaded is not counted
    made, planning = added(lambda: plan(source, whole(source, "train"), "train", 10_000))
    starts = np.linspace(0, count - BATCH, max(sample // BATCH, 1)).astype(int)
    pieces = [Piece(0, start, start + BATCH, (shape,)) for start in starts.tolist()]
    decoder = Decoder(source, made.numbers, pieces, fast=False, exif=False)
    batches = decoded(decoder, workers=0, device=torch.device("cpu"))
    images, decoding = added(lambda: sum(len(batch.pixels[shape]) for batch in batches))
    print(f"| {count:,} | {planning:.0f} | {images:,} | {decoding:.0f} | {memory('VmRSS'):.0f} |")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--sample", type=int, default=1024, help="number of decoded images")
    parser.add_argument("--one", action="store_true", help="measure the first count in this process")
    options = parser.parse_args(arguments)
    if options.one:
        one(options.counts[0], options.sample)
        return
    print(describe(torch.device("cpu")))
    print("\n| images | planning adds, MB | decoded | decoding adds, MB | in all, MB |")
    print(f"| ---: {'| ---: ' * 4}|", flush=True)
    for count in options.counts:
        command = [sys.executable, __file__, "--one", "--counts", str(count), "--sample", str(options.sample)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
