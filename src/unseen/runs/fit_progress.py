"""The progress of a linear probe."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FitProgress:
    """The number of finished fits of a regularization path.

    Attributes:
        what: the data set and the backbone.
        stage: `grid` for all penalties, `chosen` for the best penalties run to their optimum, or `refit`.
        left: estimated seconds until the end of the stage; a search may end earlier.
    """

    what: str
    stage: str
    done: int
    total: int
    left: float
