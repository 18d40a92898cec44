"""Probes of the user's own."""

import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

import unseen
from unseen.errors import UserError
from unseen.probes import ScoredProbe
from unseen.probes.job import Job, Pairs, fits_kept
from unseen.probes.own import ProbeAt, own_probe
from unseen.probes.probe import DrawnProbe, ProbeData
from unseen.probes.protocol import Setting
from unseen.probes.samples import ClassCounts
from unseen.probes.vectors import Vectors
from unseen.runs.results import write_result

TEXT = """
from dataclasses import dataclass
from typing import ClassVar
import torch
from unseen.probes import ScoredProbe

@dataclass(frozen=True)
class Mean(ScoredProbe):
    name: ClassVar[str] = "own-mean"
    title: ClassVar[str] = "nearest mean"
    shrink: float = 0.0

    def scores(self, X_train, y_train, X_test, classes, seed):
        means = torch.stack([X_train[y_train == each].mean(0) for each in range(classes)])
        return -torch.cdist(X_test, means * (1 - self.shrink))

PROBE = Mean
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mean.py"
    path.write_text(TEXT)
    return path


def data() -> ProbeData:
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(60) % 3
    X = torch.eye(3)[y] + 0.3 * torch.randn(60, 3, generator=generator)
    return ProbeData(X[:30], y[:30], X[30:], y[30:], 3)


def test_scores_become_accuracies(file: Path) -> None:
    own, part = own_probe(str(file)), data()
    [fit] = own.probe.fit(part, [Setting()])
    means = torch.stack([part.X_train[part.y_train == each].mean(0) for each in range(3)])  # type: ignore[index]
    right = torch.cdist(part.X_test, means).argmin(1) == part.y_test  # type: ignore[arg-type]
    assert dict(fit.values) == {"top1": pytest.approx(float(right.double().mean())), "top5": 1.0}
    few = [fit.shots for fit in own.probe.fit(part, [Setting(1, 0), Setting(2, 1)])]
    assert few == [1, 2]


def jobs(own: Any, counts: ClassCounts | None = None) -> list[Job]:
    rows, hashes = {"train": 30, "test": 30}, {"train": "a", "test": "b"}
    return list(own.jobs(Vectors("net", "l1", rows, 3, 3, hashes, counts=counts), range(2)))


def test_shots_that_no_class_has_are_no_jobs(file: Path) -> None:
    few = "    default_shots: ClassVar[tuple[int | None, ...]] = (4, 11, None)\n    title"
    file.write_text(TEXT.replace("    title", few, 1))
    own, counts = own_probe(str(file)), ClassCounts((5, 8, 10), (9, 9, 9))
    assert {job.shots for job in jobs(own)} == {4, 11, None}
    assert {job.shots for job in jobs(own, counts)} == {4, None}


def test_a_job_is_of_the_content_and_not_of_the_place(file: Path, tmp_path: Path) -> None:
    [job] = jobs(own_probe(str(file)))
    (tmp_path / "elsewhere").mkdir()
    moved = tmp_path / "elsewhere/renamed.py"
    moved.write_text(TEXT)
    assert jobs(own_probe(str(moved)))[0].key == job.key
    assert job.described.keys().isdisjoint({"make", "study"})
    moved.write_text(TEXT + "# changed\n")
    assert jobs(own_probe(str(moved)))[0].key != job.key
    sent = pickle.loads(pickle.dumps(job))
    assert sent == job
    assert sent.fitted.name == sent.probe == "own-mean"
    with pytest.raises(UserError, match="changed since the study was planned"):
        ProbeAt(str(moved), 64 * "0", "PROBE")()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"own-mean"', '"knn"', "the probe knn of this package"),
        ('"own-mean"', '"pca-mine"', "the probe pca of this package"),
        ('"own-mean"', '"Mean!"', "lower-case letters"),
        ('title: ClassVar[str] = "nearest mean"', 'title: ClassVar[str] = ""', "needs a title"),
        ("PROBE = Mean", "OTHER = Mean", "has no probe PROBE"),
        ("PROBE = Mean", "PROBE = 3", "PROBE must be a frozen dataclass"),
        (
            "    shrink: float = 0.0",
            '    metrics: ClassVar = ("f9",)\n    shrink: float = 0.0',
            "the metric f9 is unknown",
        ),
        ("    def scores", "    def other", "abstract"),
        ("    shrink: float = 0.0", "    shrink: float", "shrink"),
    ],
)
def test_what_a_file_must_say(file: Path, old: str, new: str, message: str) -> None:
    file.write_text(TEXT.replace(old, new))
    with pytest.raises(UserError, match=message):
        own_probe(str(file))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("return 1 / 0", r"mean\.py, line 14: ZeroDivisionError"),
        ("return X_test[:, :2]", r"scores of shape \(30, 2\), not \(30, 3\)"),
        ("return X_test[:, :3] * float('nan')", "not finite"),
    ],
)
def test_mistakes_while_it_is_fitted(file: Path, line: str, message: str) -> None:
    file.write_text(TEXT.replace("        means =", f"        {line}\n        means ="))
    with pytest.raises(UserError, match=message):
        list(own_probe(str(file)).probe.fit(data(), [Setting()]))


def test_metrics_of_its_own_are_declared_with_their_range(file: Path) -> None:
    declared = 'from unseen.metrics.catalogue import Metric\nMETRICS = [Metric("f9", True, 0, None, "score")]\n'
    text = TEXT.replace("    shrink: float", '    metrics: ClassVar = ("f9",)\n    shrink: float')
    file.write_text(text + declared)
    [used] = own_probe(str(file)).declared
    assert (used.name, used.lower, used.upper) == ("f9", 0.0, None)
    assert jobs(own_probe(str(file)))[0].key
    file.write_text(text + declared.replace("f9", "top1"))
    with pytest.raises(UserError, match="top1 is a metric of this package"):
        own_probe(str(file))


@dataclass(frozen=True)
class Nothing(DrawnProbe):
    name: ClassVar[str] = "nothing"
    title: ClassVar[str] = "no number"
    value: float = torch.nan

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        yield self.name, [("top1", self.value)], {}


@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_metrics_that_are_not_finite_are_refused(value: float, tmp_path: Path) -> None:
    probe = Nothing(value)
    X, y = torch.rand(10, 3), torch.arange(10) % 2
    with pytest.raises(UserError, match="nothing: top1 is (nan|inf)"):
        unseen.probe(X, y, X, y, probe=probe, progress=False)
    [job] = jobs(Nothing(0.5))
    fits = list(probe.fit(data(), [job.setting]))
    with pytest.raises(UserError, match="nothing of net on l1: top1 is (nan|inf)"):
        write_result(tmp_path, job, fits_kept(fits), 0.0)
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class First(ScoredProbe):
    name: ClassVar[str] = "first"
    title: ClassVar[str] = "always the first class"
    weight: float = 1.0

    def scores(self, X_train: Any, y_train: Any, X_test: Any, classes: int, seed: int) -> Any:
        return self.weight * torch.eye(classes)[torch.zeros(len(X_test), dtype=torch.int64)]


def test_an_object_of_an_own_class_is_fitted() -> None:
    part = data()
    result = unseen.probe(part.X_train, part.y_train, part.X_test, part.y_test, probe=First())  # type: ignore[arg-type]
    assert result.scores[0].value == pytest.approx(1 / 3)
