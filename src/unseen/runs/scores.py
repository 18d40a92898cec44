"""The scores in a result."""

from collections.abc import Iterable, Iterator
from math import isfinite

from unseen.errors import UserError
from unseen.metrics.catalogue import Metric
from unseen.probes.own import OWN
from unseen.probes.samples import score_fields
from unseen.runs.data import RunData
from unseen.runs.random_draws import reported_as
from unseen.runs.results import Result, reading_result
from unseen.runs.score import Score

ROUNDING = 1e-9


class RunScores:
    """Reads the scores of the results of a run; what the run says of all of them is looked up once."""

    def __init__(self, run: RunData) -> None:
        self._metrics, self._first = run.metrics, run.axes[:1]
        self._axes = {domain.name: domain.axis for domain in run.domains}
        self._own = {each.probe for each in run.own_code if each.name == OWN}
        self._usual = next((each.name for each in run.protocols), "")

    def of(self, result: Result) -> Iterator[Score]:
        """One score per metric that the job measured; a missing or invalid value is an error."""
        job, protocol = result.job, self._protocol(result)
        for fit in result.fits:
            for place, (metric, measured) in enumerate(fit.values):
                with reading_result(result):
                    value = _sound(self._metrics[metric], measured, result)
                half, domain = fit.interval if place == 0 else None, reported_as(job["dataset"])
                yield Score(
                    study=self._axes[domain] if domain in self._axes else self._first[0],
                    protocol=protocol,
                    backbone=job["backbone"],
                    domain=job["dataset"],
                    probe=fit.variant,
                    shots=fit.shots,
                    seed=fit.seed,
                    metric=metric,
                    value=value,
                    low=None if half is None else value - half,
                    high=None if half is None else value + half,
                    seconds=result.seconds,
                    versions=result.versions,
                    key=result.key,
                    **score_fields(fit.samples),
                )

    def _protocol(self, result: Result) -> str:
        """A probe without a protocol of its own has that of the study."""
        if result.job.get("code") and result.job["probe"] in self._own:
            return OWN
        return result.protocol or self._usual


def result_scores(result: Result, run: RunData) -> Iterator[Score]:
    """The scores of one result of a run, as `RunScores` reads them."""
    return RunScores(run).of(result)


def results_on(run: RunData, results: Iterable[Result]) -> list[Result]:
    """The results on the data sets of a run, which may be a part of the run that they belong to."""
    names = {domain.name for domain in run.domains}
    return [result for result in results if reported_as(result.job["dataset"]) in names]


def _sound(metric: Metric, value: object, result: Result) -> float:
    if not isinstance(value, float) or not isfinite(value) or not metric.allows(value, ROUNDING):
        raise UserError(f"the result {result.key}.json has no valid {metric.name}; delete the file and run again")
    return value
