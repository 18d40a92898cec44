"""The scores in a result of any kind of job."""

from collections.abc import Iterator
from math import isfinite

from unseen.errors import UserError
from unseen.metrics.catalogue import METRICS, Metric
from unseen.probes.by_name import job_kinds
from unseen.probes.job import Job
from unseen.probes.samples import score_fields
from unseen.runs.own_metric import OwnMetricJob, OwnMetricTaskJob
from unseen.runs.results import Result, reading_result
from unseen.runs.score import Score

ROUNDING = 1e-9


def result_scores(result: Result) -> Iterator[Score]:
    """One score per metric that the job measured; a missing or invalid value is an error."""
    job = result.job
    kinds: dict[str, type[Job]] = {**job_kinds(), **{each.__name__: each for each in (OwnMetricJob, OwnMetricTaskJob)}}
    if job.get("job") not in kinds:
        raise UserError(
            f"the result {result.key}.json is from a kind of job unknown to this version ({job.get('job')}); "
            "update unseen"
        )
    with reading_result(result):
        protocol = job["protocol"]
        name = protocol["name"] if isinstance(protocol, dict) else protocol
        declared = [Metric(**each) for each in job.get("own_metrics", ())]
        facts = {**METRICS, **{each.name: each for each in declared if each.name not in METRICS}}
        for fit in kinds[job["job"]].read(job, result.values):
            for place, (metric, found) in enumerate(fit.values):
                value = _sound(facts[metric], found, result)
                half = fit.interval if place == 0 else None
                yield Score(
                    study=job["study"],
                    protocol=name,
                    backbone=job["backbone"],
                    domain=job["domain"],
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


def _sound(metric: Metric, value: object, result: Result) -> float:
    if not isinstance(value, float) or not isfinite(value) or not metric.allows(value, ROUNDING):
        raise UserError(f"the result {result.key}.json has no valid {metric.name}; delete the file and run again")
    return value
