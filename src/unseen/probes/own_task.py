"""A user's own probes on the splits of a data set, in the task study."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from unseen.features.by_hash import align_splits
from unseen.features.features import Features
from unseen.metrics.catalogue import Metric
from unseen.probes.job import UNDESCRIBED, samples_kept
from unseen.probes.own import OWN, OwnProbe
from unseen.probes.probe import FitsJob, Probe, ProbeData, Size, fits_kept
from unseen.probes.samples import SamplesPerClass

if TYPE_CHECKING:
    import torch

    from unseen.probes.by_name.linear import FitsSoFar


@dataclass(frozen=True)
class OwnProbeTaskJob(FitsJob):
    """A user's own probe, fitted to training and validation samples; fields as in `OwnProbeJob`.

    Attributes:
        train, val, test: content hashes of the features.
    """

    study: str
    name: str
    code: str
    revision: int
    settings: tuple[tuple[str, Any], ...]
    own_metrics: tuple[Metric, ...]
    backbone: str
    domain: str
    train: str
    val: str
    test: str
    shots: int | None = None
    seed: int = 0
    protocol: str = OWN
    make: Callable[[], Probe] = field(kw_only=True, compare=False, repr=False, metadata={UNDESCRIBED: True})

    @property
    def features(self) -> tuple[str, ...]:
        return self.train, self.val, self.test

    def run(self, parts: Sequence[Features], device: "torch.device", fits: "FitsSoFar") -> dict[str, Any]:
        """The measured values; arguments as in `ManyShotJob.run`."""
        data = task_data(parts, device, f"{self.domain} by {self.backbone}")
        probe = self.make()
        return fits_kept(list(probe.fit(data, [self.setting]))) | samples_kept(probe.samples(data, self.shots))

    def flops(self, rows: Mapping[str, int], dimension: int, classes: int) -> float:
        """As given by the probe, for these numbers of rows per split."""
        size = Size(rows["train"] + rows.get("val", 0), rows.get("test", 0), classes, (dimension,))
        return self.make().flops(size, self.setting)


def task_data(parts: Sequence[Features], device: "torch.device", where: str) -> ProbeData:
    """Training and validation samples to fit to, test samples to score on.

    Args:
        parts: features of the three splits.
        where: their name in error messages.
    """
    import torch

    from unseen.probes.rows import on_device

    train, val, test = align_splits(parts, where)
    X = torch.cat([on_device(part.X, device, copies=2) for part in (train, val)])
    y = torch.cat([torch.from_numpy(part.y) for part in (train, val)])
    X_test, y_test = on_device(test.X, device, copies=1), torch.from_numpy(test.y)
    return ProbeData(X, y, X_test, y_test, len(train.classes), device.type)


def own_task_jobs(
    own: OwnProbe, study: str, backbone: str, domain: str, hashes: Sequence[str], samples: SamplesPerClass | None = None
) -> list[OwnProbeTaskJob]:
    """One job for each number of shots of the probe, without those that every class lacks.

    Args:
        hashes: content hashes of the features of training, validation and test data.
        samples: images per class of training and validation data.
    """
    train, val, test = hashes
    probe, settings = own.probe, own.settings
    return [
        OwnProbeTaskJob(
            study, probe.name, own.digest, probe.revision, settings, own.declared, backbone, domain, train, val, test,
            setting.shots, make=own.make,
        )
        for setting in probe.settings(own.usable_shots(samples), [0])
    ]  # fmt: skip
