"""What every place that images come from gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Entry:
    """One image: its id, unique in its source and the same on every machine, and the class it belongs to."""

    id: str
    label: str


class ImageSource(Protocol):
    """Images by number. Sources can be sent to other processes: files are opened when they are first read."""

    @property
    def entries(self) -> Sequence[Entry]:
        """All images, in an order that does not depend on the machine."""
        ...

    @property
    def about(self) -> dict[str, str]:
        """What is known of the source, for provenance: its kind, its release where it was recognised."""
        ...

    def read(self, number: int) -> bytes:
        """The encoded bytes of an image, or a UserError that names it."""
        ...
