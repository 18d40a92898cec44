"""Training batches of dense tasks: every random choice is a function of the seed and the step number."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.dense.labels import Labels, Objects
from unseen.data.core.dense.turned import MIRRORED, turned_labels
from unseen.data.core.open_dataset import OpenDataset
from unseen.probes.dense.protocols import DenseProtocol
from unseen.probes.dense.scaling import (
    detector_image,
    padded_batch,
    padded_codes,
    scaled_codes,
    scaled_image,
    scaled_size,
)
from unseen.probes.finetuning.order import epoch_order
from unseen.probes.patches.codes import UNLABELLED, Codes

T = TypeVar("T")
AHEAD = 4
"""Number of batches prepared while the network works on earlier ones."""


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """The training images and their transformations.

    Attributes:
        numbers: indices of the images in the data set, without those with damaged labels.
    """

    opened: OpenDataset
    numbers: Sequence[int]
    transform: Transform
    protocol: DenseProtocol
    seed: int = 0

    def drawn(self, step: int) -> list[int]:
        """The images of a step: an endless sequence of shuffled epochs, cut into batches."""
        batch = self.protocol.batch
        places = epoch_order(len(self.numbers), step * batch, (step + 1) * batch, self.seed)
        return [self.numbers[place] for place in places]

    def labelled(self, number: int, *, mirrored: bool) -> tuple[NDArray[np.uint8], Labels]:
        """(h, w, 3) pixels of an image and its labels, mirrored or not."""
        pixels, labels = self.opened.pixels(number), self.opened.labels(number)
        if not mirrored:
            return pixels, labels
        size = (pixels.shape[1], pixels.shape[0])
        return np.ascontiguousarray(pixels[:, ::-1]), turned_labels(labels, self.opened.dataset.kind, MIRRORED, size)


def map_batches(images: TrainingImages, codes: Codes, start: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Normalised images (b, 3, h, w) and codes (b, h/stride, w/stride) of every step from `start` on."""

    def made(step: int) -> tuple[Tensor, Tensor]:
        rng = np.random.default_rng((images.seed, step))
        pictures, labels = list[Tensor](), list[NDArray[np.int16]]()
        for number in images.drawn(step):
            side = int(rng.choice(images.protocol.sides))
            pixels, values = images.labelled(number, mirrored=images.protocol.flip and rng.random() < 0.5)
            assert not isinstance(values, Objects)
            size = scaled_size((pixels.shape[0], pixels.shape[1]), side, images.protocol.longest)
            pictures.append(scaled_image(pixels, size, images.transform))
            labels.append(scaled_codes(codes.encode(values), size))
        batch = padded_batch(pictures)
        size = (batch.shape[2], batch.shape[3])
        return batch, padded_codes(labels, size, images.protocol.stride, UNLABELLED)

    return ahead(made, range(start, images.protocol.steps))


def box_batches(
    images: TrainingImages, targets: Callable[[Objects], dict[str, Tensor]], start: int
) -> Iterator[tuple[list[Tensor], list[dict[str, Tensor]]]]:
    """Images (3, h, w) of `detector_image` and targets of every step from `start` on; the detector resizes them."""

    def made(step: int) -> tuple[list[Tensor], list[dict[str, Tensor]]]:
        rng = np.random.default_rng((images.seed, step))
        pictures, wanted = list[Tensor](), list[dict[str, Tensor]]()
        for number in images.drawn(step):
            pixels, objects = images.labelled(number, mirrored=images.protocol.flip and rng.random() < 0.5)
            assert isinstance(objects, Objects)
            pictures.append(detector_image(pixels, images.transform))
            wanted.append(targets(objects))
        return pictures, wanted

    return ahead(made, range(start, images.protocol.steps))


def ahead(made: Callable[[int], T], steps: Sequence[int], threads: int = AHEAD) -> Iterator[T]:
    """The results of a function for each step, in order, with a few computed ahead in threads."""
    waiting: deque[Future[Any]] = deque()
    coming = iter(steps)
    with ThreadPoolExecutor(threads) as pool:
        for step in coming:
            waiting.append(pool.submit(made, step))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
