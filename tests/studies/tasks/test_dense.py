"""The dense part of the task study: planned, run, resumed, extended."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from part_shares import planned_and_prepared
from PIL import ExifTags, Image

from unseen.backbones.load import load_backbone
from unseen.errors import OtherPartsError, UserError
from unseen.features.patches import read_patches
from unseen.features.settings import Settings
from unseen.images.dense.label_survey import survey_labels
from unseen.images.manifest import Manifest
from unseen.images.open_dataset import OpenDataset, open_dataset
from unseen.images.own.description import describe
from unseen.images.own.open_own import open_own
from unseen.images.registry import get_dataset
from unseen.probes.by_name.patch_context import PatchContext
from unseen.probes.by_name.patch_linear import PatchLinear
from unseen.probes.patches.patch_probe import PatchSize
from unseen.probes.patches.protocols import PatchLinearProtocol
from unseen.runs.data import RunData
from unseen.runs.means import ALONE, Means
from unseen.runs.record import read_results, read_run
from unseen.studies.study import Share, Silent, plan_study, run_study
from unseen.studies.tasks import dense_estimate
from unseen.studies.tasks.dense import DenseRequest
from unseen.studies.tasks.dense_estimate import peak_memory
from unseen.studies.tasks.dense_page import dense_tasks

QUICK = PatchLinearProtocol(rates=(3e-3,), decays=(0.0,), epochs=1, batch=2048, least_steps=10)


def some_scenes(name: str) -> OpenDataset:
    """8 training and 4 test scenes."""
    whole = open_dataset(get_dataset(name, dense=True), None)
    splits = [
        split if number < 8 or 100 <= number < 104 else "unused" for number, split in enumerate(whole.manifest.splits)
    ]
    return replace(whole, manifest=Manifest(whole.manifest.entries, splits))


def request(*names: str, backbones: tuple[str, ...] = ("supervised",)) -> DenseRequest:
    nets = [load_backbone(f"demo:{name}", size=56, patches=True) for name in backbones]
    return DenseRequest(
        [some_scenes(name) for name in names], nets, Settings(workers=0), (PatchLinear(QUICK), PatchContext())
    )


@pytest.mark.gpu_too
def test_a_run_is_planned_done_once_and_extended(tmp_path: Path) -> None:
    first = request("scenes-seen")
    plan = plan_study(first, tmp_path)
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    assert plan.share((1, 1)) == Share(2, 2, pytest.approx(plan.probing))
    assert plan.parts[0]["patches"] == "14 × 14"
    assert plan.disk > 0
    data = run_study(first, tmp_path)
    assert {(score.probe, score.metric) for score in data.scores} == {
        (probe, metric) for probe in ("patch-linear", "patch-context") for metric in ("miou", "pixel-accuracy")
    }
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}
    again = plan_study(first, tmp_path)
    assert (again.jobs_left, again.disk) == (0, 0)
    run_study(first, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == before
    more = run_study(request("scenes-unseen", backbones=("supervised", "simclr")), tmp_path)
    assert {score.domain for score in more.scores} == {"scenes-seen", "scenes-unseen"}
    assert read_run(tmp_path).scores == more.scores
    pictures = list((tmp_path / "pictures").rglob("*.png"))
    assert len(pictures) >= 6


def test_a_number_of_training_patches_is_drawn_and_test_images_keep_all(tmp_path: Path) -> None:
    asked, every = replace(request("scenes-seen"), patches=20), request("scenes-seen")
    plan = plan_study(asked, tmp_path)
    assert plan.parts[0]["training patches"] == 8 * 20
    assert plan_study(every, tmp_path).parts[0]["training patches"] == 8 * 14 * 14
    data = run_study(asked, tmp_path)
    # The features that are extracted are those that were planned.
    stores = {path.parent.name: read_patches(path.parent) for path in (tmp_path / "features").rglob("manifest.json")}
    assert sorted((len(store), store.positions) for store in stores.values()) == [(4, 14 * 14), (8, 20)]
    size = sum(path.stat().st_size for path in (tmp_path / "features").rglob("X-*.npy"))
    assert size == pytest.approx(plan.disk, rel=0.05)
    assert {each.settings["patches"] for each in data.protocols} == {20}
    results = read_results(tmp_path)
    assert {result.job["settings"]["protocol"]["patches"] for result in results} == {20}
    [task] = dense_tasks(data, results, {})
    assert all("20 patches of each training image" in " ".join(probe.said) for probe in task.probes)
    assert plan_study(asked, tmp_path).jobs_left == 0
    with pytest.raises(UserError, match="patches of the patch-linear protocol"):
        plan_study(every, tmp_path)


def test_patches_are_the_same_as_among_all(tmp_path: Path) -> None:
    """A draw from stored features of all patches has the same features and labels."""
    asked = request("scenes-seen")
    drawn, every = (replace(asked, patches=number).prepare(tmp_path / f"{number}", ALONE, Silent()).jobs
                    for number in (20, "all"))  # fmt: skip
    stores = [[read_patches(each.parent) for each in (tmp_path / name / "features").rglob("manifest.json")]
              for name in ("20", "all")]  # fmt: skip
    few, whole = (next(store for store in of if len(store) == 8) for of in stores)
    assert few.drawn
    whole_rows = whole.patches(range(8)).reshape(8, 196, -1)[:, list(few.drawn)]
    assert np.array_equal(few.patches(range(8)).reshape(8, 20, -1), whole_rows)
    assert not {job.key for job in drawn} & {job.key for job in every}


def test_patches_that_cannot_be_drawn_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="197 of 196"):
        plan_study(replace(request("scenes-seen"), patches=197), tmp_path / "run")
    drawn = replace(request("scenes-seen"), backbones=[load_backbone("demo:supervised", size=56, patches=20)])
    with pytest.raises(UserError, match="all their patches"):
        plan_study(drawn, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_plan_knows_the_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADE20K with a ViT-B/14 and images of 518 pixels, on a GPU of 24 GB and on one that is nearly full."""
    size, probes = PatchSize(20_210, 37 * 37, 2_000, 37 * 37, 768, 150), request("scenes-seen")._probes
    for free, peak, patches in ((23 << 30, 19e9, 780), (12 << 30, 3e9, 360)):
        monkeypatch.setattr(dense_estimate, "free_bytes", lambda _, free=free: free)
        memory = peak_memory(probes, "ade20k", size, "cuda")
        assert 0.7 * peak < memory.bytes < peak
        [notice] = memory.notices
        assert dict(notice.arguments)["patches"] == pytest.approx(patches, rel=0.1)
        fewer = replace(size, positions=int(dict(notice.arguments)["patches"]))
        assert not peak_memory(probes, "ade20k", fewer, "cuda").notices
    monkeypatch.setattr(dense_estimate, "free_bytes", lambda _: 1 << 28)
    with pytest.raises(UserError, match="GPU memory"):
        peak_memory(probes, "ade20k", size, "cuda")


