"""The user's accuracies in the form of the figures with published models."""

import numpy as np
import pandas as pd

from unseen.papers.concept_generalization import DOMAINS
from unseen.papers.leaderboard import Leaderboard
from unseen.runs.data import Backbone


def own_backbones(board: Leaderboard) -> list[Backbone]:
    """The user's backbones, in the order of the board."""
    return [Backbone(entry.model, entry.category) for entry in board.entries if entry.yours]


def own_scores(board: Leaderboard) -> pd.DataFrame:
    """The user's accuracies, only for the leaderboard's number of shots."""
    rows = [
        {
            "backbone": entry.model, "domain": name, "shots": board.shots, "mean": entry.accuracy[name],
            "deviation": np.nan,
        }
        for entry in board.entries if entry.yours for name in DOMAINS
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["backbone", "domain", "shots", "mean", "deviation"])
