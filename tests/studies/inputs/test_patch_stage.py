"""Probes of patch features in a study: planned, run, resumed, extended."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from part_shares import planned_and_prepared
from PIL import ExifTags, Image

from studies import given_of, plan_of, run_of, study_of
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.data.core.dense.label_survey import survey_labels
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.registry import get_dataset
from unseen.errors import OtherPartsError, UserError
from unseen.features.patches import read_patches
from unseen.probes.by_name import all_probes
from unseen.probes.by_name.patch_context import PatchContext
from unseen.probes.by_name.patch_linear import PatchLinear
from unseen.probes.patches.patch_probe import PatchSize
from unseen.probes.patches.protocols import PatchLinearProtocol
from unseen.report.tasks.dense_data import dense_tasks
from unseen.runs.data import RunData
from unseen.runs.means import ALONE, Means
from unseen.runs.record import read_results, read_run
from unseen.studies.inputs import patch_estimate
from unseen.studies.inputs.patch_estimate import peak_memory
from unseen.studies.plan import Share
from unseen.studies.stages import open_study
from unseen.studies.watch import Silent

QUICK = PatchLinearProtocol(rates=(3e-3,), decays=(0.0,), epochs=1, batch=2048, least_steps=10)
LONGER = replace(QUICK, epochs=2)


@dataclass(frozen=True)
class QuickLinear(PatchLinear):
    protocol: PatchLinearProtocol = QUICK


@dataclass(frozen=True)
class LongerLinear(PatchLinear):
    protocol: PatchLinearProtocol = LONGER


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(all_probes(), "patch-linear", QuickLinear)


def some_scenes(name: str = "scenes-seen") -> OpenDataset:
    """8 training and 4 test scenes."""
    whole = open_dataset(get_dataset(name), None)
    splits = [
        split if number < 8 or 100 <= number < 104 else "unused" for number, split in enumerate(whole.manifest.splits)
    ]
    return replace(whole, manifest=Manifest(whole.manifest.entries, splits))


def nets(*names: str, **options: Any) -> list[Backbone]:
    return [load_backbone(f"demo:{name}", size=56, **{"patches": True, **options}) for name in names or ("supervised",)]


STUDY = study_of("dense")


def values(run: RunData) -> set[tuple[str, str, float]]:
    return {(score.key, score.metric, score.value) for score in run.scores}


@pytest.mark.gpu_too
def test_a_run_is_planned_done_once_and_extended(tmp_path: Path) -> None:
    first = {"backbones": nets(), "datasets": [some_scenes()]}
    plan = plan_of(STUDY, tmp_path, **first)
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    assert plan.share((1, 1)) == Share(2, 2, pytest.approx(plan.probing))
    assert plan.parts[0]["patches"] == "14 × 14"
    assert plan.disk > 0
    data = run_of(STUDY, tmp_path, **first)
    assert {(score.probe, score.metric) for score in data.scores} == {
        (probe, metric) for probe in ("patch-linear", "patch-context") for metric in ("miou", "pixel-accuracy")
    }
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}
    again = plan_of(STUDY, tmp_path, **first)
    assert (again.jobs_left, again.disk) == (0, 0)
    run_of(STUDY, tmp_path, **first)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == before
    more = run_of(STUDY, tmp_path, nets("supervised", "simclr"), datasets=[some_scenes("scenes-unseen")])
    assert {score.domain for score in more.scores} == {"scenes-seen", "scenes-unseen"}
    assert read_run(tmp_path).scores == more.scores
    pictures = list((tmp_path / "pictures").rglob("*.png"))
    assert len(pictures) >= 6


def test_a_number_of_training_patches_is_drawn_and_test_images_keep_all(tmp_path: Path) -> None:
    drawn, given = STUDY.replace(patches=20), {"backbones": nets(), "datasets": [some_scenes()]}
    plan = plan_of(drawn, tmp_path, **given)
    assert plan.parts[0]["training patches"] == 8 * 20
    assert plan_of(STUDY, tmp_path, **given).parts[0]["training patches"] == 8 * 14 * 14
    data = run_of(drawn, tmp_path, **given)
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
    assert plan_of(drawn, tmp_path, **given).jobs_left == 0
    with pytest.raises(UserError, match="patches of the patch-linear protocol"):
        plan_of(STUDY, tmp_path, **given)


def test_patches_are_the_same_as_among_all(tmp_path: Path) -> None:
    """A draw from stored features of all patches has the same features and labels."""
    jobs = []
    for number in (20, "all"):
        study, given = given_of(STUDY.replace(patches=number), nets(), [some_scenes()])
        [stage] = open_study(study, given, ALONE, Silent()).stages
        jobs.append(stage.prepare(tmp_path / f"{number}", ALONE, Silent()).cells.jobs)
    stores = [
        [read_patches(each.parent) for each in (tmp_path / name / "features").rglob("manifest.json")]
        for name in ("20", "all")
    ]
    few, whole = (next(store for store in of if len(store) == 8) for of in stores)
    assert few.drawn
    whole_rows = whole.patches(range(8)).reshape(8, 196, -1)[:, list(few.drawn)]
    assert np.array_equal(few.patches(range(8)).reshape(8, 20, -1), whole_rows)
    drawn, every = jobs
    assert not {job.key for job in drawn} & {job.key for job in every}


def test_patches_that_cannot_be_drawn_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="197 of 196"):
        plan_of(STUDY.replace(patches=197), tmp_path / "run", nets(), datasets=[some_scenes()])
    with pytest.raises(UserError, match="all their patches"):
        plan_of(STUDY, tmp_path / "run", nets(patches=20), datasets=[some_scenes()])
    assert not (tmp_path / "run").exists()


def test_a_plan_knows_the_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """ADE20K with a ViT-B/14 and images of 518 pixels, on a GPU of 24 GB and on one that is nearly full."""
    size, probes = PatchSize(20_210, 37 * 37, 2_000, 37 * 37, 768, 150), [PatchLinear(QUICK), PatchContext()]
    for free, peak, patches in ((23 << 30, 19e9, 780), (12 << 30, 3e9, 360)):
        monkeypatch.setattr(patch_estimate, "free_bytes", lambda _, free=free: free)
        memory = peak_memory(probes, "ade20k", size, "cuda")
        assert 0.7 * peak < memory.bytes < peak
        [notice] = memory.notices
        assert dict(notice.arguments)["patches"] == pytest.approx(patches, rel=0.1)
        fewer = replace(size, positions=int(dict(notice.arguments)["patches"]))
        assert not peak_memory(probes, "ade20k", fewer, "cuda").notices
    monkeypatch.setattr(patch_estimate, "free_bytes", lambda _: 1 << 28)
    with pytest.raises(UserError, match="GPU memory"):
        peak_memory(probes, "ade20k", size, "cuda")


def test_a_part_is_planned_as_it_is_done(tmp_path: Path) -> None:
    scenes = [some_scenes(name) for name in ("scenes-seen", "scenes-unseen")]
    planned, done = planned_and_prepared(STUDY, tmp_path, 3, backbones=nets("supervised", "simclr"), datasets=scenes)
    assert planned == done
    assert sum(done) == 8


def test_the_time_of_every_seed_is_planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unseen.studies.inputs.patches.probe_seconds", lambda *_: 1.0)
    plan = plan_of(STUDY.replace(seeds=3), tmp_path, nets(), datasets=[some_scenes()])
    assert (plan.jobs, plan.probing) == (4, 4.0)  # only the trained one depends on seeds


def test_parts_and_devices_probe_what_one_process_probes(tmp_path: Path, two_devices: Means) -> None:
    given = {"backbones": nets(), "datasets": [some_scenes()]}
    expected = values(run_of(STUDY, tmp_path / "one", **given))
    for number in (1, 2):
        with suppress(OtherPartsError):
            run_of(STUDY, tmp_path / "parts", part=(number, 2), **given)
    found = [run_of(STUDY, tmp_path / "parts", part=(number, 2), **given) for number in (1, 2)]
    assert values(found[-1]) == expected
    assert values(run_of(STUDY, tmp_path / "devices", means=two_devices, **given)) == expected


@pytest.mark.gpu_too
def test_data_sets_of_the_same_images_share_their_features(tmp_path: Path) -> None:
    study, scenes = STUDY.replace(probes="patch-context"), some_scenes()
    other = replace(scenes, dataset=replace(scenes.dataset, name="other-labels"))
    disks = [
        plan_of(study, tmp_path / "both", nets(), datasets=datasets).disk for datasets in ([scenes], [scenes, other])
    ]
    assert disks[0] == disks[1] > 0
    data = run_of(study, tmp_path / "both", nets(), datasets=[scenes, other])
    assert len(list((tmp_path / "both/features").rglob("manifest.json"))) == len(("train", "test"))
    of = {name: [s.value for s in data.scores if s.domain == name] for name in ("scenes-seen", "other-labels")}
    assert of["scenes-seen"] == of["other-labels"]
    assert [each.domain for each in data.features] == ["scenes-seen", "other-labels"]


def test_labels_turn_with_their_images_and_are_then_another_job(tmp_path: Path) -> None:
    """The same pictures, stored upright or turned with a tag: a probe of a study with exif gives the same scores."""
    scenes, folders = some_scenes(), {turn: tmp_path / str(turn) for turn in (1, 6)}
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

    def digest(turn: int, *, exif: bool) -> str:
        study, given = given_of(STUDY.replace(datasets=str(folders[turn]), exif=exif), nets())
        [data] = open_study(study, given, ALONE, Silent()).opened.data
        return survey_labels(data.images).digest

    study = STUDY.replace(probes="patch-context", exif=True)
    found = {
        turn: run_of(study.replace(datasets=str(folder)), tmp_path / f"run-{turn}", nets())
        for turn, folder in folders.items()
    }
    assert [score.value for score in found[1].scores] == [score.value for score in found[6].scores]
    digests = {exif: digest(6, exif=exif) for exif in (False, True)}
    assert digests[False] != digests[True] == digest(1, exif=False)


def test_a_data_set_that_cannot_be_scored_is_refused_before_anything_is_extracted(tmp_path: Path) -> None:
    ignored = np.full((112, 112), 255, dtype=np.uint8)
    scenes = replace(some_scenes(), reader=SimpleNamespace(place=str, read=lambda _: ignored))
    with pytest.raises(UserError, match="no training image has a pixel with a class"):
        run_of(STUDY, tmp_path, nets(), datasets=[scenes])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "probes", "message"),
    [
        ("scenes-seen-boxes", ["patch-linear"], "takes maps of classes.*not boxes"),
        ("scenes-seen", ["detector-frozen"], "takes boxes, not maps of classes"),
    ],
)
def test_what_cannot_be_probed_is_refused(tmp_path: Path, name: str, probes: Sequence[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_of(STUDY.replace(probes=probes), tmp_path, nets(), datasets=[some_scenes(name)])


def test_a_backbone_that_pools_is_loaded_again_for_patches(tmp_path: Path) -> None:
    given = {"datasets": [some_scenes()]}
    study = STUDY.replace(probes="patch-context")
    pooled = run_of(study, tmp_path / "pooled", nets(patches=False), **given)
    assert values(pooled) == values(run_of(study, tmp_path / "patches", nets(), **given))


def test_another_protocol_in_the_same_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"backbones": nets(), "datasets": [some_scenes()]}
    run_of(STUDY.replace(probes="patch-linear"), tmp_path, **given)
    monkeypatch.setitem(all_probes(), "patch-linear", LongerLinear)
    with pytest.raises(UserError, match="epochs"):
        plan_of(STUDY, tmp_path, **given)
