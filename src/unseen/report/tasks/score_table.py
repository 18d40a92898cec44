"""The scores of a task run as a table for other programs, in the schema of all studies."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.papers.transfer import CENTROIDS, task_setting
from unseen.probes.by_name.linear import Linear
from unseen.report.tasks.page_data import Fit, TaskPage
from unseen.runs.score import Score, shots_name
from unseen.runs.seed_means import each_seed
from unseen.runs.tables import GROUP, score_table, summarise, write_table

if TYPE_CHECKING:
    import pandas as pd

NO_FIT: dict[str, object] = {"penalty": None, "edge": None, "converged": None}


def task_table(page: TaskPage) -> "pd.DataFrame":
    """The run's own scores: one row per backbone, data set, probe, shots and metric, with means over seeds.

    Beside the columns of `summarise`:

    - `setting`: what tables of the page call it; for a probe that is not in the paper, its name with the metric.
    - `trained_on`: whether the data set is among the training data of the backbone, by name.
    - `limit`: the number of images per class for a run on a part of the data set, empty for all of it.
    - `episode_low`, `episode_high`: the 95% interval of few-shot scores over episodes, not over images or seeds.
    - `penalty`, `edge`, `converged`, of linear probes: the penalty, the end of the grid if it is at one, and whether
      all fits reached their optimum. Of several seeds, `penalty` is empty unless all chose the same.
    """
    import pandas as pd

    limits = {dataset.name: dataset.limit for dataset in page.datasets}
    fits: dict[tuple[str, str, int | None], list[Fit]] = {}
    for fit in page.fits:
        fits.setdefault((fit.backbone, fit.dataset, fit.shots), []).append(fit)
    own = [(score, task_setting(score)) for score in page.scores if not score.published]
    own += [(score, f"{task_setting(score)}-{score.metric}") for score in page.further_scores]
    rows = []
    for score, setting in own:
        about = fits.get((score.backbone, score.domain, score.shots), []) if score.probe == Linear.name else []
        episodes = score.probe == CENTROIDS
        rows.append(
            {
                **dict(zip(GROUP, _key(score), strict=True)),
                "setting": setting,
                "trained_on": (score.backbone, score.domain) in page.trained_on,
                "limit": limits.get(score.domain),
                "episode_low": score.low if episodes else None,
                "episode_high": score.high if episodes else None,
                **(_of_fits(about) if about else NO_FIT),
            }
        )
    summary = summarise(score_table(each for score, _ in own for each in each_seed(score)))
    return summary.merge(pd.DataFrame(rows), on=GROUP, validate="one_to_one").astype({"limit": "Int64"})


def write_task_table(page: TaskPage, path: Path) -> None:
    """Write the run's own scores as a table."""
    write_table(task_table(page), path)


def _key(score: Score) -> tuple[str, ...]:
    shots = shots_name(score.shots)
    return score.study, score.protocol, score.backbone, score.domain, score.probe, shots, score.metric


def _of_fits(fits: Sequence[Fit]) -> dict[str, object]:
    penalties = {fit.penalty for fit in fits}
    edges = dict.fromkeys(fit.edge for fit in fits if fit.edge)
    return {
        "penalty": penalties.pop() if len(penalties) == 1 else None,
        "edge": " and ".join(edges) or None,
        "converged": not any(fit.stopped for fit in fits),
    }
