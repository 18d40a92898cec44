"""`unseen.published` and `unseen.leaderboard`: what papers printed, and where your runs stand among it."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from unseen.errors import UserError, did_you_mean
from unseen.extras import naming_extras

if TYPE_CHECKING:
    import pandas as pd

    from unseen.papers.leaderboard import Leaderboard


def published(name: str) -> "pd.DataFrame":
    """The numbers that a paper printed, one per row.

    Args:
        name: "cog-v2" or "cog-v1" (ImageNet-CoG and its first version), "ericsson-2021" or "shi-2023".

    Example:
        >>> unseen.published("cog-v2").head()
    """
    from unseen.papers import published as numbers

    return numbers(name)


@naming_extras()
def leaderboard(
    run: str | PathLike[str] | Sequence[str | PathLike[str]] | None = None,
    *,
    by: Literal["l5", "mean", "effective"] = "l5",
    shots: int | str = "all",
) -> "Leaderboard":
    """The 31 models of ImageNet-CoG, ranked on concepts they have not seen, with yours among them.

    Args:
        run: folder of a run over the concepts of ImageNet-CoG, or a results file (`run.export`), or several of both;
            None for the published models alone. Results files that are not of the same data are left out, and the
            `notice` of the leaderboard says why.
        by: accuracy on L5, mean accuracy over L1 to L5, or effective concept generalization.
        shots: training images per concept: 1, 2, 4 … 128, or "all".

    Returns:
        A leaderboard, with `.to_frame()` and its `entries` from the first rank on.

    Example:
        >>> unseen.leaderboard(by="effective").to_frame()[["rank", "model", "effective"]]
    """
    from unseen.papers.leaderboard import BY
    from unseen.studies.concepts.leaderboard import leaderboard_with_runs, runs_and_contributions

    if by not in BY:
        raise UserError(f"by is one of {', '.join(BY)}, not '{by}'{did_you_mean(by, BY)}")
    places = [Path(each) for each in ([] if run is None else [run] if isinstance(run, str | PathLike) else run)]
    folders, contributions = runs_and_contributions(places)
    return leaderboard_with_runs(folders, contributions, shots=str(shots), by=by)
