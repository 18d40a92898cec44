"""Fine-tuning as a request: its plan, what fails and what does not, and what is told meanwhile."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.errors import JobsError, OtherPartsError, UserError
from unseen.images.arrays import array_images
from unseen.images.manifest import Manifest
from unseen.images.open_dataset import OpenDataset
from unseen.images.registry import DATASETS
from unseen.images.sets.digits import DATASET
from unseen.images.transform import Transform
from unseen.probes.finetuning.grid import finetune_grid
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.runs.notices import left_out
from unseen.runs.record import read_record, read_run
from unseen.studies import finetuning
from unseen.studies.study import Silent, plan_study, run_study
from unseen.studies.tasks import finetune_request, finetune_trainer
from unseen.studies.tasks.finetune_request import FinetuneRequest
from unseen.studies.tasks.opened import Opened

CPU = torch.device("cpu")


def backbone(name: str = "tiny") -> Backbone:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    module.eval().requires_grad_(False)
    return Backbone(Spec(name, "seed 0", "output", "none", 4, 0, Transform(size=6, resize=6)), module)


def data(name: str = "digits") -> OpenDataset:
    """Three classes that differ in colour: eight images of each train, four validate, four test."""
    rng = np.random.default_rng(0)
    labels = np.arange(48) % 3
    pixels = rng.integers(0, 150, (48, 6, 6, 3))
    pixels[np.arange(48), ..., labels] += 70
    source = array_images(pixels.astype(np.uint8), ["abc"[label] for label in labels])
    return OpenDataset(DATASETS[name], source, Manifest(source.entries, ["train"] * 24 + ["val"] * 12 + ["test"] * 12))


def request(*datasets: OpenDataset, trials: int = 1, backbones: tuple[str, ...] = ("tiny",), **more: Any) -> Any:
    opened = Opened(list(datasets) or [data()], [left_out("dtd", "dtd: not there")])
    grid = finetune_grid(trials=trials, steps=2)
    return FinetuneRequest(opened, [backbone(name) for name in backbones], grid, CPU, **more)


@pytest.fixture(autouse=True)
def quick_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finetuning, "step_seconds", lambda *_: 0.5)


class Heard(Silent):
    """Notes what is told, and of which work the steps are."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.steps: dict[str, list[int]] = {}
        self.jobs: tuple[int, int, float] | None = None

    def tell(self, sentence: str) -> None:
        self.said.append(sentence)

    def started(self, left: int, jobs: int, seconds: float) -> None:
        self.jobs = left, jobs, seconds

    def stepping(self, what: str, total: int) -> Callable[[int], None]:
        return self.steps.setdefault(what, []).append


def test_a_plan_counts_trainings_and_a_second_run_does_nothing(tmp_path: Path) -> None:
    asked = request(trials=2)
    plan = plan_study(asked, tmp_path / "run")
    assert (plan.jobs, plan.jobs_left, plan.probing) == (3, 3, 3 * 2 * 0.5)
    [part] = plan.parts
    assert (part["train"], part["val"], part["test"], part["steps left"]) == (24, 12, 12, 6)
    assert part["decoded images"] == 3 * (48 * 6**2 + 36 * 9**2)
    assert [notice.code for notice in plan.notices] == ["left-out", "told"]
    assert not (tmp_path / "run").exists()

    heard = Heard()
    run = run_study(asked, tmp_path / "run", watch=heard)
    assert heard.jobs == (3, 3, 3.0)
    assert heard.steps["digits, tiny, setting 2 of 2"] == [1, 2]
    assert heard.steps["digits, tiny, the best"] == [1, 2]
    assert [(score.probe, score.protocol, score.metric) for score in run.scores][:1] == [
        ("fine-tuned", "ericsson-2021-short", "top1")
    ]
    assert not [*(tmp_path / "run").glob("pixels/*")]
    plan = plan_study(asked, tmp_path / "run")
    assert (plan.jobs_left, plan.probing) == (0, 0)
    heard = Heard()
    assert run_study(asked, tmp_path / "run", watch=heard).scores == run.scores
    assert (heard.jobs, heard.steps) == (None, {})


