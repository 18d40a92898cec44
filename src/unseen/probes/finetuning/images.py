"""The images of a data set for fine-tuning: decoded once, drawn in a new order every epoch, augmented."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.multi_label import shown_classes, targets
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.rows import SPLIT_WORDS
from unseen.errors import UserError
from unseen.features.pixels import Pixels, decode_pixels
from unseen.probes.finetuning.order import epoch_order
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.many_shot import Labels
from unseen.probes.units import ScoredImages

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MARGIN = 320 / 224
"""Side of the squares that random crops are taken from, relative to the backbone's input.

The mean crop has 0.54 of the area, 0.73 of each side, so with this factor it has about as many pixels as the input.
"""
TESTED = 256
"""Images tested at once."""


@dataclass(frozen=True, eq=False)
class TaskImages:
    """A data set's images: training, then validation, then test images.

    Attributes:
        transform: the backbone's.
        tested: all of them, preprocessed as in tests.
        whole: training and validation images squashed to larger squares, for random crops.
        labels: labels of all of them, in order.
        places: split → indices of its images.
    """

    transform: Transform
    tested: Pixels
    whole: Pixels
    labels: Labels
    places: Mapping[str, NDArray[np.int64]]
    classes: int

    def labels_of(self, split: str) -> Labels:
        """The labels of a split's images, in order."""
        here = self.places[split]
        ignored = self.labels.ignored
        return Labels(self.labels.y[here], None if ignored is None else ignored[here])

    def training(
        self, splits: Sequence[str], start: int, protocol: FinetuneProtocol, seed: int
    ) -> "Iterator[tuple[Tensor, Tensor]]":
        """Normalised images and labels of every step from `start` on."""
        import torch

        from unseen.features.forward import normalised
        from unseen.probes.finetuning.augment import augmented

        pixels = self.whole if protocol.augment == "crop+flip" else self.tested
        numbers = np.concatenate([self.places[split] for split in splits])
        drawn = epoch_order(len(numbers), start * protocol.batch, protocol.steps * protocol.batch, seed)
        for step in range(start, protocol.steps):
            place = (step - start) * protocol.batch
            rows = numbers[drawn[place : place + protocol.batch]]
            generator = torch.Generator().manual_seed((seed << 32) + step)
            proportions = torch.from_numpy(pixels.proportions[rows])
            chosen = augmented(pixels.rows(rows), proportions, self.transform.size, protocol.augment, generator)
            # Labels that mark each class as shown or not are class indices of a softmax over two.
            yield normalised(chosen, self.transform), self.labels.y[rows].long()

    def scored(self, split: str) -> "Iterator[Tensor]":
        """Normalised images of a split in order."""
        from unseen.features.forward import normalised

        numbers = self.places[split]
        for start in range(0, len(numbers), TESTED):
            yield normalised(self.tested.rows(numbers[start : start + TESTED]), self.transform)


def whole_transform(transform: Transform) -> Transform:
    """The squares that random crops are taken from: the whole image, regardless of its aspect ratio."""
    side = round(transform.size * MARGIN)
    return replace(transform, size=side, resize=side, squash=True)


def load_task_images(
    opened: OpenDataset,
    transform: Transform,
    folder: Path,
    *,
    device: "torch.device",
    workers: int = 0,
    watch: Callable[[int, int], None] = lambda _, __: None,
) -> TaskImages:
    """Decode the images that are not yet below `folder`; arguments as in `decode_pixels`."""
    labels = task_labels(opened)
    parts = [np.array(opened.manifest.numbers(opened.source, split), dtype=np.int64) for split in SPLIT_WORDS]
    stops = np.cumsum([len(part) for part in parts])
    places = {
        split: np.arange(stop - len(part), stop, dtype=np.int64)
        for split, part, stop in zip(SPLIT_WORDS, parts, stops.tolist(), strict=True)
    }

    wanted = [(transform, int(stops[2])), (whole_transform(transform), int(stops[1]))]
    tested, whole = decode_pixels(
        opened.source, np.concatenate(parts), wanted, folder, device=device, workers=workers, watch=watch
    )
    return TaskImages(transform, tested.on_device(), whole.on_device(), labels, places, len(opened.classes))


def task_labels(opened: OpenDataset) -> Labels:
    """Labels of training, validation and test images, in this order; every class must occur in all three, unless the
    data set has gaps.
    """
    import torch

    name, manifest, classes = opened.dataset.name, opened.manifest, opened.classes
    if len(classes) < 2:
        raise UserError(f"{name}: all images are of one class ({', '.join(classes)}); at least two are needed")
    words: list[str] = []
    for split, word in SPLIT_WORDS.items():
        here = [entry.label for entry, part in zip(manifest.entries, manifest.splits, strict=True) if part == split]
        if not here:
            raise UserError(f"{name}: no {word} images; fine-tuning needs training, validation and test images")
        if not opened.dataset.gaps:
            _refuse_missing_class(here, classes, f"{name}: no {word} image of", opened.dataset.multi_label)
        words += here
    if opened.dataset.multi_label:
        shown = targets(words, classes)
        return Labels(torch.from_numpy(shown.positives), torch.from_numpy(shown.ignored))
    return Labels(torch.from_numpy(np.searchsorted(classes, words).astype(np.int64)))


def tested(opened: OpenDataset) -> ScoredImages:
    """The test images in order."""
    entries = [opened.source.entries[number] for number in opened.manifest.numbers(opened.source, "test")]
    names = [entry.id for entry in entries]
    if opened.dataset.multi_label:
        return ScoredImages.unlabelled(opened.classes, len(names), names)
    y = np.searchsorted(opened.classes, [entry.label for entry in entries])
    return ScoredImages.labelled(opened.classes, y, names)


def _refuse_missing_class(labels: Sequence[str], classes: Sequence[str], sentence: str, multi_label: bool) -> None:
    shown = {name for label in set(labels) for name in (shown_classes(label) if multi_label else [label])}
    absent = next((name for name in classes if name not in shown), None)
    if absent is not None:
        raise UserError(f"{sentence} {absent}; every class needs one")
