"""The rule by which captions assign labels; its fields are what users set."""

from dataclasses import dataclass

from unseen.errors import UserError
from unseen.reading.keys import key


@dataclass(frozen=True)
class CaptionRule:
    """How captions assign labels, how many images a class needs, and how many are held out.

    The paper uses tags for YFCC and whole texts for LAION, and holds out 50 images of each class with at least 100.
    """

    tags: bool = key(False, "whether the text column has tags separated by commas, as in YFCC")
    least: int = key(100, "lowest number of labelled images of a class", least=1)
    held_out: int = key(50, "test images per class", least=1)
    seed: int = key(0, "seed of the draw", least=0)

    @property
    def kept(self) -> int:
        """Candidates kept per class: enough to know that there are `least`, and spares for ambiguous images."""
        return self.least + self.held_out

    def __post_init__(self) -> None:
        if not 1 <= self.held_out <= self.least:
            raise UserError(f"cannot hold out {self.held_out} images of classes with at least {self.least}")
