"""Trainings of a study on images: planned, run in any way, resumed, recorded, and what fails and what does not."""

import shutil
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from coloured_images import coloured, small_network
from torch import nn

from studies import plan_of, run_of, study_of
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import JobsError, OtherPartsError, UserError
from unseen.probes.finetuning import search, timing
from unseen.probes.finetuning.grid import FinetuneGrid, finetune_grid
from unseen.probes.image_cell import CHECKPOINTS, Stepping
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.runs.record import read_record, read_run
from unseen.runs.results import read_all
from unseen.studies.study import Study
from unseen.studies.watch import Silent


@pytest.fixture(autouse=True)
def quick_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "step_seconds", lambda *_: 0.5)


def grid(trials: int = 1, steps: int = 2, **keys: Any) -> Study:
    return study_of("finetune", **{"fine-tuned": {"trials": trials, "steps": steps}, **keys})


def results(out: Path) -> set[str]:
    return {path.name for path in (out / "results").glob("*.json")}


def values(run: RunData) -> set[tuple[str, str, float]]:
    return {(score.key, score.metric, score.value) for score in run.scores}


class Heard(Silent):
    """Notes of which work the steps are."""

    def __init__(self) -> None:
        self.steps: dict[str, list[int]] = {}
        self.jobs: tuple[int, int, float] | None = None

    def started(self, left: int, jobs: int, seconds: float) -> None:
        self.jobs = left, jobs, seconds

    def stepping(self, what: str, total: int) -> Stepping:
        of = self.steps.setdefault(what, [])
        return lambda step, detail="": of.append(step)


class Killed(Silent):
    """Stops a piece of work at a step."""

    def __init__(self, what: str, step: int) -> None:
        self.what, self.step = what, step

    def stepping(self, what: str, total: int) -> Stepping:
        def stop(step: int, detail: str = "") -> None:
            if (what, step) == (self.what, self.step):
                raise KeyboardInterrupt

        return stop


def test_a_plan_counts_trainings_and_a_second_run_does_nothing(tmp_path: Path) -> None:
    study, given = grid(trials=2), {"backbones": [small_network()], "datasets": [coloured()]}
    plan = plan_of(study, tmp_path / "run", **given)
    assert (plan.jobs, plan.jobs_left, plan.probing) == (3, 3, 3 * 2 * 0.5)
    [part] = plan.parts
    assert (part["train"], part["val"], part["test"], part["trainings left"], part["steps left"]) == (24, 12, 12, 3, 6)
    assert part["decoded images"] == 3 * (48 * 6**2 + 36 * 9**2)
    assert [notice.code for notice in plan.notices] == ["told"]
    assert not (tmp_path / "run").exists()

    heard = Heard()
    run = run_of(study, tmp_path / "run", **given, watch=heard)
    assert heard.jobs == (3, 3, 3.0)
    assert heard.steps["digits, tiny, rate 0.001, decay 1e-06, centre"] == [1, 2]
    assert heard.steps["digits, tiny, the best"] == [1, 2]
    assert [(score.probe, score.protocol, score.metric) for score in run.scores][:1] == [
        ("fine-tuned", "ericsson-2021-short", "top1")
    ]
    assert not [*(tmp_path / "run").glob("pixels/*")]
    plan = plan_of(study, tmp_path / "run", **given)
    assert (plan.jobs, plan.jobs_left, plan.probing) == (3, 0, 0)
    heard = Heard()
    assert run_of(study, tmp_path / "run", **given, watch=heard).scores == run.scores
    assert (heard.jobs, heard.steps) == (None, {})


def test_a_result_is_enough_where_its_trials_were_not_kept(tmp_path: Path) -> None:
    study, given = grid(trials=2), {"backbones": [small_network()], "datasets": [coloured()]}
    [final] = {score.key for score in run_of(study, tmp_path, **given).scores}
    for path in (tmp_path / "results").glob("*.json"):
        if path.stem != final:
            path.unlink()
    assert (plan_of(study, tmp_path, **given).jobs, plan_of(study, tmp_path, **given).jobs_left) == (1, 0)


def test_seeds_and_data_sets_have_one_result_each(tmp_path: Path) -> None:
    study, sets = grid(seeds=2), [coloured(), coloured("pets", seed=1)]
    both = run_of(study, tmp_path / "both", [small_network()], datasets=sets)
    top1 = [score for score in both.scores if score.metric in {"top1", "mean-per-class"}]
    assert [(score.domain, score.seed) for score in top1] == [(name, s) for name in ("digits", "pets") for s in (0, 1)]
    assert len({score.key for score in both.scores}) == 4
    for each in sets:
        alone = run_of(study, tmp_path / each.name, [small_network()], datasets=[each])
        assert values(alone) == {value for value, score in zip(_listed(both), both.scores, strict=True)
                                 if score.domain == each.name}  # fmt: skip


