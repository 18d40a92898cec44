"""Training batches of dense tasks: every random choice is a function of the seed and the step number."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from unseen.images.decode import whole_pixels
from unseen.images.dense.dense_dataset import OpenDenseDataset
from unseen.images.dense.labels import Objects
from unseen.images.transform import Transform
from unseen.probes.dense.protocols import DenseProtocol
from unseen.probes.dense.scaling import padded_batch, padded_codes, scaled_codes, scaled_image, scaled_size
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

    opened: OpenDenseDataset
    numbers: Sequence[int]
    transform: Transform
    protocol: DenseProtocol
    seed: int = 0

    def drawn(self, step: int) -> list[int]:
        """The images of a step: an endless sequence of shuffled epochs, cut into batches."""
        batch = self.protocol.batch
        places = epoch_order(len(self.numbers), step * batch, (step + 1) * batch, self.seed)
        return [self.numbers[place] for place in places]

    def pixels(self, number: int) -> NDArray[np.uint8]:
        source = self.opened.source
        return whole_pixels(source.read(number), source.entries[number].id)


def map_batches(images: TrainingImages, codes: Codes, start: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Normalised images (b, 3, h, w) and codes (b, h/stride, w/stride) of every step from `start` on."""

    def made(step: int) -> tuple[Tensor, Tensor]:
        rng = np.random.default_rng((images.seed, step))
        pictures, labels = list[Tensor](), list[NDArray[np.int16]]()
        for number in images.drawn(step):
            pixels, values = images.pixels(number), images.opened.labels(number)
            assert not isinstance(values, Objects)
            side = int(rng.choice(images.protocol.sides))
            size = scaled_size((pixels.shape[0], pixels.shape[1]), side, images.protocol.longest)
            picture, coded = scaled_image(pixels, size, images.transform), scaled_codes(codes.encode(values), size)
            if images.protocol.flip and rng.random() < 0.5:
                picture, coded = picture.flip(2), coded[:, ::-1]
            pictures.append(picture)
            labels.append(coded)
        batch = padded_batch(pictures)
        size = (batch.shape[2], batch.shape[3])
        return batch, padded_codes(labels, size, images.protocol.stride, UNLABELLED)

    return ahead(made, range(start, images.protocol.steps))


def box_batches(
    images: TrainingImages, targets: Callable[[Objects], dict[str, Tensor]], start: int
) -> Iterator[tuple[list[Tensor], list[dict[str, Tensor]]]]:
    """Images (3, h, w) in 0 … 1 and targets of every step from `start` on; the detector resizes them itself."""

    def made(step: int) -> tuple[list[Tensor], list[dict[str, Tensor]]]:
        rng = np.random.default_rng((images.seed, step))
        pictures, wanted = list[Tensor](), list[dict[str, Tensor]]()
        for number in images.drawn(step):
            pixels, objects = images.pixels(number), images.opened.labels(number)
            assert isinstance(objects, Objects)
            if images.protocol.flip and rng.random() < 0.5:
                pixels, objects = pixels[:, ::-1], flipped(objects, pixels.shape[1])
            pictures.append(torch.from_numpy(np.ascontiguousarray(pixels)).permute(2, 0, 1).float() / 255)
            wanted.append(targets(objects))
        return pictures, wanted

    return ahead(made, range(start, images.protocol.steps))


def flipped(objects: Objects, width: int) -> Objects:
    """The objects of a horizontally mirrored image."""
    boxes = objects.boxes.copy()
    boxes[:, [0, 2]] = width - objects.boxes[:, [2, 0]]
    return Objects(boxes, objects.classes, objects.ignored, objects.crowd)


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
