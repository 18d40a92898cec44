"""Progress of an extraction."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """Progress of an extraction.

    Attributes:
        done, total: images done, out of those that remained at the start.
        seconds: time since the start.
        idle: seconds in which the device had no data to work on; nan if several devices work.
    """

    done: int
    total: int
    seconds: float
    idle: float

    @property
    def rate(self) -> float:
        """Images per second."""
        return self.done / self.seconds if self.seconds else 0.0

    @property
    def left(self) -> float:
        """Estimated seconds remaining."""
        return (self.total - self.done) / self.rate if self.done else float("inf")
