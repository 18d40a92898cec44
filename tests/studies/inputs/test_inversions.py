"""Inversion in a study: planned, stacked over sets of images, resumed, scored by perceptual distances later."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from studies import plan_of, run_of, study_of
from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.patches import PatchSpec
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.metrics import lpips as measure
from unseen.metrics.colour import colour_errors
from unseen.metrics.lpips import Trunk, lpips
from unseen.metrics.lpips_trunks import VARIABLE, empty_trunk
from unseen.probes.by_name.inversion import Inversion
from unseen.probes.inversion import invert as inverting
from unseen.report.tasks.results import page_of_run
from unseen.runs.record import read_results
from unseen.studies.inputs import single_images
from unseen.studies.kept_images import read_kept
from unseen.studies.study import Study

SIZE = 16
INVERT = "unseen.probes.inversion.measure.invert"


class Maps(nn.Module):
    """A convolution, flat; what images of one colour give is not a number where it is told so."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 4, 4, 4)
        self.broken = False

    def forward(self, images: Tensor) -> Tensor:
        flat: Tensor = self.conv(images).flatten(1)
        same = images.flatten(2).std(dim=2).sum(dim=1) < 1e-3
        return torch.where(same[:, None], torch.nan, flat) if self.broken else flat


def backbone() -> Backbone:
    spec = PatchSpec("mine", "w", "x", "patches", 64, 7, Transform(SIZE, SIZE), digest="1", grid=(4, 4))
    return Backbone(spec, Maps().requires_grad_(False), name="mine")


