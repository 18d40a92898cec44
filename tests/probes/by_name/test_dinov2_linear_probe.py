"""The probe `dinov2-linear`: what it plans, what it says, and its scores through the engine."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import unseen as package
from studies import run_of, study_of
from unseen.backbones.vector_parts import vector_parts
from unseen.errors import UserError
from unseen.probes.by_name.dinov2_linear import DINOv2Linear
from unseen.probes.probe import ProbeData, Size, ValidationData
from unseen.probes.protocol import Setting
from unseen.probes.sgd.grid_protocol import DINOV2_LINEAR
from unseen.probes.vectors import Vectors
from unseen.runs.means import Means
from unseen.runs.record import read_results, read_run

Unseen = Callable[..., Any]
FOUR = ("cls1", "cls1-avg", "cls4", "cls4-avg")
PARTS = vector_parts("last-4", "cls+avg", 40)
VECTORS = Vectors("b", "d", {"train": 100, "val": 20, "test": 10}, 3, 40, parts=PARTS)


def data(factor: float = 1.0) -> ProbeData:
    """Overlapping classes, with validation samples of their own."""
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(5, 40, generator=generator)
    parts = []
    for each in (40, 30, 10):
        y = torch.arange(5).repeat(each)
        parts += [factor * (centres[y] + 2 * torch.randn(len(y), 40, generator=generator)), y]
    return ProbeData(*parts[:4], 5, validation=ValidationData(*parts[4:]), parts=PARTS)


def test_inputs_and_steps_are_planned_from_the_features() -> None:
    [planned] = DINOv2Linear(steps=50).planned(VECTORS)
    assert planned.inputs == ("cls1=24:32", "cls1-avg=24:40", "cls4=0:32", "cls4-avg=0:40")
    assert (planned.steps, planned.protocol, planned.products) == (None, DINOV2_LINEAR.of_steps(50), "float32")
    assert DINOv2Linear().planned(VECTORS, gpu=True)[0].products == "float16"
    assert DINOv2Linear().planned(replace(VECTORS, parts=()))[0].inputs == ("all=0:40",)
    own = DINOv2Linear(inputs=("half=0:20",))
    assert own.planned(VECTORS)[0].inputs == own.inputs
    with pytest.raises(UserError, match="40 dimensions"):
        DINOv2Linear(inputs=("half=0:41",)).planned(VECTORS)
    with pytest.raises(UserError, match="no protocol 'cog-v2' of dinov2-linear"):
        DINOv2Linear().with_protocol("cog-v2")


def test_seeds_count_although_validation_samples_are_fixed() -> None:
    jobs = list(DINOv2Linear().jobs(VECTORS, [0, 1, 2]))
    assert [job.seed for job in jobs] == [0, 1, 2]
    assert len({job.key for job in jobs}) == 3


def test_what_is_said_depends_on_the_features_and_the_steps() -> None:
    def vectors(parts: Any) -> Vectors:
        return Vectors("b", "d", {"train": 40, "test": 5}, 2, 40, parts=tuple(parts))

    def codes(probe: DINOv2Linear, parts: Any = PARTS) -> list[str]:
        return [code for code, _ in (*probe.remarks(), *probe.data_notices(vectors(parts), ""))]

    assert codes(DINOv2Linear()) == ["dinov2-on-features"]
    assert codes(DINOv2Linear(steps=10)) == ["dinov2-on-features", "short-training"]
    assert codes(DINOv2Linear(steps=20_000), ()) == ["dinov2-on-features", "fewer-inputs"]
    assert codes(DINOv2Linear(inputs=("all=0:40",)), ()) == ["dinov2-on-features"]
    [(_, about)] = DINOv2Linear().data_notices(vectors(vector_parts("last-2", "cls", 40)), "")
    assert about["names"] == "cls1 and cls2"


@pytest.mark.parametrize("kept", [True, False])
def test_class_scores_give_the_hits_of_every_row(*, kept: bool) -> None:
    probe, of = DINOv2Linear(steps=30), data()
    fits = list(probe.fit(of, [Setting(None, 2)]))
    assert [fit.variant for fit in fits] == ["dinov2-linear", *(f"dinov2-linear-{name}" for name in FOUR)]
    assert len(fits) == probe.variants(of)
    best = next(fit for fit in fits[1:] if fit.details["input"] == fits[0].details["input"])
    assert best.values == fits[0].values
    assert max(fits[0].details["validation"]) == max(max(fit.details["validation"]) for fit in fits[1:])
    assert len({fit.values[0] for fit in fits}) > 1
    found = probe.test_scores(of, Setting(None, 2), fits[0].details if kept else {})
    assert found is not None
    for fit, (variant, scores) in zip(fits, found, strict=True):
        assert variant == fit.variant
        assert fit.units is not None
        assert np.array_equal((scores.argmax(dim=1) == of.y_test).numpy(), fit.units.arrays["correct"])


def test_shots_draw_training_and_validation_samples() -> None:
    of = replace(data(), validation=None)
    first, second = (next(DINOv2Linear(steps=5).fit(of, [Setting(shots, 0)])) for shots in (8, None))
    assert (first.shots, second.shots) == (8, None)
    with pytest.raises(UserError, match="single training sample"):
        next(DINOv2Linear(steps=5).fit(of, [Setting(1, 0)]))


def test_costs_are_those_of_the_inputs() -> None:
    size, setting = Size(1_280_000, 50_000, 1000, (3840,)), Setting()
    vectors = replace(VECTORS, dimension=3840, parts=vector_parts("last-4", "cls+avg", 3840))
    [planned] = DINOv2Linear().planned(vectors, gpu=True)
    weights = 12 * 768 * 13 * 1000
    assert planned.flops(size, setting) == pytest.approx(4 * 1024 * 12_500 * weights, rel=0.02)
    assert DINOv2Linear().flops(size, setting) == planned.flops(size, setting)
    features = 1_280_000 * 3840 * 2
    assert features < planned.memory(size, gpu=True) < features + 14 * weights
    assert planned.seconds(size, setting, 5e14, gpu=True) == pytest.approx(20, rel=0.3)
    small = Size(100, 100, 2, (10,))
    assert DINOv2Linear().seconds(small, setting, 5e14, gpu=True) > 1  # launches take longer than products


def test_diverged_classifiers_are_named_on_the_page(unseen: Unseen, tmp_path: Path) -> None:
    """Large features: some rates are too large for them, and the others are not affected."""
    of = data(1e19)
    (tmp_path / "features/big").mkdir(parents=True)
    for split, X, y in (("train", of.X_train, of.y_train), ("test", of.X_test, of.y_test)):
        np.savez(tmp_path / f"features/big/{split}.npz", X=np.asarray(X), y=y.numpy())
    study = study_of(probes=["dinov2-linear"], seeds=1, datasets=["big"])
    study = study.replace(**{"dinov2-linear": {"steps": 20, "inputs": ["half=0:20", "all=0:40"]}})
    run = run_of(study, tmp_path / "run", features=tmp_path / "features", means=Means(1))
    [result] = read_results(tmp_path / "run")
    assert all(0 < fit.details["diverged"] < 13 for fit in result.fits)
    assert all(fit.details["validation"].count(None) == fit.details["diverged"] for fit in result.fits)
    assert {(flaw.kind, flaw.place, flaw.total) for flaw in run.flaws} == {
        ("diverged", f"dinov2-linear-{name}", 13) for name in ("half", "all")
    }
    assert unseen("report", tmp_path / "run", "--out", tmp_path / "page.html").code == 0
    assert "classifiers of dinov2-linear-half diverged" in (tmp_path / "page.html").read_text()


def test_a_metric_of_ones_own_is_measured_on_every_row(tmp_path: Path) -> None:
    of = data()
    arrays = (of.X_train.numpy(), of.y_train.numpy(), of.X_test.numpy(), of.y_test.numpy())
    probe = DINOv2Linear(steps=30, inputs=("cls1=24:32", "cls4=0:32"))
    result = package.probe(*arrays, probe=probe, metric="macro-f1", seeds=1)
    frame = result.to_frame()
    assert sorted(frame[frame.metric == "macro-f1"].probe) == [
        "dinov2-linear",
        "dinov2-linear-cls1",
        "dinov2-linear-cls4",
    ]
    assert result.told == ()
    plain = package.probe(*arrays, probe=DINOv2Linear(steps=5), seeds=1)
    assert [notice.code for notice in plain.told] == ["fewer-inputs"]
    assert [fit.details["input"] for fit in plain.fits] == ["all"]


def test_a_study_of_the_last_four_blocks_has_a_row_per_input(unseen: Unseen, tmp_path: Path) -> None:
    words: list[object] = ["run", "dinov2-linear", "--backbone", "timm:test_vit", "--datasets", "digits"]
    words += ["--limit", 8, "--set", "backbone.weights=random", "--set", "backbone.size=32", "--workers", 1]
    words += ["--set", "dinov2-linear.steps=20"]
    assert unseen(*words, "--part", "1/2", "--out", tmp_path / "run").code in {0, 3}
    assert unseen(*words, "--part", "2/2", "--out", tmp_path / "run").code == 0
    run = read_run(tmp_path / "run")
    assert {score.probe for score in run.scores} == {"dinov2-linear", *(f"dinov2-linear-{name}" for name in FOUR)}
    assert {score.protocol for score in run.scores} == {"dinov2-linear-short"}
    assert {"dinov2-on-features", "short-training"} <= {notice.code for notice in run.told}
    assert "fewer-inputs" not in {notice.code for notice in run.told}
    [result] = read_results(tmp_path / "run")
    assert result.job["settings"]["inputs"] == ["cls1=192:256", "cls1-avg=192:320", "cls4=0:256", "cls4-avg=0:320"]
    assert json.loads(json.dumps(result.details))["products"] == "float32"


def test_an_input_that_diverges_does_not_lose_the_others(unseen: Unseen, tmp_path: Path) -> None:
    """Its rows are named as a flaw, the others are as without it, and a metric of one's own is measured on them."""
    of = data()
    factors = torch.ones(40)
    factors[10:20] = 1e25
    (tmp_path / "features/big").mkdir(parents=True)
    for split, X, y in (("train", of.X_train, of.y_train), ("test", of.X_test, of.y_test)):
        np.savez(tmp_path / f"features/big/{split}.npz", X=np.asarray(X * factors), y=y.numpy())
    study = study_of(probes=["dinov2-linear"], seeds=1, datasets=["big"], metrics=["macro-f1"])
    study = study.replace(**{"dinov2-linear": {"steps": 20, "inputs": ["a=0:10", "b=10:20"]}})
    run = run_of(study, tmp_path / "run", features=tmp_path / "features", means=Means(1))
    result = next(each for each in read_results(tmp_path / "run") if each.is_of("dinov2-linear"))
    assert [fit.variant for fit in result.fits] == ["dinov2-linear", "dinov2-linear-a", "dinov2-linear-b"]
    assert (result.fits[0].details["input"], result.fits[2].details["diverged"], result.fits[2].values) == ("a", 13, [])
    assert {(score.probe, score.metric) for score in run.scores} == {
        (probe, metric) for probe in ("dinov2-linear", "dinov2-linear-a") for metric in ("top1", "top5", "macro-f1")
    }
    assert ("diverged", "dinov2-linear-b", 13, 13) in {
        (each.kind, each.place, each.count, each.total) for each in run.flaws
    }
    assert unseen("report", tmp_path / "run", "--out", tmp_path / "page.html").code == 0
    assert "classifiers of dinov2-linear-b diverged" in (tmp_path / "page.html").read_text()
    arrays = [each.numpy() for each in (of.X_train * factors, of.y_train, of.X_test * factors, of.y_test)]
    both = package.probe(
        *arrays, probe=DINOv2Linear(steps=20, inputs=("a=0:10", "b=10:20")), metric="macro-f1", seeds=1
    )
    assert sorted(both.to_frame().query("metric == 'macro-f1'").probe) == ["dinov2-linear", "dinov2-linear-a"]
    with pytest.raises(UserError, match="a or b"):
        package.probe(*arrays, probe=DINOv2Linear(steps=20, inputs=("a=10:20", "b=12:20")), seeds=1)
