"""What the sections of the leaderboard share."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from unseen.papers.concept_generalization import DOMAINS, LEVELS
from unseen.papers.leaderboard import Entry, Leaderboard
from unseen.report.core.model_lines import CATEGORY_COLOURS
from unseen.runs.data import Backbone
from unseen.text.words import signed

TITLES = {"in1k": "IN-1K", **{level: level.upper() for level in LEVELS}, "mean": "Mean"}


def entry_look(entry: Entry) -> dict[str, Any]:
    """How the series of an entry is drawn: backbones of the user with their own look, published models by category."""
    if entry.yours:
        return {"strong": True, "backbone": entry.model}
    return {"colour": CATEGORY_COLOURS[entry.category], "group": entry.category}


def shown_domain(board: Leaderboard) -> str:
    """The domain of the differences in the table: L5, or the mean over levels."""
    return "l5" if board.by == "l5" else "mean"


def of_domain(domain: str) -> str:
    return "of L5" if domain == "l5" else "of the mean over L1 to L5"


def members(entries: Sequence[Entry]) -> list[list[Entry]]:
    """Entries by category, in the order of the legend; then one group for each backbone of the user."""
    groups = [[e for e in entries if e.category == name and not e.yours] for name in CATEGORY_COLOURS]
    return [*(group for group in groups if group), *([entry] for entry in entries if entry.yours)]


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def points(share: float) -> str:
    return signed(100 * share)


def own_backbones(board: Leaderboard) -> list[Backbone]:
    """The user's backbones, in the order of the board."""
    return [Backbone(entry.model, entry.category) for entry in board.entries if entry.yours]


def own_scores(board: Leaderboard) -> pd.DataFrame:
    """The user's accuracies as those of published models, only for the leaderboard's number of shots."""
    rows = [
        {
            "backbone": entry.model, "domain": name, "shots": board.shots, "mean": entry.accuracy[name],
            "deviation": np.nan,
        }
        for entry in board.entries if entry.yours for name in DOMAINS
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["backbone", "domain", "shots", "mean", "deviation"])
