"""A kind of work, and what several kinds share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from golden_runs.surface import Networks, Step

VIT = Networks(("timm:test_vit",), size=32)
BOTH = Networks(("timm:test_vit", "timm:test_convnext"), ("small vit", "small convnext"), size=32)
MINE = Networks(("mine",), random=False)
"""Features without a network."""
TREES = ("ash", "beech", "cedar", "elm", "fir")
FRUITS = ("pear", "apple", "lime", "fig", "kiwi", "date")
ANIMALS = ("cat", "cow", "dog", "elk", "fox", "owl")


@dataclass(frozen=True)
class Kind:
    """A kind of work.

    Attributes:
        make: writes its data into a folder, which commands see as `../data`.
        steps: commands, one after the other in the same working directory.
        before: commands that prepare the data, in their folder.
        plans, parts, kills: whether it is also planned, run in two parts, and killed and resumed. Left out where that
            takes long and another kind tries the same.
    """

    make: Callable[[Path], None]
    steps: tuple[Step, ...]
    before: tuple[tuple[str, ...], ...] = ()
    plans: bool = True
    parts: bool = True
    kills: bool = True
