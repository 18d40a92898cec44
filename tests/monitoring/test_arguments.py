"""The step and the features that a monitor is given: wrong ones are refused, and so are other ones than before."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from small_training import SIDE, Small, pictures, small, study_of

import unseen
from unseen.api.monitor import Monitor
from unseen.errors import UserError
from unseen.monitoring.network import described_features
from unseen.runs.record import MONITOR
from unseen.studies.study import Study


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pictures(tmp_path_factory.mktemp("pictures"))


def made(study: Study, out: Path, **options: object) -> Monitor:
    return unseen.Monitor(study, **{"every": 1, "out": out, "transform": SIDE, **options})  # type: ignore[arg-type]


def test_step_is_a_whole_number(tmp_path: Path, data: Path) -> None:
    monitor = made(study_of(data), tmp_path / "out", features="encoder", every=5)
    for step in ("3", None, 0.5, 5.0, -5, True, small(), torch.tensor(0.5), np.array([5])):
        for call in (monitor, monitor.check):
            with pytest.raises(UserError):
                call(step, small())  # type: ignore[operator]
    with pytest.raises(UserError):
        monitor(small(), 5)  # type: ignore[arg-type]
    assert monitor(np.int64(5), small()) is monitor(torch.tensor(5), small())  # type: ignore[arg-type]
    assert [*monitor.checks] == [5]


def one(factor: int) -> object:
    return lambda network, images: network.encoder(images) * 1.5 + factor


def test_other_features_are_refused(tmp_path: Path, data: Path) -> None:
    """A function is known by its code, wherever it stands; what it takes from outside is not known."""
    other = lambda network, images: network.encoder(images) * 2.5 + 1  # noqa: E731
    given = [None, "encoder", "head", one(1), other, Small.forward]
    described = [described_features(each) for each in given]
    assert all(one != two for place, one in enumerate(described) for two in described[:place])
    assert described_features(one(2)) == described[3]
    assert described_features(partial(other)) == described[4]
    assert described_features(small().forward) == described[5]
    assert made(study_of(data), tmp_path, features=one(1))(0, small()).scores  # type: ignore[union-attr]
    assert made(study_of(data), tmp_path, features=one(2)).checks
    for features in (None, "encoder", other):
        with pytest.raises(UserError, match="features="):
            made(study_of(data), tmp_path, features=features)


def test_features_of_another_python_are_not_compared(tmp_path: Path, data: Path) -> None:
    made(study_of(data), tmp_path, features=one(1))(0, small())
    record = json.loads((tmp_path / MONITOR).read_text())
    record["features"] |= {"python": "cpython 2.7", "code": "other"}
    (tmp_path / MONITOR).write_text(json.dumps(record))
    assert made(study_of(data), tmp_path, features=one(1)).checks
    with pytest.raises(UserError, match="features="):
        made(study_of(data), tmp_path, features="encoder")
