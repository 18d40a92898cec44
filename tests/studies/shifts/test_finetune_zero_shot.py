"""A zero-shot classifier fine-tuned from its head: resumed to the same weights, and the ends of an interpolation."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from shift_places import HERE, shift_study
from tiny_training import HUES, hues, tiny_clip

from studies import run_of
from unseen.backbones.wise_ft import write_interpolations
from unseen.data.own.one_split import open_test_set
from unseen.errors import UserError
from unseen.probes.image_cell import Stepping
from unseen.studies.shifts.finetune import FinetuneRequest, finetune_zero_shot
from unseen.studies.shifts.keys import RATES, STEPS
from unseen.studies.shifts.plans import ModelPlan, load_model, read_plans
from unseen.studies.shifts.training_sets import open_training_set
from unseen.studies.watch import Silent


@pytest.fixture(scope="module")
def request_(tmp_path_factory: pytest.TempPathFactory) -> FinetuneRequest:
    root = tmp_path_factory.mktemp("zero-shot")
    hues(root / "bright")
    (root / "classes.csv").write_text("class,name\n" + "".join(f"{name},{name}\n" for name in HUES))
    tiny, classes = tiny_clip(root / "tiny", weights=True), str(root / "classes.csv")
    plan = ModelPlan("m", tiny, head="zero-shot", classes=classes, templates="photo")
    return FinetuneRequest(plan, open_training_set(root / "bright"), rates=(3e-3,), steps=30, batch=12)


class Stop(Silent):
    def stepping(self, what: str, total: int) -> Stepping:
        def show(step: int, detail: str = "") -> None:
            if step == 20:
                raise KeyboardInterrupt

        return show


def test_it_learns_resumes_and_is_interpolated(request_: FinetuneRequest, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    table = finetune_zero_shot(request_, whole, every=10)
    with pytest.raises(KeyboardInterrupt):
        finetune_zero_shot(request_, broken, every=10, watch=Stop())
    assert request_.plan_training(broken).jobs_left == 1
    finetune_zero_shot(request_, broken, every=10)
    file = "rate-0.003.safetensors"
    assert (broken / file).read_bytes() == (whole / file).read_bytes()
    assert not list((broken / "training").iterdir())
    # The first end is the zero-shot classifier itself; the middle lies between.
    plan = request_.plan
    zero = load_model(plan, "cpu").module.state_dict()
    kept = load_file(whole / "zero-shot.safetensors")
    assert all(torch.equal(kept[name], value) for name, value in zero.items())
    write_interpolations(whole / "zero-shot.safetensors", whole / file, [0.5], tmp_path / "wise")
    plans = [*read_plans(table), replace(plan, model="wise", checkpoint=tmp_path / "wise/alpha-0.5.safetensors")]
    sets = [open_test_set(Path(request_.data.source.source.root))]  # type: ignore[attr-defined]
    run = run_of(shift_study(plans), tmp_path / "run", datasets=sets, means=HERE)
    accuracy = {score.backbone: score.value for score in run.scores}
    assert accuracy["tiny fine-tuned 0.003"] > max(0.8, accuracy["tiny zero-shot"])
    assert "wise" in accuracy


def test_the_papers_settings_and_what_is_refused(request_: FinetuneRequest, tmp_path: Path) -> None:
    assert (RATES, STEPS) == ((3e-5, 1e-4), 50_000)
    protocol = replace(request_, steps=STEPS, batch=512).protocol(3e-5)
    assert (protocol.decay, protocol.warmup, protocol.clip, protocol.batch) == (0.1, 500, 1.0, 24)
    (tmp_path / "rate-0.003.safetensors").write_bytes(b"")
    with pytest.raises(UserError, match="from another fine-tuning"):
        finetune_zero_shot(request_, tmp_path)
    for changes, message in (
        ({"plan": replace(request_.plan, head="own")}, "needs a zero-shot head"),
        ({"plan": replace(request_.plan, classes="cifar-10")}, "no outputs for 3 of its classes: blue"),
        ({"rates": (1e-4, 1e-4)}, "each once"),
    ):
        with pytest.raises(UserError, match=message):
            finetune_zero_shot(replace(request_, **changes), tmp_path / "out")
