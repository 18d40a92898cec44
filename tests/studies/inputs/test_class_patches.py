"""Probes that pool the patches of images with classes, in a study: planned, run, resumed, shown on the page."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from part_shares import planned_and_prepared
from PIL import Image
from targets import tiny_data

from studies import plan_of, run_of, study_of
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.errors import OtherPartsError, UserError
from unseen.features.patches import read_patches
from unseen.probes.attentive.protocol import AttentiveProtocol
from unseen.probes.by_name import all_probes
from unseen.probes.by_name.attentive import Attentive
from unseen.probes.by_name.patch_linear import PatchLinear
from unseen.probes.patches.patch_probe import PatchSize
from unseen.probes.patches.protocols import PatchLinearProtocol
from unseen.report.tasks.results import page_of_run
from unseen.report.tasks.sections.attention import build
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.runs.record import read_results, read_run
from unseen.studies.inputs import patch_estimate
from unseen.studies.inputs.patch_estimate import fit_seconds, peak_memory

STUDY = study_of(preprocessing="own", seeds=1, probes="attentive").replace(attentive={"queries": 2, "epochs": 1})
QUICK = AttentiveProtocol(rates=(1.0, 3.0), decays=(0.0,), batch=8, least_steps=4)
QUICK_LINEAR = PatchLinearProtocol(rates=(3e-3,), decays=(0.0,), epochs=1, least_steps=3)


@dataclass(frozen=True)
class Quick(Attentive):
    protocol: AttentiveProtocol = QUICK


@dataclass(frozen=True)
class QuickLinear(PatchLinear):
    protocol: PatchLinearProtocol = QUICK_LINEAR


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(all_probes(), "attentive", Quick)
    monkeypatch.setitem(all_probes(), "patch-linear", QuickLinear)


def nets(*names: str, **options: Any) -> list[Backbone]:
    return [load_backbone(f"demo:{name}", size=28, **options) for name in names or ("untrained",)]


def values(run: RunData) -> set[tuple[str, str, float]]:
    return {(score.key, score.metric, score.value) for score in run.scores}


@pytest.mark.gpu_too
def test_it_runs_beside_probes_of_whole_images_and_a_second_run_does_nothing(tmp_path: Path) -> None:
    study, given = STUDY.replace(probes=["attentive", "knn"]), {"backbones": nets(), "datasets": [tiny_data("class")]}
    plan = plan_of(study, tmp_path, **given)
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    [part] = [each for each in plan.parts if "patches" in each]
    assert (part["train"], part["val"], part["test"], part["patches"]) == (12, 6, 6, "7 × 7")
    data = run_of(study, tmp_path, **given)
    size = sum(path.stat().st_size for path in tmp_path.rglob("X-*.npy"))
    assert size == pytest.approx(plan.disk, rel=0.1)
    assert {(score.probe, score.metric) for score in data.scores} >= {("attentive", "top1"), ("knn-20", "top1")}
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()}
    assert plan_of(study, tmp_path, **given).jobs_left == 0
    assert values(run_of(study, tmp_path, **given)) == values(data)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "results").iterdir()} == before
    # The features of patches are not among those of whole images, which other studies read.
    assert not [*(tmp_path / "features").rglob("*patch*")]
    assert len([*(tmp_path / "features").rglob("manifest.json")]) == 3
    assert len([*(tmp_path / "patches").rglob("manifest.json")]) == 3
    more = run_of(study, tmp_path, nets("untrained", "supervised"), datasets=[tiny_data("class")])
    assert values(more) > values(data)
    assert read_run(tmp_path).scores == more.scores


def test_the_page_shows_where_it_looks(tmp_path: Path) -> None:
    run_of(STUDY, tmp_path, nets(), datasets=[tiny_data("class")])
    [result] = read_results(tmp_path)
    kept = result.details["pictures"]
    [attention] = page_of_run(tmp_path).attention
    assert [about.file for _, about in attention.pictures] == [each["file"] for each in kept]
    section = build(page_of_run(tmp_path))
    assert section is not None
    assert sum(len(gallery.pictures) for gallery in section.galleries) == len(kept) > 0
    hits = dict(result.fits[0].values)["top1"]
    assert any(each["right"] for each in kept) == (hits > 0)
    with Image.open(attention.pictures[0][0]) as picture:  # the image, the mean, and both queries
        assert picture.size == (4 * 160 + 3 * 4, 160)
        panels = [np.asarray(picture)[:, start : start + 160] for start in (0, 164, 328, 492)]
    assert all(panel.std() > 0 for panel in panels)
    assert not (panels[2] == panels[3]).all()


@pytest.mark.long_suite
@pytest.mark.parametrize("target", ["class", "classes"])
def test_parts_and_devices_compute_what_one_process_computes(tmp_path: Path, two_devices: Means, target: Any) -> None:
    given = {"backbones": nets("untrained", "supervised"), "datasets": [tiny_data(target)]}
    expected = values(run_of(STUDY, tmp_path / "one", **given))
    for number in (1, 2, 1):
        with suppress(OtherPartsError):
            found = run_of(STUDY, tmp_path / "parts", part=(number, 2), **given)
    assert values(found) == expected
    assert values(run_of(STUDY, tmp_path / "devices", means=two_devices, **given)) == expected


def test_a_part_is_planned_as_it_is_done(tmp_path: Path) -> None:
    data = [tiny_data("class"), tiny_data("class", "other")]
    planned, done = planned_and_prepared(
        STUDY.replace(seeds=2), tmp_path, 3, backbones=nets("untrained", "supervised"), datasets=data
    )
    assert planned == done
    assert sum(done) == 8


@pytest.mark.long_suite
def test_every_seed_and_number_of_shots_is_a_fit(tmp_path: Path) -> None:
    study = STUDY.replace(seeds=2, shots=[2, "all"])
    data = run_of(study, tmp_path, nets(), datasets=[tiny_data("class")])
    assert {(score.shots, score.seed) for score in data.scores} == {(2, 0), (2, 1), (None, 0), (None, 1)}


def test_maps_and_classes_are_probed_in_one_study(tmp_path: Path) -> None:
    """A number of patches is for maps; those of classes are all there."""
    study = STUDY.replace(probes=["attentive", "patch-linear"], patches=5)
    data = run_of(study, tmp_path, nets(), datasets=[tiny_data("class"), tiny_data("map", "maps")])
    assert {(score.domain, score.probe) for score in data.scores} == {("tiny", "attentive"), ("maps", "patch-linear")}
    drawn = {path.parts[-2]: read_patches(path.parent).positions for path in tmp_path.rglob("manifest.json")}
    assert sorted(drawn.values()) == [5, 49, 49, 49, 49]


@pytest.mark.parametrize(
    ("keys", "options", "said"),
    [
        ({"patches": 5}, {}, "patches=5"),
        ({"attentive": {"queries": 48}}, {}, "32 or 64"),
        ({}, {"patches": 5}, "all their patches"),
    ],
)
def test_what_cannot_be_pooled_is_refused_before_anything_is_extracted(
    tmp_path: Path, keys: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError) as refused:
        run_of(STUDY.replace(**keys), tmp_path / "run", nets(**options), datasets=[tiny_data("class")])
    assert said in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("free", [40 << 30, 16 << 30])
def test_memory_is_that_of_kept_or_of_read_features(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    size, probes = PatchSize(100_000, 196, 5_000, 196, 768, 1_000), [Attentive()]
    monkeypatch.setattr(patch_estimate, "free_bytes", lambda _: free)
    memory = peak_memory(probes, "many", size, "cuda", labels=False)
    assert (memory.bytes > 30e9) == (free > 32 << 30)
    assert not memory.notices
    monkeypatch.setattr(patch_estimate, "free_bytes", lambda _: 1 << 28)
    with pytest.raises(UserError, match="GPU memory"):
        peak_memory(probes, "many", size, "cuda", labels=False)


def test_time_grows_with_the_images() -> None:
    sizes: Sequence[PatchSize] = [PatchSize(number, 4, 10, 4, 8, 3) for number in (2_000, 200_000)]
    few, many = (fit_seconds(Attentive(queries=2), size, "cpu") for size in sizes)
    assert many > 10 * few > 0


@pytest.mark.long_suite
def test_patches_beside_the_vectors_of_several_layers(tmp_path: Path) -> None:
    """One study with the four inputs of DINOv2; the layer of patches is recorded, and told."""
    study = STUDY.replace(probes=["attentive", "dinov2-linear"], **{"dinov2-linear": {"steps": 5}})
    keys = {"weights": "random", "size": 32, "layers": ["last-4"], "pool": ["cls+avg"]}
    run = run_of(study.replace(backbone=keys), tmp_path / "last", ["timm:test_vit"], datasets=[tiny_data("class")])
    assert {score.probe for score in run.scores} >= {"attentive", "dinov2-linear", "dinov2-linear-cls4-avg"}
    assert {score.backbone for score in run.scores} == {"timm:test_vit"}
    [backbone] = run.backbones
    assert backbone.patches is not None
    assert backbone.patches.backbone.layer == "last-1"
    [told] = [dict(each.arguments) for each in run.told if each.code == "patches-of-layer"]
    assert told == {"backbone": "timm:test_vit", "layer": "last-1", "layers": "last-4"}
    for layers, recorded in (("all", "own"), ("own", "own"), ("blocks.1", "blocks.1")):
        out, changed = tmp_path / layers, study.replace(probes="attentive", backbone=keys | {"layers": [layers]})
        if layers == "all":
            changed = changed.replace(backbone={"pool": []})
        run = run_of(changed, out, ["timm:test_vit"], datasets=[tiny_data("class")])
        assert run.backbones[0].patches is not None
        own = load_backbone("timm:test_vit", size=32, weights="random").spec.layer
        assert run.backbones[0].patches.backbone.layer == {"own": own}.get(recorded, recorded)
        assert ("patches-of-layer" in {each.code for each in run.told}) == (layers == "all")


def test_several_named_layers_are_refused(tmp_path: Path) -> None:
    study = STUDY.replace(backbone={"weights": "random", "size": 32, "layers": ["blocks.0", "blocks.1"]})
    with pytest.raises(UserError, match="one layer"):
        plan_of(study, tmp_path, ["timm:test_vit"], datasets=[tiny_data("class")])
