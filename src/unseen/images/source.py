"""What every place that images come from gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Image = bytes | NDArray[np.uint8]
"""An encoded file, or pixels (h, w) or (h, w, 3) where the source has those."""


@dataclass(frozen=True)
class Entry:
    """One image: its id, unique in its source and the same on every machine, and the class it belongs to."""

    id: str
    label: str


class ImageSource(Protocol):
    """Images by number. Sources can be sent to other processes and read from several threads.

    Ids are paths below the source (`class/name` where there are classes), so that the same images in folders and in
    tar files are the same entries in the same order.
    """

    @property
    def entries(self) -> Sequence[Entry]:
        """All images, in an order that does not depend on the machine."""
        ...

    @property
    def about(self) -> dict[str, str]:
        """What is known of the source, for provenance: its kind, its release where it was recognised."""
        ...

    def read(self, number: int) -> Image:
        """An image, to be given to `decode`; a place that cannot be read is a UserError that names it."""
        ...
