"""A dense task for probes on patch features: its training and test data, and its results."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.data.core.decoding.decode import Damaged
from unseen.data.core.dense.labels import Map, Objects
from unseen.data.core.dense.pictures import KeptPicture, label_picture
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.features.device_memory import free_bytes
from unseen.features.patches import PatchFeatures
from unseen.probes.patches.codes import ClassCodes, Codes, DepthCodes, normal_codes, patch_histograms
from unseen.probes.patches.labels import PatchLabels
from unseen.probes.patches.patch_probe import Demand, PatchSize, Predictor
from unseen.probes.patches.rows import PatchRows
from unseen.probes.patches.scoring import MapScorer, best_and_worst, image_score, map_prediction, picture_name
from unseen.probes.patches.training import TrainingPatches
from unseen.probes.units import ScoredImages, Units

CODED_NORMALS = 200_000
"""Maximum number of true normals of training pixels, evenly spread, to which directions are fitted."""


@dataclass(frozen=True, eq=False)
class PatchTask:
    """Features and labels of a data set.

    Attributes:
        damaged: images with unusable labels, which are left out; filled as labels are read.
        budget: bytes of the device that may be used; by default those that are free.
        half: whether 16-bit features stay in 16 bits on the device; by default on a GPU.
    """

    opened: OpenDataset
    train: PatchFeatures
    test: PatchFeatures
    device: torch.device
    damaged: list[Damaged] = field(default_factory=list)
    budget: int | None = None
    half: bool | None = None

    def pictures(self, predictor: Predictor, folder: Path) -> Iterator[KeptPicture]:
        """Write image, ground truth and prediction of the best and the worst test images, side by side."""
        folder.mkdir(parents=True, exist_ok=True)
        for place, row in enumerate(predictor.shown):
            number = self._numbers[self.test.ids[row]]
            labels = self.opened.labels(number)
            assert not isinstance(labels, Objects)
            shares = predictor.predict(torch.from_numpy(self.test.image(row)).to(self.device))
            size = (labels.shape[0], labels.shape[1])
            predicted = map_prediction(shares, self.test.grid, size, predictor.codes)
            path = folder / picture_name(place, len(predictor.shown))
            score = image_score(predictor.codes, predicted, labels) or 0.0
            drawn: Map = predicted.cpu().numpy()
            yield label_picture(self.opened.dataset.kind, self.opened.pixels(number), labels, drawn, path, score)

    def labelled(self, features: PatchFeatures, rows: Iterable[int]) -> Iterator[tuple[int, Map]]:
        """(row of the features, map) of every image with valid labels."""
        for row in rows:
            name = features.ids[row]
            try:
                values = self.opened.labels(self._numbers[name])
            except UserError as error:
                self.damaged.append(Damaged(name, str(error)))
                continue
            assert not isinstance(values, Objects)
            yield row, values

    @cached_property
    def _numbers(self) -> dict[str, int]:
        """Index of each image in the data set."""
        return {entry.id: number for number, entry in enumerate(self.opened.source.entries)}

    @cached_property
    def codes(self) -> Codes:
        """The coding of maps of this kind; directions of normals come from the training images."""
        kind, classes = self.opened.dataset.kind, self.opened.classes
        if kind == "classes":
            return ClassCodes(len(classes))
        if kind == "depth":
            return DepthCodes()
        some = range(0, len(self.train), max(1, len(self.train) // 50))
        known = [values.reshape(-1, 3) for _, values in self.labelled(self.train, some)]
        normals = np.concatenate([np.empty((0, 3), np.float32), *(each[each.any(axis=1)] for each in known)])
        thinned = normals[:: max(1, len(normals) // CODED_NORMALS)]
        return normal_codes(torch.from_numpy(np.ascontiguousarray(thinned)))

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of features on the device: 16 bits on a GPU if they are stored so."""
        half = self.device.type == "cuda" if self.half is None else self.half
        return torch.float16 if half and self.train.X.dtype == np.float16 else torch.float32

    @property
    def size(self) -> PatchSize:
        """The amount of work of a probe."""
        train, test = self.train, self.test
        return PatchSize(len(train), train.positions, len(test), test.positions, train.channels, self.codes.count)

    def fits(self, demand: Demand) -> bool:
        """Whether the features of a probe can stay on the device, beside everything else that it needs there.

        A CPU always reads them from their files, whose memory the system manages.
        """
        free = free_bytes(self.device) if self.device.type == "cuda" else 0
        return demand.fits(free if self.budget is None else self.budget)

    @cached_property
    def training(self) -> TrainingPatches:
        """The patches of the training images; those of images without labels that can be used have no label."""
        kept = list[int]()
        labels = PatchLabels.of(self._histograms(kept), self.codes.count)
        if not kept:
            raise UserError(f"{self.opened.dataset.name}: no training image has labels that can be used")
        features = PatchRows.of(self.train, self.device, self.dtype)
        return TrainingPatches(features, labels, torch.tensor(kept), self.train.positions)

    def _histograms(self, kept: list[int]) -> Iterator[NDArray[np.float32]]:
        """(positions, codes) pixels of each image, of which those with labels are added to `kept`."""
        codes, drawn, following = self.codes, list(self.train.drawn), 0
        none = np.zeros((self.train.positions, codes.count), dtype=np.float32)
        for row, values in self.labelled(self.train, range(len(self.train))):
            yield from repeat(none, row - following)
            pixels = patch_histograms(codes.encode(values), self.train.grid, codes.count)
            yield pixels[drawn] if drawn else pixels
            if pixels.any():  # an image without a labelled pixel can neither train nor validate
                kept.append(row)
            following = row + 1
        yield from repeat(none, len(self.train) - following)

    def scored(self, predict: Callable[[Tensor], Tensor], at_once: int = 1) -> "Scored":
        """Predictions for all test images.

        Args:
            predict: (n, d) features → (n, count) probabilities.
            at_once: number of patches to predict together, rounded to whole images.
        """
        if self.test.drawn:
            raise UserError(f"{self.test.place}: test images need the features of all their patches")
        codes, singles, names = self.codes, list[tuple[float, int]](), list[str]()
        scorer = MapScorer(codes, keeps_units=True)
        positions, images = self.test.positions, max(1, at_once // self.test.positions)
        for start in range(0, len(self.test), images):
            rows = range(start, min(start + images, len(self.test)))
            shares = predict(torch.from_numpy(self.test.patches(rows)).to(self.device))
            if not bool(shares.isfinite().all()):
                raise UserError(f"{self.test.place}: the predictions of a probe on these features are not finite")
            for row, labels in self.labelled(self.test, rows):
                of_image = shares[(row - start) * positions : (row - start + 1) * positions]
                predicted = map_prediction(of_image, self.test.grid, (labels.shape[0], labels.shape[1]), codes)
                scorer.add_map(predicted, labels)
                names.append(self.test.ids[row])
                own = image_score(codes, predicted, labels)
                if own is not None:
                    singles.append((own, row))
        units = scorer.units(ScoredImages.unlabelled(self.opened.classes, len(names), names))
        return Scored(scorer.scores(), scorer.class_iou, best_and_worst(singles), units)


@dataclass(frozen=True)
class Scored:
    """Scores of a data set.

    Attributes:
        by_class: IoU of each class; empty if there are no classes.
        shown: rows of the test features whose predictions are kept: of the best and the worst images.
        units: what is kept of each image.
    """

    values: tuple[tuple[str, float], ...]
    by_class: tuple[float, ...]
    shown: Sequence[int]
    units: Units

    @property
    def details(self) -> dict[str, Any]:
        """Details of a fit."""
        return {"by_class": [None if isnan(each) else each for each in self.by_class]}
