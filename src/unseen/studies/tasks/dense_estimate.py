"""Time estimates of probes on patch features, from timing small pieces of their work at the sizes of a data set."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np
import torch

from unseen.errors import UserError
from unseen.images.dense.dense_dataset import OpenDenseDataset
from unseen.images.dense.labels import Objects
from unseen.probes.patches.codes import CODEWORDS, ClassCodes, Codes, DepthCodes, NormalCodes, patch_histograms
from unseen.probes.patches.job import PatchJob, PatchSize
from unseen.probes.patches.scoring import MapScorer, image_score, upsampled

TRIED = 20
"""Number of images that are tried to find one with valid labels."""


def codes_of(data: OpenDenseDataset) -> Codes:
    """The codes of a probe, except for the directions of normals, which do not affect the time."""
    if data.dataset.kind == "normals":
        directions = np.random.default_rng(0).standard_normal((CODEWORDS, 3)).astype(np.float32)
        return NormalCodes(directions / np.linalg.norm(directions, axis=1, keepdims=True))
    return DepthCodes() if data.dataset.kind == "depth" else ClassCodes(len(data.dataset.classes))


def size_of(data: OpenDenseDataset, positions: int, channels: int) -> PatchSize:
    """The size of a job on a data set."""
    counts = Counter(data.manifest.splits)
    return PatchSize(counts["train"], counts["test"], positions, channels, codes_of(data).count)


def job_seconds(job: PatchJob, data: OpenDenseDataset, size: PatchSize, grid: tuple[int, int], device: str) -> float:
    """Seconds to fit a probe, predict the patches of test images, and read and score maps."""
    alike = replace(job, backbone="", domain="", train="", test="", labels="")
    return _probe_seconds(alike, size, device) + _map_seconds(data, size, grid, device)


@lru_cache(maxsize=64)
def _probe_seconds(job: PatchJob, size: PatchSize, device: str) -> float:
    place = torch.device(device)
    return sum(times * _timed(piece, place) for piece, times in job.samples(size, place))


@lru_cache(maxsize=64)
def _map_seconds(data: OpenDenseDataset, size: PatchSize, grid: tuple[int, int], device: str) -> float:
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
            whole = upsampled(shares, grid, (values.shape[0], values.shape[1]))
            MapScorer(codes).add_map(whole, values)
            image_score(codes, whole, values)

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
