"""How long probes on patch features take: small pieces of their work are timed at the sizes of a data set."""

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
"""Images that are looked at for one with sound labels."""


def codes_of(data: OpenDenseDataset) -> Codes:
    """Codes as a probe would have them, the directions of normals aside, which do not matter here."""
    if data.dataset.kind == "normals":
        directions = np.random.default_rng(0).standard_normal((CODEWORDS, 3)).astype(np.float32)
        return NormalCodes(directions / np.linalg.norm(directions, axis=1, keepdims=True))
    return DepthCodes() if data.dataset.kind == "depth" else ClassCodes(len(data.dataset.classes))


def size_of(data: OpenDenseDataset, positions: int, channels: int) -> PatchSize:
    """What a job on a data set has to do."""
    counts = Counter(data.manifest.splits)
    return PatchSize(counts["train"], counts["test"], positions, channels, codes_of(data).count)


def job_seconds(job: PatchJob, data: OpenDenseDataset, size: PatchSize, grid: tuple[int, int], device: str) -> float:
    """Of fitting a probe and predicting the patches of test images, and of reading and scoring maps."""
    alike = replace(job, backbone="", domain="", train="", test="", labels="")
    return _probe_seconds(alike, size, device) + _map_seconds(data, size, grid, device)


@lru_cache(maxsize=64)
def _probe_seconds(job: PatchJob, size: PatchSize, device: str) -> float:
    place = torch.device(device)
    return sum(times * _timed(piece, place) for piece, times in job.samples(size, place))


@lru_cache(maxsize=64)
def _map_seconds(data: OpenDenseDataset, size: PatchSize, grid: tuple[int, int], device: str) -> float:
    """Of coding the maps of training images and scoring those of test images, from one of each."""
    codes, place = codes_of(data), torch.device(device)
    shares = torch.rand(grid[0] * grid[1], size.codes, device=place)
    for number in range(min(TRIED, len(data.manifest.splits))):
        try:
            labels = data.labels(number)
        except UserError:  # named when the labels are surveyed
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
    """Seconds, the better of two: the first time a device sets itself up."""
    found = []
    for _ in range(2):
        start = time.perf_counter()
        piece()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        found.append(time.perf_counter() - start)
    return min(found)
