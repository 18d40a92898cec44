"""How far a linear probe is, for whoever waits for it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FitProgress:
    """Fits of a path that are done.

    Attributes:
        what: whose features of which data set.
        stage: `grid`, of all penalties, `chosen`, the best of them to their optima, or `refit`.
        left: seconds for the rest of the stage, at the rate so far; a search may end before.
    """

    what: str
    stage: str
    done: int
    total: int
    left: float
