"""`unseen.published` and `unseen.leaderboard`: published numbers, and the rank of your runs among them."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.extras import naming_extras

if TYPE_CHECKING:
    import pandas as pd

    from unseen.analyses.core.study_leaderboard import StudyLeaderboard
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
    by: str | None = None,
    shots: int | str | None = None,
) -> "Leaderboard | StudyLeaderboard":
    """Rank the 31 models of ImageNet-CoG on unseen concepts, together with your own; or the backbones of any runs.

    Args:
        run: a run (or its folder), a results file (`run.export`), or a list of these; None for the published models
            alone. Runs on the concepts of ImageNet-CoG and results files are ranked among the published models; results
            files on other data are skipped, and the `notice` of the leaderboard gives the reason. The backbones of
            other runs are ranked among themselves, by every probe.
        by: rank by accuracy on L5 ("l5", the default), by mean accuracy over L1 to L5 ("mean"), or by effective concept
            generalization ("effective"). Backbones of other runs are ranked by the mean over data sets, or by the data
            set of this name.
        shots: training images per concept: 1, 2, 4 … 128, or "all". By default all; for other runs, the most that each
            probe was trained with.

    Returns:
        A leaderboard, with `.to_frame()`, and `.entries` in order of rank; for other runs, with `.to_frame()` and one
        of `.rankings` per probe. Where results keep which test images are classified correctly, the ranks of your own
        backbones have an interval and a tie group, from comparisons of all pairs on the same images.

    Example:
        >>> unseen.leaderboard(by="effective").to_frame()[["rank", "model", "effective"]].head(3).round(4)
           rank               model  effective
        0     1  a-DeiT-B-distilled     0.0535
        1     2              s-DINO     0.0431
        2     3   d-Semi-Weakly-Sup     0.0419
    """
    from unseen.analyses.leaderboard import any_leaderboard

    places = [Path(each) for each in ([] if run is None else [run] if isinstance(run, str | PathLike) else run)]
    return any_leaderboard(places, shots=None if shots is None else str(shots), by=by)
