"""Inversion as a study: planned, stacked over sets of images, resumed, scored by perceptual distances later."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.patches import PatchSpec
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.images.transform import Transform
from unseen.metrics import lpips as measure
from unseen.metrics.colour import colour_errors
from unseen.metrics.lpips import Trunk, lpips
from unseen.metrics.lpips_trunks import VARIABLE, empty_trunk
from unseen.probes.inversion import invert as inverting
from unseen.runs.record import read_results
from unseen.studies.study import plan_study, run_study
from unseen.studies.tasks.by_image.kept import read_kept
from unseen.studies.tasks.by_image.perceptual import InversionRequest
from unseen.studies.tasks.by_image.requested import AskedImages, inversion_request
from unseen.studies.tasks.by_image.sets import ImageSets, open_image_sets
from unseen.studies.tasks.results import task_page

SIZE = 16


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


def request(places: list[Path], own: Backbone, batch: int | None = None, steps: int = 4) -> InversionRequest:
    asked = AskedImages((), places[0], None, lambda: [own], [])
    found = inversion_request(asked, Settings(workers=0), steps=steps, batch=batch)
    sets = [open_image_sets([], place, None).sets[0] for place in places]
    return replace(found, reconstructions=replace(found.reconstructions, images=ImageSets(sets)))


def with_trunk(found: InversionRequest) -> InversionRequest:
    torch.manual_seed(1)
    return replace(found, trunks={"lpips-vgg": Trunk("vgg", empty_trunk("vgg").eval(), "digest")})


def test_a_study_is_planned_run_and_not_run_again(places: list[Path], tmp_path: Path) -> None:
    out, mine = tmp_path / "run", backbone()
    plan = plan_study(request(places, mine), out)
    assert plan.parts[0] == {
        "images of": "set0, 2 images", "backbone": "mine", "images": 2, "map": "4 × 4 × 4", "steps": 4,
        "images left": 2,
    }  # fmt: skip
    assert [notice.code for notice in plan.notices] == ["short-inversion", *["no-lpips"] * 3]
    data = run_study(request(places, mine), out)
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
    assert plan_study(request(places, mine), out).jobs_left == 0
    assert not (out / "by-image/unfinished").exists()


def test_images_of_all_sets_are_stacked_and_give_what_single_ones_give(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stacks = list[int]()

    def counted(*args: object, **options: object) -> object:
        stacks.append(len(args[1]))  # type: ignore[arg-type]
        return inverting.invert(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("unseen.studies.tasks.by_image.inversion.invert", counted)
    together = run_study(request(places, backbone()), tmp_path / "a")
    alone = run_study(request(places, backbone(), batch=1), tmp_path / "b")
    assert stacks == [3, 1, 1, 1]
    assert [s.value for s in together.scores] == pytest.approx([s.value for s in alone.scores], rel=0.02)


def test_distances_come_later_without_new_reconstructions(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, mine = tmp_path / "run", backbone()
    run_study(request(places, mine), out)
    monkeypatch.setattr("unseen.studies.tasks.by_image.inversion.invert", None)
    later = with_trunk(request(places, mine))
    assert (plan_study(later, out).jobs, plan_study(later, out).jobs_left) == (4, 2)
    run_study(later, out)
    first = next(result for result in read_results(out) if result.is_of("lpips"))
    kept = [read_kept(out / "by-image" / first.job["needs"][0], place) for place in range(2)]
    pairs = (np.stack([each[name] for each in kept if each]) for name in ("image", "reconstruction"))
    assert first.details["by_image"] == pytest.approx(lpips(later.trunks["lpips-vgg"], *pairs))
    [both, single] = task_page(out).by_image
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
    monkeypatch.setattr("unseen.studies.tasks.by_image.inversion.invert", often)

    def counted(self: inverting.InversionStack, *args: object, **options: object) -> None:
        stack(self, *args, **options)  # type: ignore[arg-type]
        step = self.step

        def one() -> Tensor:
            calls.append(len(self.targets))
            if len(calls) == fails_at:
                raise KeyboardInterrupt
            return step()

        self.step = one

    monkeypatch.setattr(inverting.InversionStack, "__init__", counted)
    asked = request(places, backbone(), batch=2, steps=6)
    monkeypatch.setattr(type(asked.reconstructions.analysis), "seconds", lambda *_: 1.0)
    fails_at = 6 + 4  # the first stack has six steps, the second is killed in its fourth
    with pytest.raises(KeyboardInterrupt):
        run_study(asked, out)
    assert len(list((out / "by-image/unfinished").rglob("*.pt"))) == 1
    fails_at, calls[:] = 0, []
    resumed = run_study(request(places, backbone(), batch=2, steps=6), out)
    assert calls == [1] * 4  # from the checkpoint after two
    whole = run_study(request(places, backbone(), batch=2, steps=6), tmp_path / "whole")
    assert [s.value for s in resumed.scores] == [s.value for s in whole.scores]
    assert not (out / "by-image/unfinished").exists()


def _vectors(own: Backbone) -> Backbone:
    return replace(own, spec=Spec("mine", "w", "x", "avg", 64, 7, Transform(SIZE, SIZE)))


def _tiny(own: Backbone) -> Backbone:
    return replace(own, spec=replace(own.spec, transform=Transform(6, 6)))


@pytest.mark.parametrize(("change", "words"), [(_vectors, "spatial map"), (_tiny, "too small")])
def test_backbones_that_it_cannot_be_done_with(
    places: list[Path], tmp_path: Path, change: Callable[[Backbone], Backbone], words: str
) -> None:
    with pytest.raises(UserError, match=f"mine: .*{words}"):
        plan_study(request(places, change(backbone())), tmp_path / "run")


def test_an_image_whose_features_are_not_numbers_is_named(places: list[Path], tmp_path: Path) -> None:
    Image.fromarray(np.full((20, 30, 3), 7, np.uint8)).save(places[1] / "0.png")
    own = backbone()
    own.module.broken = True
    with pytest.raises(UserError, match=r"mine on set1, 1 image, 0\.png: its features are not all finite"):
        run_study(request(places, own), tmp_path / "run")


def test_mistakes(places: list[Path]) -> None:
    with pytest.raises(UserError, match="at least one step"):
        request(places, backbone(), steps=0)
    with pytest.raises(UserError, match="at least one image"):
        request(places, backbone(), batch=0)
    asked = AskedImages((), places[0], None, lambda: [backbone()], [])
    with pytest.raises(UserError, match="precision"):
        inversion_request(asked, Settings(precision="half", workers=0))


def test_images_too_small_for_a_network_are_told(
    places: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(measure.LEAST_SIDE, "vgg", SIZE + 1)
    asked = with_trunk(request(places, backbone()))
    assert asked.distances == []
    assert "small-for-lpips" in [notice.code for notice in plan_study(asked, tmp_path / "run").notices]
