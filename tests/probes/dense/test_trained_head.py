"""Detectors and heads for maps in a study: planned, resumed after a kill, scored, shown, and what is refused."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from studies import plan_of, run_of, study_of
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.data.core.dense.labels import Objects
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.registry import get_dataset
from unseen.errors import UserError
from unseen.probes.by_name.detector_frozen import DetectorFrozen
from unseen.probes.by_name.psp import PSP
from unseen.probes.by_name.upernet import UPerNet
from unseen.probes.dense import train, work
from unseen.probes.dense.finite import NotFiniteError
from unseen.probes.dense.trained_head import TrainedHead
from unseen.probes.image_cell import Stepping
from unseen.report.tasks.results import page_of_run
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.studies.study import Study
from unseen.studies.watch import Silent


@pytest.fixture(autouse=True)
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Protocols whose images have a side of 64 pixels where the study scales them by a tenth."""
    for probe in (DetectorFrozen, PSP, UPerNet):
        paper = replace(probe.paper, width=8, sides=(640,), tested=(640,), longest=960)
        monkeypatch.setattr(probe, "paper", paper)


@pytest.fixture
def quick_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring steps takes as long as training here."""
    monkeypatch.setattr(TrainedHead, "step_seconds", lambda *_: 1.0)


def scenes(name: str) -> OpenDataset:
    """4 training and 2 test scenes."""
    whole = open_dataset(get_dataset(name), None)
    splits = [
        split if number < 4 or 100 <= number < 102 else "unused" for number, split in enumerate(whole.manifest.splits)
    ]
    return replace(whole, manifest=Manifest(whole.manifest.entries, splits))


def short(probe: str, **keys: Any) -> Study:
    return study_of("detection", probes=[probe], **{probe: {"steps": 3, "scale": 0.1}}, **keys)


def network(name: str = "timm:resnet10t") -> Backbone:
    return load_backbone(name, weights="random", size=64)


def values(run: RunData) -> list[tuple[str, float]]:
    return [(score.metric, score.value) for score in run.scores]


class Killed(Silent):
    """Stops a training."""

    def stepping(self, what: str, total: int) -> Stepping:
        assert (what, total) == ("scenes-seen, timm:resnet10t, upernet", 3)

        def step(number: int, detail: str = "") -> None:
            if number == 2:
                raise KeyboardInterrupt

        return step


@pytest.mark.long_suite
def test_a_killed_training_is_resumed_and_scored_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, two_devices: Means
) -> None:
    monkeypatch.setattr(train, "SAVE_SECONDS", 0.0)
    study, given = short("upernet"), {"backbones": [network()], "datasets": [scenes("scenes-seen")]}
    plan = plan_of(study, tmp_path / "a", **given)
    assert (plan.jobs, plan.jobs_left) == (1, 1)
    [part] = plan.parts
    assert (part["probe"], part["train"], part["test"], part["steps left"]) == ("upernet", 4, 2, 3)
    assert part["decoded images"] == 0
    assert [each.code for each in plan.notices] == ["short-training"]
    assert plan.probing > 0
    whole = run_of(study, tmp_path / "a", **given)
    assert values(run_of(study, tmp_path / "c", **given, means=two_devices)) == values(whole)
    with pytest.raises(KeyboardInterrupt):
        run_of(study, tmp_path / "b", **given, watch=Killed())
    assert list((tmp_path / "b/checkpoints").iterdir())
    resumed = run_of(study, tmp_path / "b", **given)
    assert values(resumed) == values(whole)
    assert {score.probe for score in whole.scores} == {"upernet"}
    assert {domain.axis for domain in whole.domains} == {"tasks"}
    assert not (tmp_path / "b/checkpoints").exists()
    assert plan_of(study, tmp_path / "b", **given).jobs_left == 0


@pytest.mark.long_suite
def test_a_detector_is_trained_scored_and_shown_and_the_record_says_that_a_vit_is_beyond_the_paper(
    tmp_path: Path, quick_estimate: None
) -> None:
    run = run_of(short("detector-frozen"), tmp_path, [network("timm:test_vit")], datasets=[scenes("scenes-seen-boxes")])
    assert {(score.probe, score.metric) for score in run.scores} >= {
        ("detector-frozen-extended", metric) for metric in ("ap", "ap50", "coco-ap")
    }
    assert {score.protocol for score in run.scores} == {"ericsson-2021-detection-frozen-extended-short"}
    assert [each.code for each in run.told if each.code != "random-weights"] == ["short-training", "simple-pyramid"]
    assert len(list((tmp_path / "pictures").rglob("*.png"))) == 2


def test_seeds_are_trainings_of_their_own(tmp_path: Path, quick_estimate: None) -> None:
    given = {"backbones": [network()], "datasets": [scenes("scenes-seen")]}
    both = run_of(short("upernet", seeds=2), tmp_path / "both", **given)
    one = run_of(short("upernet"), tmp_path / "one", **given)
    assert {score.seed for score in both.scores} == {0, 1}
    assert {(score.key, score.metric, score.value) for score in one.scores} == {
        (score.key, score.metric, score.value) for score in both.scores if score.seed == 0
    }


def test_steps_without_a_finite_loss_are_told_and_predictions_that_are_not_finite_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick_estimate: None
) -> None:
    steps, right = list[int](), work.map_loss
    study, given = short("upernet"), {"backbones": [network()], "datasets": [scenes("scenes-seen")]}

    def loss(*arguments: Any) -> torch.Tensor:
        steps.append(len(steps))
        return right(*arguments) * (torch.inf if len(steps) == 2 else 1)

    monkeypatch.setattr(work, "CHECKS", 1)
    monkeypatch.setattr(work, "map_loss", loss)
    found = run_of(study, tmp_path / "a", **given)
    flaws = [(each.kind, each.place, each.count, each.total) for each in found.flaws]
    assert flaws == [("skipped-steps", "the training of upernet", 1, 3)]
    assert sum("1 of 3 steps" in sentence for sentence in page_of_run(tmp_path / "a").notices) == 1

    def predict(*_: object, **__: object) -> torch.Tensor:
        raise NotFiniteError

    monkeypatch.setattr(work, "predicted_map", predict)
    with pytest.raises(UserError, match="resnet10t on scenes-seen: .*not finite"):
        run_of(study, tmp_path / "b", **given)
    assert not list((tmp_path / "b/results").glob("*.json"))


def test_only_trainings_whose_numbers_changed_are_other_jobs() -> None:
    from unseen.probes.image_cell import ImageInputs

    def revisions(name: str, *probes: TrainedHead) -> list[int]:
        data = scenes(name)
        inputs = ImageInputs(network(), data.dataset, "images", data.rows, "float32", "labels")
        return [job.revision for probe in probes for job in probe.jobs(inputs, [0])]

    assert revisions("scenes-seen", UPerNet()) == [2]
    assert revisions("scenes-seen-boxes", DetectorFrozen()) == [1]


def test_a_data_set_that_cannot_be_scored_is_refused_before_training(tmp_path: Path) -> None:
    nothing = SimpleNamespace(place=str, read=lambda _: Objects.of([], []))
    data = replace(scenes("scenes-seen-boxes"), reader=nothing)
    with pytest.raises(UserError, match="no training image has a box"):
        run_of(short("detector-frozen"), tmp_path, [network()], datasets=[data])
    assert not list(tmp_path.iterdir())


def test_no_probe_trains_on_depths(tmp_path: Path) -> None:
    data = scenes("scenes-seen")
    depths = replace(data, dataset=replace(data.dataset, target="depth"))
    with pytest.raises(UserError, match="upernet takes maps of classes, not depth maps"):
        plan_of(short("upernet"), tmp_path, [network()], datasets=[depths])


def test_a_study_of_classes_and_of_maps_trains_each_with_its_own_preprocessing(
    tmp_path: Path, quick_estimate: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from coloured_images import coloured

    from unseen.probes.finetuning import timing

    monkeypatch.setattr(timing, "step_seconds", lambda *_: 1.0)
    study = study_of(
        "finetune", probes=["fine-tuned", "upernet"], upernet={"steps": 3, "scale": 0.1},
        **{"fine-tuned": {"trials": 1, "steps": 1}},
    )  # fmt: skip
    sets = [coloured(), scenes("scenes-seen")]
    squashed = replace(
        network(), spec=replace(network().spec, transform=replace(network().spec.transform, squash=True))
    )
    both = run_of(study, tmp_path / "both", [squashed], datasets=sets)
    alone = run_of(short("upernet"), tmp_path / "maps", [squashed], datasets=sets[1:])
    assert {score.domain for score in both.scores} == {"digits", "scenes-seen"}
    maps = [(score.key, score.value) for score in both.scores if score.domain == "scenes-seen"]
    assert maps == [(score.key, score.value) for score in alone.scores]
