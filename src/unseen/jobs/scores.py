"""The scores in a result, whatever kind of job it is of."""

from collections.abc import Callable, Iterator

from unseen.errors import UserError
from unseen.jobs.few_shot_job import few_shot_scores
from unseen.jobs.finetune_job import finetune_scores
from unseen.jobs.finetune_task_job import finetune_task_scores
from unseen.jobs.geometry_job import geometry_scores
from unseen.jobs.kmeans_job import kmeans_scores
from unseen.jobs.many_shot_job import many_shot_scores
from unseen.jobs.mlp_job import mlp_scores
from unseen.jobs.pca_job import pca_scores
from unseen.jobs.probe_job import logistic_scores
from unseen.jobs.shift_job import shift_scores
from unseen.runs.results import Result
from unseen.runs.score import Score

_READERS: dict[str, Callable[[Result], Iterator[Score]]] = {
    "LogisticJob": logistic_scores,
    "PcaJob": pca_scores,
    "MlpJob": mlp_scores,
    "KMeansJob": kmeans_scores,
    "GeometryJob": geometry_scores,
    "FinetuneJob": finetune_scores,
    "ManyShotJob": many_shot_scores,
    "FewShotJob": few_shot_scores,
    "FinetuneTaskJob": finetune_task_scores,
    "ShiftJob": shift_scores,
}
"""By kind of job, which is the name of its class (`unseen.runs.job.describe`)."""


def result_scores(result: Result) -> Iterator[Score]:
    """One score for each metric that the job measured; a result without a sound value of one is an error."""
    kind = result.job.get("job")
    if kind not in _READERS:
        raise UserError(f"the result {result.key}.json is of a kind unknown to this version ({kind}); update unseen")
    try:
        yield from _READERS[kind](result)
    except (KeyError, TypeError, IndexError):
        raise UserError(f"the result {result.key}.json is damaged; delete the file and run again") from None
