"""Jobs that score fitted probes with a metric of the user's own.

Such a job belongs to another job, whose probe returns class scores, and runs after it. The hyper-parameters in the
result of that job (a learning rate, a penalty) make a new search unnecessary, so adding a metric costs one fit.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.errors import UserError
from unseen.features.features import Features
from unseen.metrics.catalogue import Metric
from unseen.metrics.own import OwnMetricFile, own_metric
from unseen.probes.by_name.linear import FitsSoFar, Linear, ManyShotJob
from unseen.probes.job import UNDESCRIBED, Fit
from unseen.probes.own_task import OwnProbeTaskJob, task_data
from unseen.probes.probe import FeatureJob, FitsJob, Probe, ProbeData, Size, fits_kept
from unseen.probes.protocol import Setting
from unseen.runs.job import job_key
from unseen.runs.results import read_result

if TYPE_CHECKING:
    import torch

HIDDEN = {UNDESCRIBED: True}
FITS_OF_A_PATH = 10
"""About how many fits to their ends the search of a linear probe is worth."""


@dataclass(frozen=True)
class OwnMetricJob(FitsJob):
    """A metric of the user's own, applied to one fitted probe on a pair of features.

    Attributes:
        of: key of the job that fits the probe.
        code: digest of the file of the metric and of the modules that it imports from its folder.
        own_metrics: range, direction and unit of the metric.
        protocol: name of the protocol of the probe.
        train, test: content hashes of the features.
        job: the job with the key `of`.
        place: path of the metric, `path/to/file.py:NAME`.
        results: folder of the result of `job`; empty if there is none to read.
    """

    study: str
    of: str
    code: str
    own_metrics: tuple[Metric, ...]
    protocol: str
    backbone: str
    domain: str
    train: str
    test: str
    shots: int | None
    seed: int
    job: FeatureJob = field(compare=False, repr=False, metadata=HIDDEN)
    place: str = field(compare=False, repr=False, metadata=HIDDEN)
    results: str = field(default="", compare=False, repr=False, metadata=HIDDEN)

    @property
    def probe(self) -> Probe:
        return MeasuredProbe(self.job.probe, self.of, self.place, self.code, self.results)


@dataclass(frozen=True)
class OwnMetricTaskJob(FitsJob):
    """A metric of the user's own, applied to one fitted probe on a data set of the task study.

    The other attributes are those of `OwnMetricJob`.

    Attributes:
        train, val, test: content hashes of the features.
    """

    study: str
    of: str
    code: str
    own_metrics: tuple[Metric, ...]
    protocol: str
    backbone: str
    domain: str
    train: str
    val: str
    test: str
    shots: int | None
    seed: int
    job: ManyShotJob | OwnProbeTaskJob = field(compare=False, repr=False, metadata=HIDDEN)
    place: str = field(compare=False, repr=False, metadata=HIDDEN)
    results: str = field(default="", compare=False, repr=False, metadata=HIDDEN)

    @property
    def features(self) -> tuple[str, ...]:
        return self.train, self.val, self.test

    def run(self, parts: Sequence[Features], device: "torch.device", fits: FitsSoFar) -> dict[str, Any]:
        """The values of the metric; the arguments are those of `ManyShotJob.run`."""
        job, where = self.job, f"{self.domain} by {self.backbone}"
        own = isinstance(job, OwnProbeTaskJob)
        probe: Probe = job.make() if own else Linear(protocol=job.protocol)  # type: ignore[union-attr]
        measure = MeasuredProbe(probe, self.of, self.place, self.code, self.results)
        return fits_kept(list(measure.fit(task_data(parts, device, where), [self.setting])))

    def flops(self, rows: Mapping[str, int], dimension: int, classes: int) -> float:
        """The operations of one fit, of which a linear probe has many."""
        return self.job.flops(rows, dimension, classes) / (
            1 if isinstance(self.job, OwnProbeTaskJob) else FITS_OF_A_PATH
        )


@dataclass(frozen=True)
class MeasuredProbe(Probe):
    """A probe that is scored with a metric of the user's own."""

    name: ClassVar[str] = "measured"
    title: ClassVar[str] = "a metric of your own"
    inner: Probe
    of: str
    place: str
    code: str
    results: str

    @cached_property
    def metric(self) -> OwnMetricFile:
        found = own_metric(self.place)
        if found.file.digest != self.code:
            raise UserError(f"{found.file.path}: changed since the study was planned; run the command again")
        return found

    def variants(self, data: ProbeData) -> int:
        return self.inner.variants(data)

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        for setting in settings:
            for variant, value in measured(self.metric, self.inner, data, setting, self._kept()):
                yield Fit(variant, setting.shots, setting.seed, [(self.metric.metric.name, value)])

    def _kept(self) -> Mapping[str, Any]:
        """What the job that fits the probe has found; without it, the search would have to be done again."""
        result = read_result(Path(self.results), self.of)
        if result is None:
            raise UserError(f"{self.inner.name}: the fit that is measured has no result; run the command again")
        return details_of(result.values)

    def flops(self, size: Size, setting: Setting) -> float:
        """The operations of one fit, of which a search has many."""
        protocol = self.inner.regression
        return self.inner.flops(size, setting) / (1 if protocol is None else protocol.trials + 1)

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        return self.inner.memory(size, gpu=gpu)


def measured(
    metric: OwnMetricFile, probe: Probe, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
) -> Iterator[tuple[str, float]]:
    """The variant and the value of the metric for each fit of a setting; a probe without class scores is refused.

    Args:
        kept: as in `Probe.test_scores`.
    """
    found = probe.test_scores(data, setting, kept)
    if found is None:
        raise UserError(f"the probe {probe.name} returns no class scores, which {metric.metric.name} needs")
    for variant, scores in found:
        if not bool(scores.isfinite().all()):
            raise UserError(f"the probe {variant} gave scores that are not finite, which {metric.metric.name} needs")
        yield variant, metric.value(data.y_test.cpu().numpy(), scores.cpu().numpy())


def details_of(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The details of a fit in a result: its hyper-parameters and how they were chosen."""
    return values["fits"][0]["details"] if values.get("fits") else values


def metric_jobs(metrics: Sequence[OwnMetricFile], jobs: Sequence[FeatureJob]) -> list[OwnMetricJob]:
    """One job per metric and job, for the jobs whose probe returns class scores."""
    return [
        OwnMetricJob(
            job.study, job_key(job), each.file.digest, (each.metric.facts,), _protocol_name(job),
            job.backbone, job.domain, job.train, job.test, job.setting.shots, job.setting.seed, job,
            f"{each.file.path.resolve()}:{each.attribute}",
        )
        for each in metrics
        for job in jobs
        if job.probe.scored
    ]  # fmt: skip


def task_metric_jobs(
    metrics: Sequence[OwnMetricFile], jobs: "Sequence[ManyShotJob | OwnProbeTaskJob]"
) -> list[OwnMetricTaskJob]:
    """`metric_jobs` for the task study."""
    return [
        OwnMetricTaskJob(
            job.study, job_key(job), each.file.digest, (each.metric.facts,), _protocol_name(job),
            job.backbone, job.domain, job.train, job.val, job.test, getattr(job, "shots", None),
            getattr(job, "seed", 0), job, f"{each.file.path.resolve()}:{each.attribute}",
        )
        for each in metrics
        for job in jobs
        if isinstance(job, ManyShotJob) or job.make().scored
    ]  # fmt: skip


def _protocol_name(job: object) -> str:
    protocol = getattr(job, "protocol", "")
    return protocol if isinstance(protocol, str) else str(protocol.name)