def _listed(run: RunData) -> list[tuple[str, str, float]]:
    return [(score.key, score.metric, score.value) for score in run.scores]


def test_another_search_is_refused_or_takes_the_place_of_the_first(tmp_path: Path) -> None:
    def run(study: Study, replacing: bool = False) -> RunData:
        return run_of(study, tmp_path, [small_network()], datasets=[coloured()], replacing=replacing)

    run(grid(trials=2))
    _, before = read_record(tmp_path)
    tried = results(tmp_path)
    with pytest.raises(UserError, match="differs in the key fine-tuned.trials"):
        run(grid(trials=3))
    assert results(tmp_path) == tried
    found = run(grid(trials=3), replacing=True)
    _, after = read_record(tmp_path)
    assert len(after) == 1
    assert {*before}.isdisjoint(after)
    assert {score.key for score in found.scores} == {*after}
    assert tried < results(tmp_path)
    assert len(results(tmp_path) - tried) == 2, "the third setting and the best; what was tried is kept"


def test_another_backbone_is_added(tmp_path: Path) -> None:
    run_of(grid(), tmp_path, [small_network()], datasets=[coloured()])
    run = run_of(grid(), tmp_path, [small_network("other")], datasets=[coloured()])
    assert {score.backbone for score in run.scores} == {"tiny", "other"}
    with pytest.raises(UserError, match="differs in the weights of tiny in fine-tuning"):
        plan_refused(tmp_path, weights="seed 1")


def plan_refused(out: Path, weights: str) -> None:
    run_of(grid(), out, [small_network(weights=weights)], datasets=[coloured()])


@pytest.mark.parametrize(
    ("what", "step"),
    [
        pytest.param("digits, tiny, rate 0.001, decay 1e-06, centre", 6, marks=pytest.mark.long_suite),
        ("digits, tiny, the best", 14),
    ],
)
def test_a_killed_search_with_a_setting_that_diverges_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, step: int
) -> None:
    usual = FinetuneGrid.settings.fget  # type: ignore[attr-defined]

    def settings(self: FinetuneGrid) -> tuple[Any, ...]:
        first, *others = usual(self)
        return (replace(first, rate=1e30), *others)

    monkeypatch.setattr(FinetuneGrid, "settings", property(settings))
    study, given = grid(trials=3, steps=20), {"backbones": [small_network()], "datasets": [coloured()]}
    whole = run_of(study, tmp_path / "whole", **given)
    with pytest.raises(KeyboardInterrupt):
        run_of(study, tmp_path / "killed", **given, watch=Killed(what, step))
    assert len([*(tmp_path / "killed" / CHECKPOINTS).iterdir()]) == 1
    assert [*(tmp_path / "killed").glob("pixels/digits/*")]
    done, heard = results(tmp_path / "killed"), Heard()
    resumed = run_of(study, tmp_path / "killed", **given, watch=heard)
    assert values(resumed) == values(whole)
    assert done < results(tmp_path / "killed")
    assert heard.steps[what][0] == step  # of 2, 4, … 20: the checkpoint is of the one before
    assert not (tmp_path / "killed" / CHECKPOINTS).exists()
    assert not (tmp_path / "killed/pixels").exists()
    [result] = read_all(tmp_path / "killed" / "results", read_record(tmp_path / "killed")[1])
    assert result.details["validation"][0] is None
    assert result.details["chosen"] > 0


def test_if_every_setting_diverges_there_is_none_to_choose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wild = replace(finetune_grid(trials=1, steps=2).settings[0], rate=1e30)
    monkeypatch.setattr(FinetuneGrid, "settings", property(lambda _: (wild,)))
    with pytest.raises(UserError, match="tiny on digits: all 1 trainings diverged"):
        run_of(grid(), tmp_path, [small_network()], datasets=[coloured()])


