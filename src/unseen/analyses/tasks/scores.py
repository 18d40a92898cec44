"""The scores of results of the task study, by the names of the data that they were measured on."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from unseen.analyses.tasks.data import Names, is_classification, is_dense, own_name
from unseen.data.registry import dense_sets
from unseen.errors import UserError
from unseen.papers.comparability import Comparability, ScoredData, compare, published_maps
from unseen.papers.dense_settings import TRAINED
from unseen.papers.transfer import task_setting
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.finetuning.grid import FinetuneGrid
from unseen.runs.data import RunData
from unseen.runs.results import Result
from unseen.runs.score import Score
from unseen.runs.scores import RunScores, result_scores
from unseen.runs.seed_means import SeedMean, seeds_text

K = TypeVar("K", bound=Hashable)


def by_key(scores: Iterable[Score], key: Callable[[Score], K]) -> dict[K, Score]:
    """Scores by a key that tells them apart; two with the same key are an error, so that none hides another."""
    found: dict[K, Score] = {}
    for score in scores:
        other = found.setdefault(key(score), score)
        if other != score:
            raise UserError(
                f"{score.backbone} has two scores of {task_setting(score)} on {score.domain or 'all data sets'} "
                f"({other.protocol}, {other.metric}, and {score.protocol}, {score.metric}); report them separately"
            )
    return found


def task_scores(results: Iterable[Result], run: RunData, names: Names) -> list[Score]:
    """The scores of classification results, with the names of their data; a damaged result is an error.

    Args:
        names: names of the data of results.
    """
    scores = RunScores(run)
    return [
        replace(score, domain=data_name(result, names))
        for result in results
        if is_classification(result)
        for score in scores.of(result)
    ]


def data_name(result: Result, names: Names) -> str:
    return names[result.job["backbone"], result.job["dataset"]]


def dense_scores(data: RunData, results: Sequence[Result]) -> list[Score]:
    """The scores of dense results; data that are not comparable with published ones are named as the user's own."""
    found = []
    for result in filter(is_dense, results):
        verdict = dense_verdict(data, result)
        other = verdict is not None and not verdict.allowed
        scores = result_scores(result, data)
        found += [replace(score, domain=own_name(score.domain)) if other else score for score in scores]
    return found


def dense_verdict(data: RunData, result: Result) -> Comparability | None:
    """Whether a training used the paper's data; None if the paper has no such numbers."""
    score = next(result_scores(result, data))
    trained = TRAINED.get(score.probe)
    if trained is None or trained.domain != score.domain:
        return None
    scored: ScoredData | None = next(
        (each for each in data.scored if (each.backbone, each.domain) == (score.backbone, score.domain)), None
    )
    facts = dense_sets()[trained.domain]
    # The record has one protocol per data set, although there may be several.
    return compare(
        replace(scored, protocol=score.protocol) if scored else None, published_maps(trained.protocol, facts)
    )


def short_searches(results: Iterable[Result]) -> list[str]:
    """A sentence about each shortened search among results of fine-tuning."""
    grids = (FinetuneGrid(**each.job["settings"]["protocol"]) for each in results if each.is_of(FineTuned.name))
    return [*dict.fromkeys(grid.short for grid in grids if grid.short)]


def seed_notices(scores: Iterable[Score]) -> list[str]:
    """A sentence if means over several seeds are compared with published scores, which have one seed each.

    Args:
        scores: those of a run and the published ones; only data sets with both are compared.
    """
    every = list(scores)
    printed = {(task_setting(score), score.domain) for score in every if score.published}
    means = [each for each in every if isinstance(each, SeedMean) and (task_setting(each), each.domain) in printed]
    compared = f"Means over {seeds_text(means)} are compared with published scores, which have one seed each."
    return [compared] if means else []