def test_a_part_is_planned_as_it_is_done(tmp_path: Path) -> None:
    asked = request("scenes-seen", "scenes-unseen", backbones=("supervised", "simclr"))
    planned, done = planned_and_prepared(asked, tmp_path, 3)
    assert planned == done
    assert sum(done) == 8


def test_parts_and_devices_probe_what_one_process_probes(tmp_path: Path, two_devices: Means) -> None:
    asked = replace(request("scenes-seen"), settings=Settings(workers=0, shard_rows=2))
    parts = [replace(asked, settings=replace(asked.settings, part=(number, 2))) for number in (1, 2)]
    expected = values(run_study(asked, tmp_path / "one"))
    for number, each in enumerate(parts, start=1):
        with suppress(OtherPartsError):
            run_study(each, tmp_path / "parts", part=(number, 2))
    found = [run_study(each, tmp_path / "parts", part=(number, 2)) for number, each in enumerate(parts, start=1)]
    assert values(found[-1]) == expected
    assert values(run_study(asked, tmp_path / "devices", means=two_devices)) == expected


def values(run: RunData) -> set[tuple[str, str, float]]:
    return {(score.key, score.metric, score.value) for score in run.scores}


@pytest.mark.gpu_too
def test_data_sets_of_the_same_images_share_their_features(tmp_path: Path) -> None:
    asked = replace(request("scenes-seen"), probes=(PatchContext(),))
    scenes = asked.datasets[0]
    other = replace(scenes, dataset=replace(scenes.dataset, name="other-labels"))
    both = replace(asked, datasets=[scenes, other])
    assert plan_study(both, tmp_path / "both").disk == plan_study(asked, tmp_path / "both").disk
    data = run_study(both, tmp_path / "both")
    assert len(list((tmp_path / "both/features").rglob("manifest.json"))) == len(("train", "test"))
    values = {name: [s.value for s in data.scores if s.domain == name] for name in ("scenes-seen", "other-labels")}
    assert values["scenes-seen"] == values["other-labels"]
    assert [each.domain for each in data.features] == ["scenes-seen", "other-labels"]


