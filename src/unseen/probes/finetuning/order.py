"""The order in which training images are drawn."""

import numpy as np
from numpy.typing import NDArray


def epoch_order(images: int, start: int, stop: int, seed: int) -> NDArray[np.int64]:
    """The images at positions `start` to `stop` of an endless sequence of shuffled epochs."""
    first, last = start // images, max(stop - 1, start) // images
    epochs = [np.random.default_rng((seed, epoch)).permutation(images) for epoch in range(first, last + 1)]
    order: NDArray[np.int64] = np.concatenate(epochs)[start - first * images : stop - first * images]
    return order
