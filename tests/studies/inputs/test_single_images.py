"""Probes of single images in a study: planned, run, resumed, recorded, shown."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import ExifTags, Image
from torch import Tensor, nn

from studies import given_of, plan_of, run_of, study_of
from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import load_backbone
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.probes.job import Job
from unseen.report.tasks.results import page_of_run, page_of_runs
from unseen.runs.means import ALONE, Means
from unseen.runs.record import read_results, read_run
from unseen.studies.inputs.image_sets import image_sets
from unseen.studies.inputs.single_images import SingleImageStage
from unseen.studies.kept_images import read_kept
from unseen.studies.opened import OpenedData
from unseen.studies.stages import open_study
from unseen.studies.study import Study
from unseen.studies.watch import Silent

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


def study(place: Path, *, grid: str = GRID, **keys: object) -> Study:
    settings = {"grid": grid, "batch": 9}
    return study_of("saliency", datasets=[str(place)], preprocessing="own", saliency=settings, **keys)


def opened_of(of: Study) -> OpenedData:
    found, given = given_of(of, [backbone()])
    return open_study(found, given, ALONE, Silent()).opened


def job_of(of: Study) -> Job:
    found, given = given_of(of, [backbone()])
    [stage] = open_study(found, given, ALONE, Silent()).stages
    assert isinstance(stage, SingleImageStage)
    [job] = stage.jobs
    return job


def test_parts_and_devices_find_what_one_process_finds(photographs: Path, tmp_path: Path, two_devices: Means) -> None:
    asked, networks = study(photographs), [backbone("mine"), backbone("other", seed=1)]
    expected = {(score.key, score.value) for score in run_of(asked, tmp_path / "one", networks).scores}
    assert len(expected) == 2
    parts = [run_of(asked, tmp_path / "parts", networks, part=(number, 2)) for number in (1, 2)]
    devices = run_of(asked, tmp_path / "devices", networks, means=two_devices)
    for found in (parts[-1], devices):
        assert {(score.key, score.value) for score in found.scores} == expected


def test_images_that_are_turned_are_other_images(photographs: Path) -> None:
    def key(*, exif: bool) -> str:
        return job_of(study(photographs, exif=exif)).key

    assert key(exif=True) == key(exif=False)
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    plain = key(exif=False)
    Image.open(photographs / "1.png").save(photographs / "1.png", exif=exif)
    assert len({plain, key(exif=False), key(exif=True)}) == 3


def test_a_study_is_planned_run_and_not_run_again(photographs: Path, tmp_path: Path) -> None:
    mine, out = backbone(), tmp_path / "run"
    plan = plan_of(study(photographs), out, [mine])
    [part] = plan.parts
    assert part == {
        "data set": "photographs, 3 images", "backbone": "mine", "probe": "saliency", "images": 3, "grid": GRID,
        "passes": 75, "images left": 3,
    }  # fmt: skip
    assert (plan.jobs, plan.jobs_left) == (1, 1)
    data = run_of(study(photographs), out, [mine])
    [score] = data.scores
    assert (score.study, score.domain, score.probe, score.metric, score.protocol) == (
        "tasks", "photographs (3 images)", "saliency", "diffusion", "saliency-4-2",
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
    run_of(study(photographs), out, [mine])
    assert mine.module.seen == 0


def test_a_study_that_was_stopped_goes_on_with_the_next_image(photographs: Path, tmp_path: Path) -> None:
    out, mine = tmp_path / "run", backbone()
    plan_of(study(photographs), out, [mine])
    estimate = mine.module.seen
    # It is timed once more; then it fails within the second image, each of which takes 27.
    mine.module.fails_at = estimate + estimate + 50
    with pytest.raises(UserError, match=r"mine on photographs, 3 images, 1.png: the network failed \(out of order\)"):
        run_of(study(photographs), out, [mine])
    mine.module.fails_at = 10**9
    assert plan_of(study(photographs), out, [mine]).parts[0]["images left"] == 2
    stopped = run_of(study(photographs), out, [mine])
    whole = run_of(study(photographs), tmp_path / "whole", [backbone()])
    assert [score.value for score in stopped.scores] == [score.value for score in whole.scores]


def test_what_a_run_is_asked_for_again_must_be_the_same(photographs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    run_of(study(photographs), out, [backbone()])
    with pytest.raises(UserError, match="differs in the protocol of the saliency probe"):
        plan_of(study(photographs, grid="4/1"), out, [backbone()])
    with pytest.raises(UserError, match="differs in the weights of mine"):
        plan_of(study(photographs), out, [backbone(seed=1)])
    with pytest.raises(UserError, match="differs in the saliency features of photographs .3 images. by mine"):
        plan_of(study(photographs), out, [backbone(size=12)])
    run_of(study(photographs), out, [backbone("other", size=12)])
    run_of(study(photographs, examples=2), out, [backbone()])
    data = read_run(out)
    assert [each.name for each in data.backbones] == ["mine", "other"]
    assert [each.name for each in data.domains] == ["photographs (3 images)", "photographs (2 images)"]
    assert len(data.scores) == 3


def test_images_that_change_are_other_images(photographs: Path) -> None:
    before = job_of(study(photographs))
    Image.fromarray(np.zeros((20, 30, 3), np.uint8)).save(photographs / "1.png")
    after = job_of(study(photographs))
    assert before.reads["images"] != after.reads["images"]
    assert before.key != after.key


def test_mistakes(photographs: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="smaller than the mask of 16 × 16"):
        plan_of(study(photographs, grid="16/8"), tmp_path / "a", [backbone()])
    (photographs / "3.png").write_bytes(b"no image")
    with pytest.raises(UserError, match="3.png: not an image"):
        run_of(study(photographs), tmp_path / "b", [backbone()])
    with pytest.raises(UserError, match="examples must be at least 1"):
        study(photographs, examples=0)
    with pytest.raises(UserError, match="nowhere: no such file or folder"):
        plan_of(study(tmp_path / "nowhere"), tmp_path / "c", [backbone()])
    with pytest.raises(UserError, match="no backbone was given"):
        plan_of(study(photographs), tmp_path / "c")


def test_images_of_data_sets_are_always_the_same() -> None:
    of = opened_of(study_of("saliency"))
    [drawings] = image_sets(of, None)
    assert (drawings.name, len(drawings)) == ("drawings (8 images)", 8)
    [some] = image_sets(of, 3)
    assert set(some.ids) < set(drawings.ids)
    assert drawings.pixels(0, Transform(28, 28)).shape == (28, 28, 3)
    assert all(int(name.rpartition("/")[2]) >= 80 for name in drawings.ids)  # which no network was trained on
    [digit] = image_sets(opened_of(study_of("saliency", datasets=["digits"])), None)
    assert digit.name == "digits (1 image)"


def test_the_page_has_every_image(photographs: Path, tmp_path: Path) -> None:
    out, more = tmp_path / "run", tmp_path / "more"
    run_of(study(photographs), out, [backbone()])
    run_of(study(photographs), more, [backbone("other", seed=2)])
    [result] = page_of_run(out).by_image
    assert (result.backbone, result.probe, len(result.images)) == ("mine", "saliency", 3)
    assert [name for name, arrays in result.arrays() if "map" in arrays] == ["0.png", "1.png", "2.png"]
    both = page_of_runs([out, more], [(folder.name, read_run(folder)) for folder in (out, more)])
    assert [each.backbone for each in both.by_image] == ["mine", "other"]
    assert all(len(list(each.arrays())) == 3 for each in both.by_image)


def test_a_damaged_file_of_an_image_is_made_again(photographs: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    [before] = run_of(study(photographs), out, [backbone()]).scores
    [folder] = (out / "by-image").iterdir()
    (folder / "00001.npz").write_bytes((folder / "00001.npz").read_bytes()[:200])
    assert len(list(page_of_run(out).by_image[0].arrays())) == 2  # the page goes without it
    next((out / "results").glob("*.json")).unlink()
    assert plan_of(study(photographs), out, [backbone()]).parts[0]["images left"] == 1
    assert [score.value for score in run_of(study(photographs), out, [backbone()]).scores] == [before.value]


def test_two_data_sets_share_a_call_and_have_a_score_each(photographs: Path, tmp_path: Path) -> None:
    asked = study(photographs).replace(datasets=[str(photographs), "digits"])
    both = run_of(asked, tmp_path / "both", [backbone()])
    assert [score.domain for score in both.scores] == ["photographs (3 images)", "digits (1 image)"]
    alone = run_of(study(photographs), tmp_path / "alone", [backbone()])
    assert [(score.key, score.value) for score in alone.scores] == [(both.scores[0].key, both.scores[0].value)]


PYTHON = """
from torch import nn
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform

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
    scores = run_of(study(photographs, grid="8/4", examples=1), tmp_path / "run", loaded).scores
    assert [score.backbone for score in scores] == [each.label for each in loaded]
    assert all(0 < score.value < 1 for score in scores)
    assert scores[0].value == scores[1].value  # the same means


def test_a_backbone_loaded_again_by_its_name_gives_the_same(photographs: Path, tmp_path: Path) -> None:
    by_name = run_of(study(photographs, grid="8/4"), tmp_path / "name", ["demo:untrained"]).scores
    loaded = replace(load_backbone("demo:untrained"), name=None)
    given = run_of(study(photographs, grid="8/4"), tmp_path / "given", [loaded]).scores
    assert [(score.key, score.value) for score in by_name] == [(score.key, score.value) for score in given]
