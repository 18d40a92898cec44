"""Analyses of single images as a study: planned, run, resumed, recorded, shown."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import ExifTags, Image
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.images.transform import Transform
from unseen.runs.means import Means
from unseen.runs.record import read_results, read_run
from unseen.studies.study import plan_study, run_study
from unseen.studies.tasks.by_image.kept import read_kept
from unseen.studies.tasks.by_image.request import ImageRequest
from unseen.studies.tasks.by_image.requested import AskedImages, saliency_request
from unseen.studies.tasks.by_image.sets import open_image_sets
from unseen.studies.tasks.results import page_of_runs, task_page

GRID = "4/2"


class Counting(nn.Module):
    """A linear layer on pixels that counts the images it saw."""

    def __init__(self, size: int, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.weight = nn.Parameter(torch.randn(5, 3 * size**2, generator=generator), requires_grad=False)
        self.seen, self.fails_at = 0, 10**9

    def forward(self, images: Tensor) -> Tensor:
        self.seen += len(images)
        if self.seen > self.fails_at:
            raise ValueError("out of order")
        return images.flatten(1) @ self.weight.T


def backbone(name: str = "mine", size: int = 8, seed: int = 0) -> Backbone:
    module = Counting(size, seed)
    return Backbone(Spec(name, "w", "x", "none", 5, 7, Transform(size, size), digest=f"{seed}"), module, name=name)


@pytest.fixture
def photographs(tmp_path: Path) -> Path:
    folder = tmp_path / "photographs"
    folder.mkdir()
    draw = np.random.default_rng(0)
    for number in range(3):
        Image.fromarray(draw.integers(0, 256, (20, 30, 3), dtype=np.uint8)).save(folder / f"{number}.png")
    return folder


def request(place: Path, *backbones: Backbone, grid: str = GRID, examples: int | None = None) -> ImageRequest:
    asked = AskedImages((), place, examples, lambda: backbones, [])
    return saliency_request(asked, Settings(workers=0), grid=grid, batch=9)


def test_parts_and_devices_find_what_one_process_finds(photographs: Path, tmp_path: Path, two_devices: Means) -> None:
    asked = request(photographs, backbone("mine"), backbone("other", seed=1))
    expected = {(score.key, score.value) for score in run_study(asked, tmp_path / "one").scores}
    assert len(expected) == 2
    parts = [run_study(asked, tmp_path / "parts", part=(number, 2)) for number in (1, 2)]
    devices = run_study(asked, tmp_path / "devices", means=two_devices)
    for found in (parts[-1], devices):
        assert {(score.key, score.value) for score in found.scores} == expected


def test_images_that_are_turned_are_other_images(photographs: Path) -> None:
    def key(*, exif: bool) -> str:
        asked = request(photographs, backbone())
        [job] = replace(asked, settings=replace(asked.settings, exif=exif)).jobs
        return job.key

    assert key(exif=True) == key(exif=False)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    plain = key(exif=False)
    Image.open(photographs / "1.png").save(photographs / "1.png", exif=exif)
    assert len({plain, key(exif=False), key(exif=True)}) == 3


def test_a_study_is_planned_run_and_not_run_again(photographs: Path, tmp_path: Path) -> None:
    mine, out = backbone(), tmp_path / "run"
    plan = plan_study(request(photographs, mine), out)
    [part] = plan.parts
    assert part == {
        "images of": "photographs, 3 images", "backbone": "mine", "images": 3, "grid": GRID, "passes": 75,
        "images left": 3,
    }  # fmt: skip
    assert (plan.jobs, plan.jobs_left) == (1, 1)
    data = run_study(request(photographs, mine), out)
    [score] = data.scores
    assert (score.domain, score.probe, score.metric, score.protocol) == (
        "photographs (3 images)", "saliency", "diffusion", "saliency-4-2",
    )  # fmt: skip
    [result] = read_results(out)
    assert result.is_of("saliency")
    each = result.details["by_image"]
    assert result.details["images"] == ["0.png", "1.png", "2.png"]
    assert score.value == pytest.approx(np.mean(each))
    assert score.half_width == pytest.approx(1.96 * np.std(each, ddof=1) / np.sqrt(3), rel=1e-4)
    kept = read_kept(out / "by-image" / result.key, 1)
    assert kept is not None
    assert (kept["image"].shape, kept["map"].shape) == ((8, 8, 3), (8, 8))
    assert float((kept["map"] > kept["map"].astype(np.float64).mean()).mean()) == pytest.approx(each[1])
    mine.module.seen = 0
    run_study(request(photographs, mine), out)
    assert mine.module.seen == 0


def test_a_study_that_was_stopped_goes_on_with_the_next_image(photographs: Path, tmp_path: Path) -> None:
    out, mine = tmp_path / "run", backbone()
    asked = request(photographs, mine)
    plan_study(asked, out)
    mine.module.fails_at = mine.module.seen + 50  # within the second image, each of which takes 27
    with pytest.raises(UserError, match=r"mine on photographs, 3 images, 1.png: the network failed \(out of order\)"):
        run_study(replace(asked, backbones=[mine]), out)
    mine.module.fails_at = 10**9
    assert plan_study(request(photographs, mine), out).parts[0]["images left"] == 2
    stopped = run_study(request(photographs, mine), out)
    whole = run_study(request(photographs, backbone()), tmp_path / "whole")
    assert [score.value for score in stopped.scores] == [score.value for score in whole.scores]


def test_what_a_run_is_asked_for_again_must_be_the_same(photographs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run_study(request(photographs, backbone()), out)
    with pytest.raises(UserError, match="differs in the protocol of the saliency probe"):
        plan_study(request(photographs, backbone(), grid="4/1"), out)
    with pytest.raises(UserError, match="differs in the tensors of mine"):
        plan_study(request(photographs, backbone(seed=1)), out)
    with pytest.raises(UserError, match="differs in the saliency features of photographs .3 images. by mine"):
        plan_study(request(photographs, backbone(size=12)), out)
    run_study(request(photographs, backbone("other", size=12)), out)
    run_study(request(photographs, backbone(), examples=2), out)
    data = read_run(out)
    assert [each.name for each in data.backbones] == ["mine", "other"]
    assert [each.name for each in data.domains] == ["photographs (3 images)", "photographs (2 images)"]
    assert len(data.scores) == 3


def test_images_that_change_are_other_images(photographs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked = request(photographs, backbone())
    plan_study(asked, out)
    [images] = asked.images.sets
    before = images.digest
    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(photographs / "1.png")
    assert open_image_sets([], photographs, None).sets[0].digest != before


def test_mistakes(photographs: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="smaller than the mask of 16 × 16"):
        plan_study(request(photographs, backbone(), grid="16/8"), tmp_path / "a")
    (photographs / "3.png").write_bytes(b"no image")
    with pytest.raises(UserError, match="3.png: not an image"):
        run_study(request(photographs, backbone()), tmp_path / "b")
    with pytest.raises(UserError, match="examples must be at least 1"):
        open_image_sets([], photographs, 0)
    with pytest.raises(UserError, match="nowhere: no such file or folder"):
        open_image_sets([], tmp_path / "nowhere", None)
    with pytest.raises(UserError, match="no backbone was given"):
        request(photographs)


def test_images_of_data_sets_are_always_the_same() -> None:
    [drawings] = open_image_sets([], None, None).sets
    assert (drawings.name, len(drawings)) == ("drawings (8 images)", 8)
    [some] = open_image_sets(["drawings"], None, 3).sets
    assert set(some.ids) < set(drawings.ids)
    assert drawings.pixels(0, Transform(28, 28)).shape == (28, 28, 3)
    assert all(int(name.rpartition("/")[2]) >= 80 for name in drawings.ids)  # which no network was trained on


def test_the_page_has_every_image(photographs: Path, tmp_path: Path) -> None:
    out, more = tmp_path / "run", tmp_path / "more"
    run_study(request(photographs, backbone()), out)
    run_study(request(photographs, backbone("other", seed=2)), more)
    page = task_page(out)
    [result] = page.by_image
    assert (result.backbone, result.probe, len(result.images)) == ("mine", "saliency", 3)
    assert [name for name, arrays in result.arrays() if "map" in arrays] == ["0.png", "1.png", "2.png"]
    both = page_of_runs([out, more], [(folder.name, read_run(folder)) for folder in (out, more)])
    assert [each.backbone for each in both.by_image] == ["mine", "other"]
    assert all(len(list(each.arrays())) == 3 for each in both.by_image)


def test_a_damaged_file_of_an_image_is_made_again(photographs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    [before] = run_study(request(photographs, backbone()), out).scores
    [folder] = (out / "by-image").iterdir()
    (folder / "00001.npz").write_bytes((folder / "00001.npz").read_bytes()[:200])
    assert len(list(task_page(out).by_image[0].arrays())) == 2  # the page goes without it
    next((out / "results").glob("*.json")).unlink()
    asked = request(photographs, backbone())
    assert plan_study(asked, out).parts[0]["images left"] == 1
    assert [score.value for score in run_study(asked, out).scores] == [before.value]


PYTHON = """
from torch import nn
from unseen.backbones.backbone import Backbone, Spec
from unseen.images.transform import Transform

