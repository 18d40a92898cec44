"""Training on boxes and maps in the task study: planned, resumed after a kill, scored."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.images.dense.labels import Objects
from unseen.images.manifest import Manifest
from unseen.images.open_dataset import OpenDataset, open_dataset
from unseen.images.registry import get_dataset
from unseen.probes.dense import train, work
from unseen.probes.dense.finite import NotFiniteError
from unseen.probes.dense.protocols import DETECTION_FROZEN, DenseProtocol, shortened
from unseen.runs.means import Means
from unseen.studies.study import Silent, plan_study, run_study
from unseen.studies.tasks import dense_training
from unseen.studies.tasks.dense_training import DenseTrainingRequest
from unseen.studies.tasks.results import task_page


def scenes(name: str) -> OpenDataset:
    """4 training and 2 test scenes."""
    whole = open_dataset(get_dataset(name, dense=True), None)
    splits = [
        split if number < 4 or 100 <= number < 102 else "unused" for number, split in enumerate(whole.manifest.splits)
    ]
    return replace(whole, manifest=Manifest(whole.manifest.entries, splits))


def tiny(protocol: DenseProtocol) -> DenseProtocol:
    return replace(shortened(protocol, 3, scale=0.1), width=8, sides=(64,), tested=(64,), longest=96)


def request(name: str, backbone: str = "timm:resnet10t") -> DenseTrainingRequest:
    net = load_backbone(backbone, weights="random", size=64)
    return DenseTrainingRequest([scenes(name)], [net], torch.device("cpu"), tiny)


class Killed(Silent):
    """A watch that stops a training."""

    def stepping(self, what: str, total: int):  # type: ignore[no-untyped-def] # noqa: ANN201
        def step(number: int) -> None:
            if number == 2:
                raise KeyboardInterrupt

        return step


def test_a_killed_training_is_resumed_and_scored_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_devices: Means
) -> None:
    monkeypatch.setattr(train, "SAVE_SECONDS", 0.0)
    asked = request("scenes-seen")
    plan = plan_study(asked, tmp_path / "a")
    assert (plan.jobs, plan.jobs_left) == (1, 1)
    assert [each.code for each in plan.notices] == ["short-training"]
    assert plan.probing > 0
    whole = run_study(asked, tmp_path / "a")
    spread = run_study(asked, tmp_path / "c", means=two_devices)
    assert [(score.metric, score.value) for score in spread.scores] == [
        (score.metric, score.value) for score in whole.scores
    ]
    with pytest.raises(KeyboardInterrupt):
        run_study(request("scenes-seen"), tmp_path / "b", watch=Killed())
    assert list((tmp_path / "b/checkpoints").iterdir())
    resumed = run_study(request("scenes-seen"), tmp_path / "b")
    assert [(score.metric, score.value) for score in resumed.scores] == [
        (score.metric, score.value) for score in whole.scores
    ]
    assert {score.probe for score in whole.scores} == {"upernet"}
    assert not list((tmp_path / "b/checkpoints").iterdir())
    assert plan_study(request("scenes-seen"), tmp_path / "b").jobs_left == 0


@pytest.mark.long_suite
def test_a_detector_is_trained_scored_and_shown_and_the_record_says_that_a_vit_is_beyond_the_paper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The other detector differs in what trains alone, and measuring steps takes as long as training here.
    monkeypatch.setitem(dense_training.BY_KIND, "boxes", (DETECTION_FROZEN,))
    monkeypatch.setattr(DenseTrainingRequest, "_step_seconds", lambda *_: 1.0)
    found = run_study(request("scenes-seen-boxes", "timm:test_vit"), tmp_path)
    assert {(score.probe, score.metric) for score in found.scores} >= {
        ("detector-frozen-extended", metric) for metric in ("ap", "ap50", "coco-ap")
    }
    assert {score.protocol for score in found.scores} == {"ericsson-2021-detection-frozen-extended-short"}
    assert [each.code for each in found.told] == ["short-training", "simple-pyramid"]
    assert len(list((tmp_path / "pictures").rglob("*.png"))) == 2


def test_steps_without_a_finite_loss_are_told_and_predictions_that_are_not_finite_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DenseTrainingRequest, "_step_seconds", lambda *_: 1.0)
    asked, steps, right = request("scenes-seen"), list[int](), work.map_loss

    def loss(*arguments: Any) -> torch.Tensor:
        steps.append(len(steps))
        return right(*arguments) * (torch.inf if len(steps) == 2 else 1)

    monkeypatch.setattr(work, "CHECKS", 1)
    monkeypatch.setattr(work, "map_loss", loss)
    found = run_study(asked, tmp_path / "a")
    flaws = [(each.kind, each.place, each.count, each.total) for each in found.flaws]
    assert flaws == [("skipped-steps", "the training of upernet", 1, 3)]
    assert sum("1 of 3 steps" in sentence for sentence in task_page(tmp_path / "a").notices) == 1

    def predict(*_: object, **__: object) -> torch.Tensor:
        raise NotFiniteError

    monkeypatch.setattr(work, "predicted_map", predict)
    with pytest.raises(UserError, match="resnet10t on scenes-seen: .*not finite"):
        run_study(asked, tmp_path / "b")
    assert not list((tmp_path / "b/results").glob("*.json"))


def test_only_trainings_whose_numbers_changed_are_other_jobs() -> None:
    [maps], boxes = (request(name).jobs for name in ("scenes-seen", "scenes-seen-boxes"))
    assert [job.revision for job in (maps, *boxes)] == [2, 1, 1]


def test_a_data_set_that_cannot_be_scored_is_refused_before_training(tmp_path: Path) -> None:
    asked = request("scenes-seen-boxes")
    nothing = SimpleNamespace(place=str, read=lambda _: Objects.of([], []))
    with pytest.raises(UserError, match="no training image has a box"):
        run_study(replace(asked, datasets=[replace(asked.datasets[0], reader=nothing)]), tmp_path)
    assert not list(tmp_path.iterdir())


def test_depths_have_no_such_protocol() -> None:
    asked = request("scenes-seen")
    depths = replace(asked.datasets[0], dataset=replace(asked.datasets[0].dataset, target="depth"))
    with pytest.raises(UserError, match="depth"):
        _ = replace(asked, datasets=[depths]).protocols
