"""The scores in a result of the task study, in the form of the published numbers."""

from unseen.papers.transfer import (
    ECE,
    FINETUNED,
    FINETUNED_ECE,
    FINETUNED_SCALED_ECE,
    LINEAR,
    SCALED_ECE,
    TaskScore,
)
from unseen.probes.by_name.centroids import FewShotJob
from unseen.probes.finetuning.jobs import FinetuneTaskJob
from unseen.runs.results import Result
from unseen.runs.scores import result_scores


def task_result_scores(result: Result) -> list[TaskScore]:
    """Accuracies and calibration errors, also after temperature scaling; what a damaged result lacks is a KeyError."""
    job, values = result.job, result.values
    of = (job["backbone"], job["domain"])
    if job["job"] == FewShotJob.__name__:
        [score] = result_scores(result)
        return [TaskScore(*of, f"{job['shots']}-shot", score.metric, score.value, values["interval"])]
    tuned = job["job"] == FinetuneTaskJob.__name__
    setting, error, scaled = (FINETUNED, FINETUNED_ECE, FINETUNED_SCALED_ECE) if tuned else (LINEAR, ECE, SCALED_ECE)
    found = [
        TaskScore(*of, error if score.metric == "ece" else setting, score.metric, score.value)
        for score in result_scores(result)
    ]
    if "scaled_ece" in values:
        found.append(TaskScore(*of, scaled, "ece", float(values["scaled_ece"])))
    return found
