"""Jobs that score fitted probes with a metric of the user's own.

Such a job belongs to another job, whose probe returns class scores, and runs after it. The hyper-parameters in the
result of that job (a learning rate, a penalty) make a new search unnecessary, so adding a metric costs one fit.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.metrics.from_units import known_means
from unseen.metrics.own import OwnMetricFile, own_metric
from unseen.probes.by_name.linear import Linear
from unseen.probes.job import Fit, Job
from unseen.probes.own import OWN, OWN_METRIC
from unseen.probes.probe import Probe, ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.probes.units import Units
from unseen.probes.vectors import LABELS
from unseen.runs.results import read_result

FITS_OF_A_PATH = 10
"""About how many fits to their ends the search of a linear probe is worth."""


@dataclass(frozen=True)
class MeasuredProbe(Probe):
    """A probe that is scored with a metric of the user's own.

    Attributes:
        make: makes the fitted probe, whose job has the key `fit_key`.
        place: path of the metric, `path/to/file.py:NAME`, and `code` its digest.
        results: folder of the result of that job; empty if there is none to read.
    """

    name: ClassVar[str] = OWN_METRIC
    title: ClassVar[str] = "a metric of your own"
    keeps_units: ClassVar[bool] = True
    make: Callable[[], Probe]
    fit_key: str
    place: str
    code: str
    results: str = ""

    @property
    def inner(self) -> Probe:
        return self.make()

    @cached_property
    def metric(self) -> OwnMetricFile:
        found = own_metric(self.place)
        if found.file.digest != self.code:
            raise UserError(f"{found.file.path}: changed since the study was planned; run the command again")
        return found

    @property
    def validation(self) -> Literal["chooses", "joins"]:  # type: ignore[override]
        return self.inner.validation

    def variants(self, data: ProbeData) -> int:
        return self.inner.variants(data)

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        for setting in settings:
            found = list(measured(self.metric, self.inner, data, setting, self._kept()))
            name = self.metric.metric.name
            for each in found:
                about = each.variant, setting.shots, setting.seed
                if each.value is None:
                    yield Fit(*about, (), {"undefined": name})
                else:
                    units = None if each.of_images is None else Units("mistakes", {name: each.of_images})
                    yield Fit(*about, [(name, each.value)], units=units)
            for _ in range(self.variants(data) - len(found)):  # those without finite scores, which the fit names
                yield Fit(self.inner.name, setting.shots, setting.seed, ())

    def _kept(self) -> Mapping[str, Any]:
        """What the job that fits the probe has found; without it, the search would have to be done again."""
        result = read_result(Path(self.results), self.fit_key)
        if result is None:
            raise UserError(f"{self.inner.name}: the fit that is measured has no result; run the command again")
        return result.details

    def flops(self, size: Size, setting: Setting) -> float:
        """The operations of one fit, of which a search has many."""
        protocol = self.inner.regression
        fits = FITS_OF_A_PATH if self.inner.name == Linear.name else 1 if protocol is None else protocol.trials + 1
        return self.inner.flops(size, setting) / fits

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        return self.inner.memory(size, gpu=gpu)


@dataclass(frozen=True, eq=False)
class Measurement:
    """The value of a metric for a fit, None if it is defined for no image, and its values of images if it has them."""

    variant: str
    value: float | None
    of_images: NDArray[np.float64] | None = None


def measured(
    metric: OwnMetricFile, probe: Probe, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
) -> Iterator[Measurement]:
    """The metric for each fit of a setting; a probe without class scores is refused.

    Args:
        kept: as in `Probe.test_scores`.
    """
    found = probe.test_scores(data, setting, kept)
    if found is None:
        raise UserError(f"the probe {probe.name} returns no class scores, which {metric.metric.name} needs")
    for variant, scores in found:
        if not bool(scores.isfinite().all()):
            raise UserError(f"the probe {variant} gave scores that are not finite, which {metric.metric.name} needs")
        y, own = data.y_test.cpu().numpy(), scores.cpu().numpy()
        values = metric.of_images(y, own, data.names)
        if values is None:
            yield Measurement(variant, metric.value(y, own))
        else:
            known = bool((~np.isnan(values)).any())
            yield Measurement(variant, known_means({"": values})[""] if known else None, values)


def metric_jobs(metrics: Sequence[OwnMetricFile], jobs: Sequence[Job]) -> list[Job]:
    """One job per metric and job, for the jobs whose probe returns class scores and that have one class per image."""
    return [
        Job(
            OWN_METRIC,
            job.fitted.revision,
            job.backbone,
            job.dataset,
            job.reads,
            {"metric": each.metric.name, "protocol": _protocol(job)},
            job.shots,
            job.seed,
            code=each.file.digest,
            needs=(job,),
            make=Measured(job, f"{each.file.path.resolve()}:{each.attribute}", each.file.digest),
        )
        for each in metrics
        for job in jobs
        if job.fitted.scored and LABELS not in job.reads
    ]


@dataclass(frozen=True)
class Measured:
    """Makes the probe of a job that measures another; `results` is set when that other job has its result."""

    fit: Job
    place: str
    code: str
    results: str = ""

    def __call__(self) -> MeasuredProbe:
        make = self.fit.make
        assert make is not None
        return MeasuredProbe(make, self.fit.key, self.place, self.code, self.results)


def with_results(job: Job, results: Path) -> Job:
    """A measuring job that can read the result of the job it needs."""
    assert isinstance(job.make, Measured)
    return replace(job, make=replace(job.make, results=str(results)))


def _protocol(job: Job) -> str:
    return OWN if job.code else job.protocol
