"""Extraction from a great many images: planned quickly, in little memory."""

import io
import os
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_extract import means

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.manifest import Manifest, whole
from unseen.data.core.source import Entry
from unseen.features.extract import extract
from unseen.features.plan import plan
from unseen.features.settings import Settings


class Simulated(Sequence[Entry]):
    """An index of images that are not there."""

    def __init__(self, count: int) -> None:
        self.count, self.about = count, dict[str, str]()

    @property
    def entries(self) -> Sequence[Entry]:
        return self

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, number: Any) -> Any:
        if number >= self.count:
            raise IndexError
        return Entry(f"n{number % 1000:08d}/{number}", f"n{number % 1000:08d}")

    def read(self, number: int) -> bytes:
        raise AssertionError(number)


def test_planning_is_quick() -> None:
    """A million images in 20 seconds; here there is a fifth of them."""
    source, manifest = Simulated(200_000), Manifest(Simulated(100_000), ["train", "test"] * 50_000)
    started = time.process_time()
    found = plan(source, manifest, "train", 2_000)
    assert time.process_time() - started < 4
    assert found.shards == 25
    assert np.array_equal(found.numbers, np.arange(0, 100_000, 2))
    assert np.array_equal(found.labels, found.numbers % 1000)


@pytest.mark.parametrize("same", [True, False], ids=["as the source", "drawn"])
def test_planning_takes_tens_of_bytes_an_image(same: bool) -> None:
    peaks = []
    for count in (10_000, 30_000):
        source = Simulated(count)
        manifest = whole(source if same else Simulated(count), "train")
        tracemalloc.start()
        try:
            plan(source, manifest, "train", 10_000)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] - peaks[0] < 60 * 20_000  # two or three columns of 8 bytes, and the room they grow into


class Drawn(Simulated):
    """The same, with one picture for all."""

    def read(self, number: int) -> bytes:
        from PIL import Image

        file = io.BytesIO()
        Image.new("RGB", (8, 8), (number % 256, 0, 0)).save(file, "BMP")
        return file.getvalue()


def held(which: str) -> int:
    """Bytes that this process holds (VmRSS), or the most that it held (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(which))


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="only Linux can forget its largest memory")
@pytest.mark.parametrize("fast", [False, True])
def test_memory_does_not_grow_with_the_number_of_images(tmp_path: Path, fast: bool) -> None:
    transform = Transform(size=96, resize=96)
    peaks = []
    for count in (200, 200, 2_200):  # the first warms up
        source = Drawn(count)
        settings = Settings(batch=50, workers=0, shard_rows=100, fast=fast)
        Path("/proc/self/clear_refs").write_text("5")
        before = held("VmRSS")
        extract(
            source, whole(source, "train"), "train", [means(transform=transform)], tmp_path / str(len(peaks)), settings
        )
        peaks.append(held("VmHWM") - before)
    assert peaks[2] - peaks[1] < 10_000_000  # the pixels of 2,000 images would be 55 MB
