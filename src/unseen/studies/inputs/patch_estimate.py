"""Estimates of probes on patch features: their time, from small pieces of their work, and their memory."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch

from unseen.data.core.dense.labels import Objects
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.features.device_memory import free_bytes
from unseen.files import byte_size
from unseen.probes.patches.class_probe import ClassPatchProbe
from unseen.probes.patches.codes import CODEWORDS, ClassCodes, Codes, DepthCodes, NormalCodes, patch_histograms
from unseen.probes.patches.patch_probe import PatchProbe, PatchSize
from unseen.probes.patches.scoring import MapScorer, image_score, map_prediction
from unseen.runs.notices import Notice, notice

Timed = PatchProbe | ClassPatchProbe
LABEL_BYTES = 20
"""Main memory for the labels of a patch, with two classes in it."""
TRIED = 20
"""Number of images that are tried to find one with valid labels."""


def codes_of(data: OpenDataset) -> Codes:
    """The codes of a probe, except for the directions of normals, which do not affect the time."""
    if data.dataset.kind == "normals":
        directions = np.random.default_rng(0).standard_normal((CODEWORDS, 3)).astype(np.float32)
        return NormalCodes(directions / np.linalg.norm(directions, axis=1, keepdims=True))
    return DepthCodes() if data.dataset.kind == "depth" else ClassCodes(data.dataset.classes)


def size_of(data: OpenDataset, positions: int, queries: int, channels: int) -> PatchSize:
    """The size of a job on a data set, from the numbers of patches of a training and of a test image."""
    counts = Counter(data.manifest.splits)
    return PatchSize(counts["train"], positions, counts["test"], queries, channels, codes_of(data).count)


@dataclass(frozen=True)
class PeakMemory:
    """The memory of the jobs on a data set: the largest number of bytes, of a GPU if there is one, and notices."""

    bytes: int
    notices: Sequence[Notice]


def peak_memory(probes: Sequence[Timed], name: str, size: PatchSize, device: str, *, labels: bool = True) -> PeakMemory:
    """The memory of probes that run one after the other; an error if a GPU has too little of it.

    Args:
        name: of the data set.
        size: of all jobs of these probes.
        labels: whether patches have labels, so that some of them can be drawn if not all fit.
    """
    if not probes:
        return PeakMemory(0, ())
    if device != "cuda":
        least = max(probe.demand(size, 4).read for probe in probes) + (LABEL_BYTES * size.patches if labels else 0)
        return PeakMemory(least, ())
    free = free_bytes(torch.device(device))
    demands = [probe.demand(size, 2) for probe in probes]
    least = max(min(each.kept, each.read) for each in demands)
    if least > free:
        raise UserError(
            f"{name}: its patch probes need {byte_size(least)} of GPU memory, and {byte_size(max(free, 0))} are free; "
            "end other programs that use this GPU, or hide it (CUDA_VISIBLE_DEVICES=) to use the CPU"
        )
    return PeakMemory(
        max(each.peak(free) for each in demands), [*_read_again(probes, name, size, free)] if labels else ()
    )


def _read_again(probes: Sequence[Timed], name: str, size: PatchSize, free: int) -> Iterator[Notice]:
    """A notice if features do not fit, with a number of patches that would."""
    if all(probe.demand(size, 2).fits(free) for probe in probes):
        return
    fitting = [
        number
        for number in range(1, size.positions)
        if all(probe.demand(replace(size, positions=number), 2).fits(free) for probe in probes)
    ]
    if fitting:
        kept = byte_size(2 * size.patches * size.channels)
        yield notice("features-read-again", name, title=name, size=kept, free=byte_size(free), patches=fitting[-1])


def probe_seconds(probe: PatchProbe, data: OpenDataset, size: PatchSize, grid: tuple[int, int], device: str) -> float:
    """Seconds to fit a probe, predict the patches of test images, and read and score maps."""
    return fit_seconds(probe, size, device) + _map_seconds(data, size, grid, device)


@lru_cache(maxsize=64)
def fit_seconds(probe: Timed, size: PatchSize, device: str) -> float:
    """Seconds to fit a probe, from timing small pieces of its work."""
    place = torch.device(device)
    return sum(times * _timed(piece, place) for piece, times in probe.samples_of_work(size, place))


@lru_cache(maxsize=64)
def _map_seconds(data: OpenDataset, size: PatchSize, grid: tuple[int, int], device: str) -> float:
    """Seconds to encode the maps of training images and score those of test images, from timing one of each."""
    codes, place = codes_of(data), torch.device(device)
    shares = torch.rand(grid[0] * grid[1], size.codes, device=place)
    for number in range(min(TRIED, len(data.manifest.splits))):
        try:
            labels = data.labels(number)
        except UserError:  # reported when the labels are checked
            continue
        assert not isinstance(labels, Objects)

        def coded(number: int = number) -> None:
            values = data.labels(number)
            assert not isinstance(values, Objects)
            patch_histograms(codes.encode(values), grid, codes.count)

        def scored(number: int = number) -> None:
            values = data.labels(number)
            assert not isinstance(values, Objects)
            predicted = map_prediction(shares, grid, (values.shape[0], values.shape[1]), codes)
            MapScorer(codes).add_map(predicted, values)
            image_score(codes, predicted, values)

        return size.images * _timed(coded, place) + size.tested * _timed(scored, place)
    return 0.0


def _timed(piece: Callable[[], object], device: torch.device) -> float:
    """Seconds of a function, the better of two runs, since the first includes the device's setup."""
    found = []
    for _ in range(2):
        start = time.perf_counter()
        piece()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        found.append(time.perf_counter() - start)
    return min(found)
