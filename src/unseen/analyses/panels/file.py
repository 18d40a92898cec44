"""The file of a panel: levels that a study takes, with the errors of the panel and the runs it was chosen on."""

from pathlib import Path

from unseen.analyses.panels.of_runs import LevelPanel, Panels
from unseen.errors import UserError
from unseen.files import write_table
from unseen.ontology.levels import COLUMNS

PROVENANCE = (
    "chosen_of", "backbones", "error", "error_low", "error_high", "random_error", "random_low", "random_high",
    "against_random", "intercept", "slope", "shots", "runs",
)  # fmt: skip
"""Columns after those of levels, with the same values for all concepts of a level; readers of levels skip them.

Errors are mean absolute errors of the score of a level for held-out backbones, as shares: with its 95% interval for
the panel, and with the range of 95% of random panels of its size. The score is intercept + slope · accuracy on the
panel's concepts, as measured among all concepts of the level.
"""


def write_panel(panels: Panels, path: Path) -> None:
    """Write a CSV file of levels, which is a value of the key `levels` of a study (`--set levels=panel.csv`)."""
    check_panel_name(path)
    rows = ([*concept.cells, *_provenance(level, panels)] for level in panels.levels for concept in level.concepts)
    write_table(path, (*COLUMNS, *PROVENANCE), rows)


def check_panel_name(path: Path) -> None:
    """Refuse a file that readers of levels would not recognise."""
    if path.suffix != ".csv":
        raise UserError(f"{path}: a panel is written as levels in a .csv file")


def _provenance(level: LevelPanel, panels: Panels) -> list[object]:
    held_out = level.held_out
    numbers = [
        held_out.error.value, held_out.error.low, held_out.error.high,
        held_out.random.value, held_out.random.low, held_out.random.high,
    ]  # fmt: skip
    return [
        level.size, held_out.backbones, *(f"{number:.6f}" for number in numbers),
        held_out.verdict, f"{level.line.intercept:.6f}", f"{level.line.slope:.6f}", panels.shots, "+".join(panels.runs),
    ]  # fmt: skip