def test_another_search_takes_the_place_of_the_first(tmp_path: Path) -> None:
    run_study(request(), tmp_path)
    run_study(request(backbones=("other",)), tmp_path)
    _, before = read_record(tmp_path)
    run = run_study(request(trials=2), tmp_path)
    _, after = read_record(tmp_path)
    assert len(before) == len(after) == 2
    assert len({*before} & {*after}) == 1  # the other backbone's
    assert {score.backbone for score in run.scores} == {"tiny", "other"}
    assert {len({score.key for score in run.scores if score.backbone == name}) for name in ("tiny", "other")} == {1}


def test_what_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = finetune_trainer.load_task_images

    def damaged(opened: OpenDataset, *args: Any, **options: Any) -> Any:
        if opened.dataset.name == "pets":
            raise UserError("b/07.png: not an image")
        return load(opened, *args, **options)

    both = request(data("pets"), data())
    heard = Heard()
    with monkeypatch.context() as patch:
        patch.setattr(finetune_trainer, "load_task_images", damaged)
        with pytest.raises(JobsError, match="pets, tiny: b/07.png") as raised:
            run_study(both, tmp_path, watch=heard)
    assert (raised.value.done, raised.value.failures) == (1, heard.said)
    assert [domain.name for domain in read_run(tmp_path).domains] == ["digits"]
    assert [each.code for each in read_run(tmp_path).told if each.code == "failed"] == ["failed"]
    run = run_study(both, tmp_path)
    assert {score.domain for score in run.scores} == {"digits", "pets"}
    assert not [each for each in run.told if each.code == "failed"]


def test_what_was_done_and_not_written_down_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(finetune_request, "record_finetunings", killed)
        with pytest.raises(KeyboardInterrupt):
            run_study(request(), tmp_path)
    assert not (tmp_path / "run.json").exists()
    assert run_study(request(), tmp_path).scores


def test_images_of_one_backbone_are_gone_before_those_of_the_next_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU may have room for the images of one geometry and not for two."""
    import weakref

    loaded: list[weakref.ref[object]] = []
    load = finetune_trainer.load_task_images

    def watched(*args: Any, **options: Any) -> object:
        assert all(images() is None for images in loaded)
        images = load(*args, **options)
        loaded.append(weakref.ref(images))
        return images

    monkeypatch.setattr(finetune_trainer, "load_task_images", watched)
    run_study(request(backbones=("a", "b")), tmp_path)
    assert len(loaded) == 2


def test_what_cannot_be_asked(tmp_path: Path) -> None:
    unsplit = replace(data(), dataset=replace(DATASET, test=None, validation=None))
    with pytest.raises(UserError, match="no training split to fine-tune on"):
        plan_study(request(unsplit), tmp_path)
    asked = request(unsplit, data())
    assert [notice.domain for notice in asked.split.absent] == ["dtd", "digits"]
    assert [each.job.dataset for each in asked.finetunings] == ["digits"]
    run_study(request(), tmp_path)
    other = FinetuneRequest(
        Opened([data()]),
        [replace(backbone(), spec=replace(backbone().spec, weights="seed 1"))],
        finetune_grid(trials=1, steps=2),
        CPU,
    )
    with pytest.raises(UserError, match="tiny"):
        plan_study(other, tmp_path)


def values(run: RunData) -> set[tuple[str, str, float]]:
    return {(score.key, score.metric, score.value) for score in run.scores}


def test_parts_and_devices_train_what_one_process_trains(tmp_path: Path, two_devices: Means) -> None:
    """Settings are divided too: who has to wait for those of another part says so, and the next call goes on."""
    asked = request(trials=2, backbones=("tiny", "other"))
    expected = values(run_study(asked, tmp_path / "one"))
    with pytest.raises(OtherPartsError, match="digits"):
        run_study(asked, tmp_path / "parts", part=(3, 3))
    for number in (1, 2, 3):
        with suppress(OtherPartsError):
            run_study(asked, tmp_path / "parts", part=(number, 3))
    for number in (1, 2, 3):
        parts = run_study(asked, tmp_path / "parts", part=(number, 3))
    assert values(parts) == expected
    devices = run_study(asked, tmp_path / "devices", means=two_devices)
    assert values(devices) == expected
    assert not [*tmp_path.glob("*/pixels/*")]
