"""The job of a logistic regression on the first principal components of features, and the scores it gives.

ImageNet-CoG's first version, supplementary C.2: how many dimensions a level needs. The components are those of the
ℓ2-normalised training features. Training and test features are normalised, projected on the first few components (the
training mean is taken off), and then go through the same regression as whole features: it scales each projected row to
length 1 once more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unseen.features.features import Features, Rows
from unseen.jobs.feature_pair import READ, on_device
from unseen.jobs.measured import measured
from unseen.jobs.probe_job import logistic_values
from unseen.probes.logistic import REVISION as LOGISTIC_REVISION
from unseen.probes.logistic import Setting, probe_settings
from unseen.probes.pca import PCA, pca
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.results import Result
from unseen.runs.score import Score

if TYPE_CHECKING:
    import torch
    from torch import Tensor

REVISION = 1
"""Raised when the projection gives other numbers for the same input."""
DIMENSIONS = (32, 64, 128, 256, 512, 1024)
"""The numbers of components in the paper."""


@dataclass(frozen=True)
class PcaJob:
    """Everything that decides the scores of one probe of so many dimensions; the rest as in `LogisticJob`."""

    study: str
    protocol: LogisticProtocol
    backbone: str
    domain: str
    train: str
    test: str
    dimensions: int
    seed: int
    products: str = "float32"
    revision: int = REVISION
    logistic_revision: int = LOGISTIC_REVISION


def run_pca_jobs(
    jobs: Sequence[PcaJob], train: Features, test: Features, device: "torch.device"
) -> Iterator[tuple[PcaJob, dict[str, Any]]]:
    """The values of jobs that differ in their seed only, each passed on as it is done."""
    import torch

    components = _components(jobs[0].train, train, device)
    sides = [_projected(part.X, components, jobs[0].dimensions, device) for part in (train, test)]
    of_setting = {Setting(None, job.seed): job for job in jobs}
    found = probe_settings(
        sides[0],
        torch.from_numpy(train.y),
        sides[1],
        torch.from_numpy(test.y),
        list(of_setting),
        protocol=jobs[0].protocol,
        device=device,
        products=getattr(torch, jobs[0].products),
    )
    variance = float(components.ratios[: jobs[0].dimensions].sum())
    for setting, result in found:
        yield of_setting[setting], logistic_values(result) | {"variance": variance}


_last: dict[tuple[str, str], PCA] = {}
"""The components fitted last, by hash of the training features and device: jobs on the same features share them."""


def _components(content_hash: str, train: Features, device: "torch.device") -> PCA:
    """As many principal components as any job can ask for."""
    key = (content_hash, str(device))
    if key not in _last:
        _last.clear()
        rows = on_device(train.X, device, unit=True)
        _last[key] = pca(rows, min(max(DIMENSIONS), *rows.shape))
    return _last[key]


def _projected(X: Rows, components: PCA, dimensions: int, device: "torch.device") -> "Tensor":
    """(n, dimensions) coordinates of normalised rows, on the host; one block of rows is on the device at a time."""
    import numpy as np
    import torch

    from unseen.metrics.geometry import unit_rows

    blocks = []
    for start in range(0, len(X), READ):
        rows = torch.from_numpy(np.array(X[start : start + READ])).to(device)
        blocks.append(components.transform(unit_rows(rows), dimensions).cpu())
    return torch.cat(blocks)


def pca_flops(job: PcaJob, rows: int, dimension: int, classes: int) -> float:
    """As of a logistic job on so many dimensions, and the projection; the fit of the components is shared."""
    logistic = 4 * (job.dimensions + 1) * classes * job.protocol.epochs
    trials = rows * ((1 - job.protocol.validation) * job.protocol.trials + 1)
    return logistic * trials + 2 * rows * dimension * job.dimensions


def pca_scores(result: Result) -> Iterator[Score]:
    """The scores in a result of such a job."""
    job = result.job
    return measured(
        result,
        probe=f"pca-{job['dimensions']}",
        protocol=job["protocol"]["name"],
        metrics=("top1", "top5"),
        seed=job["seed"],
    )
