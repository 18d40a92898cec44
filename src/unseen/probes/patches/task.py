"""A dense task for probes on patch features: its training and test data, and its results."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.errors import UserError
from unseen.features.device_memory import free_bytes
from unseen.features.patches import PatchFeatures
from unseen.images.decode import Damaged
from unseen.images.dense.dense_dataset import OpenDenseDataset
from unseen.images.dense.labels import Map, Objects
from unseen.probes.patches.codes import ClassCodes, Codes, DepthCodes, normal_codes, patch_histograms
from unseen.probes.patches.scoring import MapScorer, best_and_worst, image_score, upsampled

CODED_NORMALS = 200_000
"""Maximum number of true normals of training pixels, evenly spread, to which directions are fitted."""


@dataclass(frozen=True, eq=False)
class PatchTask:
    """Features and labels of a data set.

    Attributes:
        damaged: images with unusable labels, which are left out; filled as labels are read.
    """

    opened: OpenDenseDataset
    train: PatchFeatures
    test: PatchFeatures
    device: torch.device
    damaged: list[Damaged] = field(default_factory=list)

    def labelled(self, features: PatchFeatures) -> Iterator[tuple[int, Map]]:
        """(row of the features, map) of every image with valid labels."""
        numbers = {entry.id: number for number, entry in enumerate(self.opened.source.entries)}
        for row, name in enumerate(features.ids):
            try:
                values = self.opened.labels(numbers[name])
            except UserError as error:
                self.damaged.append(Damaged(name, str(error)))
                continue
            assert not isinstance(values, Objects)
            yield row, values

    def codes(self) -> Codes:
        """The coding of maps of this kind; directions of normals come from the training images."""
        kind, classes = self.opened.dataset.kind, self.opened.dataset.classes
        if kind == "classes":
            return ClassCodes(len(classes))
        if kind == "depth":
            return DepthCodes()
        every = max(1, len(self.train) // 50)
        known = [values.reshape(-1, 3) for row, values in self.labelled(self.train) if row % every == 0]
        normals = np.concatenate([each[each.any(axis=1)] for each in known])
        thinned = normals[:: max(1, len(normals) // CODED_NORMALS)]
        return normal_codes(torch.from_numpy(np.ascontiguousarray(thinned)))

    def training(self, codes: Codes) -> tuple[Tensor, Tensor, Tensor]:
        """(n, d) features of training patches, (n, c) pixels of codes in them, and (n,) the image of each."""
        positions, channels = self.train.positions, self.train.channels
        dtype = torch.float16 if self.device.type == "cuda" else torch.float32
        need = len(self.train) * positions * (channels + codes.count) * dtype.itemsize
        if need > free_bytes(self.device):
            raise UserError(
                f"{len(self.train) * positions:,} patches of {channels} dimensions need {need / 2**30:.0f} GiB of "
                "device memory; extract a part of the patches (--patches 100), or use a device with more"
            )
        kept, histograms = list[int](), list[NDArray[np.float32]]()
        X = torch.empty(len(self.train) * positions, channels, dtype=dtype, device=self.device)
        for row, values in self.labelled(self.train):
            counts = patch_histograms(codes.encode(values), self.train.grid, codes.count)
            histograms.append(counts[list(self.train.drawn)] if self.train.drawn else counts)
            place = len(kept) * positions
            X[place : place + positions] = torch.from_numpy(self.train.image(row)).to(self.device, dtype)
            kept.append(row)
        if not kept:
            raise UserError(f"{self.opened.dataset.name}: no training image has labels that can be used")
        Y = torch.from_numpy(np.concatenate(histograms)).to(self.device, dtype)
        return X[: len(Y)], Y, torch.tensor(kept, device=self.device).repeat_interleave(positions)

    def scored(self, codes: Codes, predict: Callable[[Tensor], Tensor]) -> "Scored":
        """Predictions for all test images.

        Args:
            predict: (positions, d) features → (positions, count) probabilities.
        """
        if self.test.drawn:
            raise UserError(f"{self.test.place}: test images need the features of all their patches")
        scorer, singles = MapScorer(codes), list[tuple[float, int]]()
        for row, labels in self.labelled(self.test):
            shares = predict(torch.from_numpy(self.test.image(row)).to(self.device))
            values = upsampled(shares, self.test.grid, (labels.shape[0], labels.shape[1]))
            scorer.add_map(values, labels)
            own = image_score(codes, values, labels)
            if own is not None:
                singles.append((own, row))
        return Scored(scorer.scores(), scorer.class_iou, best_and_worst(singles))


@dataclass(frozen=True)
class Scored:
    """Scores of a data set.

    Attributes:
        by_class: IoU of each class; empty if there are no classes.
        shown: rows of the test features whose predictions are kept: of the best and the worst images.
    """

    values: tuple[tuple[str, float], ...]
    by_class: tuple[float, ...]
    shown: Sequence[int]

    def kept(self) -> dict[str, Any]:
        """The values of a result."""
        return {**dict(self.values), "by_class": [None if isnan(each) else each for each in self.by_class]}
