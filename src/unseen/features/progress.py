"""How far an extraction is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far an extraction is.

    Attributes:
        done, total: images, of those that were still to do when it began.
        seconds: since then.
        idle: of these, how many the device had nothing to do for want of data; nan where several devices work.
    """

    done: int
    total: int
    seconds: float
    idle: float

    @property
    def rate(self) -> float:
        """Images a second."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float:
        """Seconds to go at this rate."""
        return (self.total - self.done) / self.rate if self.done else float("inf")
