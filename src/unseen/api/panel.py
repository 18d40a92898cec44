"""`unseen.panel`: a part of the concepts of each level that gives the scores of all of them."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unseen.analyses.panels.of_runs import Panels


def panel(
    runs: str | PathLike[str] | Sequence[str | PathLike[str]],
    *,
    concepts: int,
    out: str | PathLike[str] | None = None,
    shots: int | str = "all",
    seed: int = 0,
) -> "Panels":
    """Choose a few concepts of each level whose mean accuracy gives the score of the level, on past runs.

    The concepts are chosen on all backbones of the runs. How well such a choice works for other backbones is measured
    by holding out each backbone in turn, and compared with random panels of the same size.

    Args:
        runs: folders of concept studies on the same levels, with at least six backbones together, and results of the
            logistic probe.
        concepts: number of concepts per level.
        out: file of levels to write (.csv), for the key `levels` of a study.
        shots: which results to use: training samples per concept, or "all".
        seed: of the parts that backbones are held out in, and of the random panels.

    Returns:
        The panels, with `.levels`, `.to_frame()` and `.beats_random`.

    Example:
        >>> panels = unseen.panel(["run", "other-run"], concepts=100, out="panel.csv")
        >>> panels.to_frame()[["domain", "error", "random_error", "against_random"]]
    """
    from unseen.analyses.panels.file import check_panel_name, write_panel
    from unseen.analyses.panels.of_runs import panels_of_runs

    if out is not None:
        check_panel_name(Path(out))
    folders = [Path(each) for each in ([runs] if isinstance(runs, str | PathLike) else runs)]
    panels = panels_of_runs(folders, concepts, shots=str(shots), seed=seed)
    if out is not None:
        write_panel(panels, Path(out))
    return panels
