"""The interface of every source of images."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Image = bytes | NDArray[np.uint8]
"""An encoded file, or pixels (h, w) or (h, w, 3) if the source provides them."""


@dataclass(frozen=True)
class Entry:
    """One image: its id, unique in its source and the same on every machine, and its class."""

    id: str
    label: str


class ImageSource(Protocol):
    """Images by index. Sources can be sent to other processes and read from several threads.

    Ids are paths below the source (`class/name` if there are classes), so the same images in folders and in tar files
    have the same entries in the same order.
    """

    @property
    def entries(self) -> Sequence[Entry]:
        """All images, in an order that does not depend on the machine."""
        ...

    @property
    def about(self) -> dict[str, str]:
        """The provenance of the source: its kind, and its release if recognised."""
        ...

    def read(self, number: int) -> Image:
        """An image as input for `decode`; a place that cannot be read is a UserError that names it."""
        ...
