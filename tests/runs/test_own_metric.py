"""Metrics of the user's own, of probes that are fitted already."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.metrics import balanced_accuracy_score

from unseen.errors import UserError
from unseen.metrics.own import own_metric
from unseen.probes.by_name import get_probe
from unseen.probes.by_name.knn import KNN
from unseen.probes.by_name.linear import Linear
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.by_name.ridge import Ridge
from unseen.probes.many_shot import ERICSSON_2021
from unseen.probes.own import OWN
from unseen.probes.probe import Probe, ProbeData
from unseen.probes.protocol import Setting
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.merge import merge_runs
from unseen.runs.own_metric import measured
from unseen.runs.setup import ProtocolUsed

TEXT = """
import numpy as np
from unseen.metrics.own import OwnMetric

def balanced(y, predictions):
    return np.mean([np.mean(predictions[y == each] == each) for each in np.unique(y)])

METRIC = OwnMetric("own-balanced", True, 0, 1, "share", compute=balanced, title="mean accuracy over classes")

def accuracy(y, scores):
    return np.mean(scores.argmax(1) == y)

OTHER = OwnMetric("own-accuracy", True, 0, 1, "share", compute=accuracy, title="accuracy", takes="scores")
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "metric.py"
    path.write_text(TEXT)
    return path


@pytest.fixture(scope="module")
def data() -> ProbeData:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(90) % 3
    y_test = torch.cat([torch.zeros(20), torch.ones(8), torch.full((5,), 2)]).long()
    X, X_test = (torch.eye(3)[of] + 0.7 * torch.randn(len(of), 3, generator=generator) for of in (y, y_test))
    return ProbeData(X, y, X_test, y_test, 3)


PROBES: list[tuple[Probe, int | None]] = [
    (Logistic("cog-v2-short"), 5),
    (Linear(protocol=replace(ERICSSON_2021, steps=3)), None),
    (KNN(), 5),
    (Ridge(), None),
]


@pytest.mark.parametrize(("probe", "shots"), PROBES, ids=[probe.name for probe, _ in PROBES])
def test_scores_of_classes_are_those_of_the_fit(probe: Probe, shots: int | None, file: Path, data: ProbeData) -> None:
    setting = Setting(shots, 1)
    [fit] = probe.fit(data, [setting])
    [found] = measured(own_metric(f"{file}:OTHER"), probe, data, setting, fit.details)
    assert (found.variant, found.value) == (fit.variant, pytest.approx(dict(fit.values)["top1"]))
    [searched] = measured(own_metric(f"{file}:OTHER"), probe, data, setting, {})
    assert searched.value == pytest.approx(found.value)
    [(_, scores)] = probe.test_scores(data, setting, fit.details) or ()
    [balanced] = measured(own_metric(str(file)), probe, data, setting, fit.details)
    assert balanced.value == pytest.approx(balanced_accuracy_score(data.y_test, scores.argmax(1)))


def test_probes_without_scores_are_refused(file: Path, data: ProbeData) -> None:
    with pytest.raises(UserError, match="kmeans returns no class scores"):
        list(measured(own_metric(str(file)), get_probe("kmeans"), data, Setting(), {}))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"own-balanced"', '"top1"', "top1 is a metric of this package"),
        ('"own-balanced"', '"Own"', "lower-case letters"),
        ("True, 0, 1,", "True, 1, 0,", "range of own-balanced is invalid"),
        ("True, 0, 1,", "True, 0, float('inf'),", "range of own-balanced is invalid"),
        ("True, 0, 1,", "None, 0, 1,", "whether higher is better"),
        ('"share", compute=balanced', '"shares", compute=balanced', "the unit of own-balanced"),
        ("METRIC =", "METRICS =", "has no metric METRIC; did you mean"),
        ("compute=balanced", "compute=3", "needs a function"),
    ],
)
def test_what_a_file_must_say(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(UserError, match=message):
        own_metric(str(file))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("1 / 0", r"metric\.py, line 6: ZeroDivisionError"),
        ("2.0", "gave 2, outside"),
        ("'x'", "gave str, not a number"),
    ],
)
def test_values_that_cannot_be(file: Path, result: str, message: str) -> None:
    file.write_text(TEXT.replace("    return np.mean([", f"    return {result}\n    return np.mean(["))
    found = own_metric(str(file))
    with pytest.raises(UserError, match=message):
        found.value(np.array([0, 1]), np.eye(2))


def test_runs_of_other_code_under_one_name_are_not_put_together() -> None:
    first, second = (
        RunData("t", (), [Domain("l1", "L1")], [Backbone("b", "yours")], "b", protocols=[used])
        for used in (ProtocolUsed("own-mean", OWN, {"code": code}) for code in ("1", "2"))
    )
    assert len(merge_runs([("a", first), ("b", first)]).own_code) == 1
    with pytest.raises(UserError, match="own-mean has different code in a and in b"):
        merge_runs([("a", first), ("b", second)])


class Loud(KNN):
    """Nearest neighbours with a score that is not finite."""

    def test_scores(self, *_: object) -> Iterator[tuple[str, torch.Tensor]]:
        yield "loud", torch.tensor([[0.5, torch.inf]])


def test_what_is_not_finite_is_not_measured(file: Path, data: ProbeData) -> None:
    with pytest.raises(UserError, match="loud gave scores that are not finite"):
        list(measured(own_metric(str(file)), Loud(), data, Setting(), {}))
    file.write_text(TEXT.replace("0, 1,", "0, None,").replace("return np.mean([", "return np.inf + np.mean(["))
    with pytest.raises(UserError, match="own-balanced gave inf"):
        own_metric(str(file)).value(np.arange(3), np.eye(3))