def test_what_fails_does_not_stop_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load = search.load_task_images

    def damaged(opened: OpenDataset, *args: Any, **options: Any) -> Any:
        if opened.name == "pets":
            raise UserError("b/07.png: not an image")
        return load(opened, *args, **options)

    both = {"backbones": [small_network()], "datasets": [coloured("pets"), coloured()]}
    with monkeypatch.context() as patch:
        patch.setattr(search, "load_task_images", damaged)
        with pytest.raises(JobsError, match="tiny on pets: b/07.png") as raised:
            run_of(grid(), tmp_path, **both)
    assert (raised.value.done, len(raised.value.failures)) == (2, 1)
    run = read_run(tmp_path)
    assert {score.domain for score in run.scores} == {"digits"}
    assert [each.code for each in run.told if each.code == "failed"] == ["failed"]
    run = run_of(grid(), tmp_path, **both)
    assert {score.domain for score in run.scores} == {"digits", "pets"}
    assert not [each for each in run.told if each.code == "failed"]


def test_a_backbone_is_left_alone(tmp_path: Path) -> None:
    own = small_network()
    before = {name: value.clone() for name, value in own.module.state_dict().items()}
    run_of(grid(trials=2), tmp_path, [own], datasets=[coloured()])
    assert all((value == before[name]).all() for name, value in own.module.state_dict().items())
    assert not any(value.requires_grad for value in own.module.parameters())


def test_images_of_one_backbone_are_gone_before_those_of_the_next_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A GPU may have room for the images of one geometry and not for two."""
    loaded: list[weakref.ref[object]] = []
    load = search.load_task_images

    def watched(*args: Any, **options: Any) -> object:
        assert all(images() is None for images in loaded)
        images = load(*args, **options)
        loaded.append(weakref.ref(images))
        return images

    monkeypatch.setattr(search, "load_task_images", watched)
    run_of(grid(trials=2), tmp_path, [small_network("a"), small_network("b")], datasets=[coloured()])
    assert len(loaded) == 2


def test_what_cannot_be_trained_on(tmp_path: Path) -> None:
    unsplit = coloured(splits=["all"] * 48)
    with pytest.raises(UserError, match="fine-tuned needs training, validation and test images"):
        plan_of(grid(), tmp_path, [small_network()], datasets=[unsplit])
    pixels = replace(small_network(), module=nn.Flatten())
    with pytest.raises(UserError, match="tiny: has no trainable parameters"):
        plan_of(grid(), tmp_path, [pixels], datasets=[coloured()])


def test_parts_and_devices_train_what_one_process_trains(tmp_path: Path, two_devices: Means) -> None:
    """Settings are divided too: who has to wait for those of another part says so, and the next call goes on."""
    study = grid(trials=2)
    given = {"backbones": [small_network(), small_network("other")], "datasets": [coloured()]}
    expected = values(run_of(study, tmp_path / "one", **given))
    last, waiting = RunData("", (), [], [], ""), list[tuple[int, int]]()
    for time in (1, 2):
        for number in (1, 2, 3):
            try:
                last = run_of(study, tmp_path / "parts", **given, part=(number, 3))
            except OtherPartsError as error:
                assert "needs jobs of other parts" in str(error)
                waiting.append((time, number))
    assert values(last) == expected
    assert waiting == [(1, 1), (1, 2)], "where the best setting is trained, if settings of other parts are not tried"
    devices = run_of(study, tmp_path / "devices", **given, means=two_devices)
    assert values(devices) == expected
    assert not [*tmp_path.glob("*/pixels/*")]


def test_the_division_into_parts_does_not_depend_on_what_is_done(tmp_path: Path) -> None:
    """Otherwise two parts that start at different times train the same, or leave a gap."""
    study, sets = grid(trials=3), [coloured(), coloured("pets")]
    before = plan_of(study, tmp_path, [small_network()], datasets=sets)
    run_of(study, tmp_path, [small_network()], datasets=sets[:1])
    after = plan_of(study, tmp_path, [small_network()], datasets=sets)
    assert [before.share((number, 3)).jobs for number in (1, 2, 3)] == [
        after.share((number, 3)).jobs for number in (1, 2, 3)
    ]
    assert [load.shared for load in before.loads] == [load.shared for load in after.loads]


def test_decoded_images_that_another_process_uses_are_kept(tmp_path: Path) -> None:
    from unseen.runs.lock import shared_use

    given = {"backbones": [small_network()], "datasets": [coloured()]}
    with shared_use(tmp_path / ".pixels-digits.lock"):
        run_of(grid(), tmp_path, **given)
        assert [*tmp_path.glob("pixels/digits/*")]
    shutil.rmtree(tmp_path / "results")
    run_of(grid(), tmp_path, **given)
    assert not [*tmp_path.glob("pixels/*")]
