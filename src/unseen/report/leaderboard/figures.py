"""The paper's figures on the leaderboard's page: accuracy by level and by number of images (Figs. 3, 4, 10 and 11)."""

import numpy as np
import pandas as pd

from unseen.papers.concept_generalization import DOMAINS
from unseen.papers.leaderboard import REFERENCE, Leaderboard
from unseen.report.concepts.published_sections import SHOTS, few_shot_plots, level_plots, published_table
from unseen.report.core.sections import Section
from unseen.runs.data import Backbone

TITLES = {name: "IN-1K" if name == "in1k" else name.upper() for name in DOMAINS}


def figure_sections(board: Leaderboard) -> list[Section]:
    """Accuracy by level, absolute and relative to ResNet50, and few-shot curves of every domain."""
    backbones = [Backbone(entry.model, entry.category) for entry in board.entries if entry.yours]
    return [_levels(board, backbones), _few_shots(board, backbones)]


def _own(board: Leaderboard) -> pd.DataFrame:
    """The user's accuracies as the plots take them; with the leaderboard's number of shots alone."""
    rows = [
        {
            "backbone": entry.model, "domain": name, "shots": board.shots, "mean": entry.accuracy[name],
            "deviation": np.nan,
        }
        for entry in board.entries if entry.yours for name in DOMAINS
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["backbone", "domain", "shots", "mean", "deviation"])


def _levels(board: Leaderboard, backbones: list[Backbone]) -> Section:
    ticks = tuple((float(place), TITLES[name]) for place, name in enumerate(DOMAINS))
    plots = level_plots(backbones, published_table([board.shots]), _own(board), ticks, DOMAINS)
    others = [entry for entry in board.entries if entry.model != REFERENCE]
    ahead = {name: sum(round(entry.relative[name], 9) > 0 for entry in others) for name in DOMAINS}
    lost = {entry.model: entry.accuracy["in1k"] - entry.accuracy["l5"] for entry in board.entries}
    least, most = (choose(lost, key=lost.__getitem__) for choose in (min, max))
    sentences = [
        f"From IN-1K to L5 accuracy falls by {100 * lost[least]:.1f} points ({least}) to {100 * lost[most]:.1f} "
        f"({most}).",
        f"Ahead of {REFERENCE}, of {len(others)} other models: "
        + ", ".join(f"{number} on {TITLES[name]}" for name, number in ahead.items())
        + ".",
    ]
    note = "One line per model, coloured by category: press a category to hide it, hover over a point for its numbers."
    return Section("levels", "Accuracy by level", sentences, plots, note)


def _few_shots(board: Leaderboard, backbones: list[Backbone]) -> Section:
    table = published_table(SHOTS)
    plots = few_shot_plots(backbones, table, _own(board), DOMAINS)
    far = table[table["domain"] == "l5"]
    best = {shots: far[far["shots"] == shots].sort_values("mean").iloc[-1] for shots in ("1", "8", "all")}
    words = {"1": "one image per concept", "8": "8", "all": "all"}
    leaders = [f"{row['model']} with {words[shots]} ({100 * row['mean']:.1f}%)" for shots, row in best.items()]
    sentences = [f"The best published model on L5 is {', '.join(leaders[:-1])}, and {leaders[-1]}."]
    note = "Published numbers with 1 to 128 and with all images."
    if backbones:
        note += " Yours are shown with the number of images that the ranking is of; the report of a run has its curves."
    return Section("few-shots", "Few images per concept", sentences, plots, note)