def test_labels_turn_with_their_images_and_are_then_another_job(tmp_path: Path) -> None:
    """The same pictures, stored upright or turned with a tag: a probe with --exif gives the same scores."""
    scenes, folders = some_scenes("scenes-seen"), {turn: tmp_path / str(turn) for turn in (1, 6)}
    for turn, folder in folders.items():
        exif = Image.Exif()
        exif[ExifTags.Base.Orientation] = turn
        for split, numbers in (("train", range(8)), ("test", range(100, 104))):
            for kind in ("images", "masks"):
                (folder / kind / split).mkdir(parents=True)
            for number in numbers:
                pixels, labels = scenes.pixels(number), np.asarray(scenes.labels(number))
                if turn == 6:  # stored so that a quarter turn clockwise makes it upright
                    pixels, labels = np.rot90(pixels), np.rot90(labels)
                Image.fromarray(np.ascontiguousarray(pixels)).save(folder / f"images/{split}/{number}.png", exif=exif)
                Image.fromarray(np.ascontiguousarray(labels)).save(folder / f"masks/{split}/{number}.png")
        (folder / "classes.txt").write_text("\n".join(scenes.classes))
    net = load_backbone("demo:supervised", size=56, patches=True)

    def asked(turn: int, *, exif: bool) -> DenseRequest:
        data = open_own(describe(folders[turn]), dense=True)
        return DenseRequest([data], [net], Settings(workers=0, exif=exif), probes=(PatchContext(),))

    found = {turn: run_study(asked(turn, exif=True), tmp_path / f"run-{turn}") for turn in (1, 6)}
    assert [score.value for score in found[1].scores] == [score.value for score in found[6].scores]
    digests = {exif: survey_labels(asked(6, exif=exif).datasets[0]).digest for exif in (False, True)}
    assert digests[False] != digests[True] == survey_labels(asked(1, exif=False).datasets[0]).digest


def test_a_data_set_that_cannot_be_scored_is_refused_before_anything_is_extracted(tmp_path: Path) -> None:
    asked = request("scenes-seen")
    ignored = np.full((112, 112), 255, dtype=np.uint8)
    scenes = replace(asked.datasets[0], reader=SimpleNamespace(place=str, read=lambda _: ignored))
    with pytest.raises(UserError, match="no training image has a pixel with a class"):
        run_study(replace(asked, datasets=[scenes]), tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_probed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="finetune=True"):
        plan_study(request("scenes-seen-boxes"), tmp_path)
    pooled = replace(request("scenes-seen"), backbones=[load_backbone("demo:supervised", size=56)])
    with pytest.raises(UserError, match="one vector"):
        plan_study(pooled, tmp_path)


def test_another_protocol_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    run_study(replace(request("scenes-seen"), probes=(PatchLinear(QUICK),)), tmp_path)
    other = replace(request("scenes-seen"), probes=(PatchLinear(replace(QUICK, epochs=2)), PatchContext()))
    with pytest.raises(UserError, match="epochs"):
        plan_study(other, tmp_path)