def mine():
    layers = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return Backbone(Spec("mine", "none", "x", "none", 12, 0, Transform(16, 16)), layers)
"""


def write_onnx(path: Path) -> Path:
    """Means over squares of 8 × 8 pixels, of exactly five images at a time."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    nodes = [
        helper.make_node("AveragePool", ["images"], ["means"], kernel_shape=[8, 8], strides=[8, 8]),
        helper.make_node("Flatten", ["means"], ["features"]),
    ]
    taken = helper.make_tensor_value_info("images", 1, (5, 3, 16, 16))
    given = helper.make_tensor_value_info("features", 1, (5, 12))
    graph = helper.make_graph(nodes, "small", [taken], [given])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(path))
    return path


def test_backbones_of_any_source_can_be_looked_at(photographs: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    file = tmp_path / "mine.py"
    file.write_text(PYTHON)
    ids = [f"{file}:mine", f"onnx:{write_onnx(tmp_path / 'm.onnx')}", "demo:untrained"]
    loaded = [load_backbone(name) for name in ids]
    scores = run_study(request(photographs, *loaded, grid="8/4", examples=1), tmp_path / "run").scores
    assert [score.backbone for score in scores] == [each.label for each in loaded]
    assert all(0 < score.value < 1 for score in scores)
    assert scores[0].value == scores[1].value  # the same means