@pytest.fixture(autouse=True)
def no_weights_of_this_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "hub"))
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def places(tmp_path: Path) -> list[Path]:
    """Two folders, of two images and of one."""
    draw = np.random.default_rng(0)
    found = []
    for number, count in enumerate((2, 1)):
        folder = tmp_path / f"set{number}"
        folder.mkdir()
        for image in range(count):
            Image.fromarray(draw.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(folder / f"{image}.png")
        found.append(folder)
    return found


def study(places: list[Path], batch: int | None = None, steps: int = 4, **keys: Any) -> Study:
    settings = {"steps": steps, "batch": batch}
    return study_of("inversion", datasets=list(map(str, places)), preprocessing="own", inversion=settings, **keys)


@pytest.fixture
def trunk(monkeypatch: pytest.MonkeyPatch) -> Trunk:
    """A network for perceptual distances, as if its weights had been found."""
    torch.manual_seed(1)
    found = Trunk("vgg", empty_trunk("vgg").eval(), "digest")
    monkeypatch.setattr(single_images, "perceptual_networks", lambda folder, device: ({"lpips-vgg": found}, []))
    return found


def test_a_study_is_planned_run_and_not_run_again(places: list[Path], tmp_path: Path) -> None:
    out, mine = tmp_path / "run", [backbone()]
    plan = plan_of(study(places), out, mine)
    assert plan.parts[0] == {
        "data set": "set0, 2 images", "backbone": "mine", "probe": "inversion", "images": 2, "map": "4 × 4 × 4",
        "steps": 4, "images left": 2,
    }  # fmt: skip
    assert [notice.code for notice in plan.notices] == ["short-inversion", *["no-lpips"] * 3]
    data = run_of(study(places), out, mine)
    assert {(s.probe, s.metric, s.protocol) for s in data.scores} == {
        ("inversion", f"colour-{colour}", "inversion-4") for colour in ("red", "green", "blue")
    }
    [first, _] = read_results(out)
    assert first.is_of("inversion")
    kept = read_kept(out / "by-image" / first.key, 1)
    assert kept is not None
    assert kept["reconstruction"].shape == kept["image"].shape == (SIZE, SIZE, 3)
    assert kept["clamped_loss"] != kept["loss"]
    errors = colour_errors(kept["image"][None], kept["reconstruction"][None])[0]
    assert [fit.details["by_image"][1] for fit in first.fits] == pytest.approx(errors)
    assert plan_of(study(places), out, mine).jobs_left == 0
    assert not (out / "by-image/unfinished").exists()


def test_images_of_all_sets_are_stacked_and_give_what_single_ones_give(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks = list[int]()

    def counted(*args: Any, **options: Any) -> object:
        stacks.append(len(args[1]))
        return inverting.invert(*args, **options)

    monkeypatch.setattr(INVERT, counted)
    together = run_of(study(places), tmp_path / "a", [backbone()])
    alone = run_of(study(places, batch=1), tmp_path / "b", [backbone()])
    assert stacks == [3, 1, 1, 1]
    assert [s.value for s in together.scores] == pytest.approx([s.value for s in alone.scores], rel=0.02)


def test_seeds_are_reconstructions_of_their_own(places: list[Path], tmp_path: Path) -> None:
    both = run_of(study(places[:1], seeds=2), tmp_path / "both", [backbone()])
    one = run_of(study(places[:1]), tmp_path / "one", [backbone()])
    values = {(s.seed, s.metric): s.value for s in both.scores}
    assert {seed for seed, _ in values} == {0, 1}
    assert {(0, s.metric): s.value for s in one.scores}.items() < values.items()


def test_distances_come_later_without_new_reconstructions(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    out, mine = tmp_path / "run", [backbone()]
    run_of(study(places), out, mine)
    monkeypatch.setattr(INVERT, None)
    trunk = request.getfixturevalue("trunk")
    plan = plan_of(study(places), out, mine)
    assert (plan.jobs, plan.jobs_left) == (4, 2)
    run_of(study(places), out, mine)
    first = next(result for result in read_results(out) if result.is_of("lpips"))
    kept = [read_kept(out / "by-image" / first.job["needs"][0], place) for place in range(2)]
    pairs = (np.stack([each[name] for each in kept if each]) for name in ("image", "reconstruction"))
    assert first.details["by_image"] == pytest.approx(lpips(trunk, *pairs))
    [both, single] = page_of_run(out).by_image
    assert list(both.values) == ["lpips-vgg", "colour-red", "colour-green", "colour-blue"]
    assert (len(both.values["lpips-vgg"]), len(single.values["lpips-vgg"])) == (2, 1)
    assert [set(arrays) >= {"image", "reconstruction"} for _, arrays in both.arrays()] == [True, True]


def test_a_study_that_was_killed_goes_on_from_its_checkpoint(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within the second stack, between two checkpoints."""
    out = tmp_path / "run"
    stack, calls = inverting.InversionStack.__init__, list[int]()
    often = partial(inverting.invert, every=2, saved_every=0)
    monkeypatch.setattr(INVERT, often)
    monkeypatch.setattr(Inversion, "image_seconds", lambda *_: 1.0)

    def counted(self: inverting.InversionStack, *args: Any, **options: Any) -> None:
        stack(self, *args, **options)
        step = self.step

        def one() -> Tensor:
            calls.append(len(self.targets))
            if len(calls) == fails_at:
                raise KeyboardInterrupt
            return step()

        self.step = one

    monkeypatch.setattr(inverting.InversionStack, "__init__", counted)
    asked = study(places, batch=2, steps=6)
    fails_at = 6 + 4  # the first stack has six steps, the second is killed in its fourth
    with pytest.raises(KeyboardInterrupt):
        run_of(asked, out, [backbone()])
    assert len(list((out / "by-image/unfinished").rglob("*.pt"))) == 1
    fails_at, calls[:] = 0, []
    resumed = run_of(asked, out, [backbone()])
    assert calls == [1] * 4  # from the checkpoint after two
    whole = run_of(asked, tmp_path / "whole", [backbone()])
    assert [s.value for s in resumed.scores] == [s.value for s in whole.scores]
    assert not (out / "by-image/unfinished").exists()


def _vectors(own: Backbone) -> Backbone:
    return replace(own, spec=Spec("mine", "w", "x", "avg", 64, 7, Transform(SIZE, SIZE)))


def _tiny(own: Backbone) -> Backbone:
    return replace(own, spec=replace(own.spec, transform=Transform(6, 6)))


@pytest.mark.parametrize(("change", "words"), [(_vectors, "finished module with one vector"), (_tiny, "too small")])
def test_backbones_that_it_cannot_be_done_with(
    places: list[Path], tmp_path: Path, change: Callable[[Backbone], Backbone], words: str
) -> None:
    with pytest.raises(UserError, match=f"mine: .*{words}"):
        plan_of(study(places), tmp_path / "run", [change(backbone())])


def test_an_image_whose_features_are_not_numbers_is_named(places: list[Path], tmp_path: Path) -> None:
    Image.fromarray(np.full((20, 30, 3), 7, np.uint8)).save(places[1] / "0.png")
    own = backbone()
    own.module.broken = True
    with pytest.raises(UserError, match=r"mine on set1, 1 image, 0\.png: its features are not all finite"):
        run_of(study(places), tmp_path / "run", [own])


def test_mistakes(places: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="steps must be at least 1"):
        study(places, steps=0)
    with pytest.raises(UserError, match="batch must be at least 1"):
        study(places, batch=0)


def test_images_too_small_for_a_network_are_told(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trunk: Trunk
) -> None:
    monkeypatch.setitem(measure.LEAST_SIDE, trunk.name, SIZE + 1)
    plan = plan_of(study(places), tmp_path / "run", [backbone()])
    assert plan.jobs == 2
    assert "small-for-lpips" in [notice.code for notice in plan.notices]
