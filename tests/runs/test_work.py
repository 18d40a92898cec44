"""Jobs on features of any shape with any labels: what a probe on maps has to bring, and no more."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, ProbeJob
from unseen.probes.protocol import Setting
from unseen.runs.work import alike, run_alike


@dataclass(frozen=True, eq=False)
class Maps:
    """(n, h, w, d) features and (n, h, w) classes of positions."""

    X: Any
    y: Any
    provenance: Mapping[str, Any]
    zero_rows: tuple[int, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.X)


@dataclass(frozen=True)
class Nearest(Probe):
    """Each position gets the class whose mean feature is nearest."""

    name: ClassVar[str] = "nearest-map"
    title: ClassVar[str] = "nearest mean at each position"
    scale: float = 1.0

    @staticmethod
    def prepare(parts: Sequence[Maps], where: str, device: str) -> ProbeData:
        train, test = parts
        labels = [torch.from_numpy(part.y) for part in parts]
        return ProbeData(train.X, labels[0], test.X, labels[1], int(train.y.max()) + 1, device)

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        X, X_test = data.train_rows() * self.scale, data.test_rows() * self.scale
        assert X.shape[1:] == X_test.shape[1:] == (2, 3, 4)
        means = torch.stack([X[data.y_train.to(X.device) == index].mean(dim=0) for index in range(data.classes)])
        guesses = torch.cdist(X_test.flatten(0, 2), means).argmin(dim=1).view(data.y_test.shape).cpu()
        for setting in settings:
            share = float((guesses == data.y_test).float().mean())
            yield Fit(self.name, setting.shots, setting.seed, [("top1", share)])


def read_maps(path: Path) -> Maps:
    arrays = np.load(path)
    return Maps(arrays["X"], arrays["y"], {"content_hash": path.stem})


@pytest.fixture
def places(tmp_path: Path) -> dict[str, str]:
    rng = np.random.default_rng(0)
    for name, count in (("train", 8), ("test", 5)):
        y = rng.integers(0, 3, (count, 2, 3))
        np.savez(tmp_path / f"{name}.npz", X=(4 * np.eye(4)[y] + rng.standard_normal((count, 2, 3, 4))), y=y)
    return {name: str(tmp_path / f"{name}.npz") for name in ("train", "test")}


def test_a_probe_on_maps_brings_its_own_data(places: dict[str, str]) -> None:
    jobs = [ProbeJob("tasks", "nearest-map", Nearest(), "p", "b", "d", "train", "test", None, seed) for seed in (0, 1)]
    assert alike(jobs) == [jobs]
    found = list(run_alike(jobs, places=places, load=read_maps))
    assert [job for job, _ in found] == jobs
    for job, values in found:
        [fit] = ProbeJob.read({"shots": job.shots, "seed": job.seed}, values)
        assert (fit.variant, fit.seed) == ("nearest-map", job.seed)
        assert dict(fit.values)["top1"] > 0.9
