"""`unseen.published` and `unseen.leaderboard`: published numbers, and the rank of your runs among them."""

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
    """The numbers that a paper reports, one per row.

    Args:
        name: "cog-v2" or "cog-v1" (ImageNet-CoG and its first version), "ericsson-2021" or "shi-2023".

    Returns:
        A table in the paper's own units, usually percent; its columns depend on the paper.

    Example:
        >>> unseen.published("cog-v2").head(3)
              model domain shots  mean  deviation
        0  ResNet50   in1k     1  45.0        0.7
        1  ResNet50   in1k     2  56.6        0.4
        2  ResNet50   in1k     4  64.2        0.2
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
    """Rank the 31 models of ImageNet-CoG on unseen concepts, together with your own.

    Args:
        run: a run (or its folder) on the concepts of ImageNet-CoG, a results file (`run.export`), or a list of these;
            None for the published models alone. Results files on other data are skipped, and the `notice` of the
            leaderboard gives the reason.
        by: rank by accuracy on L5 ("l5"), by mean accuracy over L1 to L5 ("mean"), or by effective concept
            generalization ("effective").
        shots: training images per concept: 1, 2, 4 … 128, or "all".

    Returns:
        A leaderboard, with `.to_frame()` and `.entries` in order of rank.

    Example:
        >>> unseen.leaderboard(by="effective").to_frame()[["rank", "model", "effective"]].head(3).round(4)
           rank               model  effective
        0     1  a-DeiT-B-distilled     0.0535
        1     2              s-DINO     0.0431
        2     3   d-Semi-Weakly-Sup     0.0419
    """
    from unseen.analyses.leaderboard import leaderboard_with_runs, runs_and_contributions
    from unseen.papers.leaderboard import BY

    if by not in BY:
        raise UserError(f"by must be one of {', '.join(BY)}, not '{by}'{did_you_mean(by, BY)}")
    places = [Path(each) for each in ([] if run is None else [run] if isinstance(run, str | PathLike) else run)]
    folders, contributions = runs_and_contributions(places)
    return leaderboard_with_runs(folders, contributions, shots=str(shots), by=by)
