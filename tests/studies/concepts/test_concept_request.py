"""The request of a concept study, from images, features and features of other levels; in Python as by the command."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from part_shares import planned_and_prepared

import unseen as api
from tiny_imagenet import LEVELS, TEST, TRAIN, TinyImageNet, make_tiny_imagenet
from unseen.api.run import Run
from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.images.splits import Splits
from unseen.runs.means import ALONE
from unseen.runs.record import RUN, read_run
from unseen.studies.concepts.chosen import ChosenLevels, asked_of, choose_levels
from unseen.studies.concepts.images import ImagePlaces, open_domains, sources_of_tests
from unseen.studies.concepts.request import ConceptRequest, request_of_features, request_of_images
from unseen.studies.concepts.study import as_published
from unseen.studies.study import Plan, Silent, plan_study, run_study

Unseen = Callable[..., tuple[int, str, str]]
QUICK = {"protocol": "cog-v2-short", "shots": "all", "seeds": 1}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


def images_of(tiny: TinyImageNet) -> ImagePlaces:
    return ImagePlaces(str(tiny.imagenet_21k), tiny.imagenet_1k, splits=tiny.splits)


def of_images(tiny: TinyImageNet, chosen: ChosenLevels, **more: object) -> ConceptRequest:
    asked = asked_of(chosen, **QUICK | more)  # type: ignore[arg-type]
    backbones = [as_published(load_backbone(tiny.backbone))]
    return request_of_images(asked, chosen, images_of(tiny), backbones, Settings(workers=0))


@pytest.fixture(scope="module")
def made(tiny: TinyImageNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of images."""
    out = tmp_path_factory.mktemp("made") / "run"
    run_study(of_images(tiny, choose_levels(tiny.levels)), out)
    return out


def values(run: Path) -> list[tuple[object, ...]]:
    return [(s.backbone, s.domain, s.probe, s.shots, s.seed, s.metric, s.value) for s in read_run(run).scores]


def test_a_plan_before_and_after(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    request = of_images(tiny, choose_levels(tiny.levels), domains="l1,l2")
    before, after = plan_study(request, tmp_path / "run"), plan_study(request, made)
    for plan in (before, after):
        rows = [(row["domain"], row["concepts"], row["training images"], row["test images"]) for row in plan.parts]
        assert rows == [("l1", 3, 3 * TRAIN, 3 * TEST), ("l2", 3, 3 * TRAIN, 3 * TEST)]
    assert (before.jobs, before.jobs_left, [row["extracted"] for row in before.parts]) == (2, 2, [0, 0])
    assert min(before.extraction, before.probing, before.disk, before.free, before.memory) > 0
    assert (after.jobs, after.jobs_left, [row["extracted"] for row in after.parts]) == (2, 0, [1, 1])
    assert (after.extraction, after.probing, after.disk) == (0, 0, 0)
    assert not (tmp_path / "run").exists()


def test_the_folder_of_another_run_is_refused_before_anything_is_done(tiny: TinyImageNet, made: Path) -> None:
    kept = (made / RUN).read_bytes()
    with pytest.raises(UserError, match="another folder"):
        plan_study(of_images(tiny, choose_levels(tiny.levels), protocol="cog-v2"), made)
    features = asked_of(choose_levels(tiny.levels), protocol="cog-v2")
    with pytest.raises(UserError, match="another folder"):
        plan_study(request_of_features(features, made / "features"), made)
    assert (made / RUN).read_bytes() == kept


def test_features_give_what_images_give(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    asked = asked_of(choose_levels(tiny.levels), **QUICK)  # type: ignore[arg-type]
    request = request_of_features(asked, made / "features")
    plan = plan_study(request, tmp_path / "run")
    assert [(row["domain"], row["dimensions"]) for row in plan.parts] == [("in1k", 12), ("l1", 12), ("l2", 12)]
    assert (plan.jobs, plan.jobs_left, plan.disk, plan.free) == (3, 3, 0, 0)
    run_study(request, tmp_path / "run")
    assert values(tmp_path / "run") == values(made)
    with pytest.raises(UserError, match="regroup=True"):
        request_of_features(replace(asked, variant="class-balanced"), made / "features")


def test_a_plan_of_regrouped_features_is_what_they_become(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    levels = choose_levels(tiny.levels).levels
    other = {"n02121808": 2, "n03930630": 1}
    swapped = [replace(each, level=other.get(each.wnid, each.level)) for each in levels.concepts]
    own = replace(levels, name="other", concepts=tuple(sorted(swapped, key=lambda each: each.level)))
    asked = asked_of(choose_levels(own), domains="l1,l2", **QUICK)  # type: ignore[arg-type]
    request = request_of_features(asked, made / "features", [tiny.backbone], regroup=True)
    plan = plan_study(request, tmp_path / "run")
    sizes = [(row["concepts"], row["training images"], row["test images"], row["dimensions"]) for row in plan.parts]
    assert sizes == [(3, 3 * TRAIN, 3 * TEST, 12)] * 2
    assert not (tmp_path / "run").exists()
    data = run_study(request, tmp_path / "run")
    assert {(each.domain, each.images["train"], each.images["test"]) for each in data.scored} == {
        (str(row["domain"]), row["training images"], row["test images"]) for row in plan.parts
    }
    with pytest.raises(UserError, match="backbone="):
        request_of_features(asked, made / "features", regroup=True)


def test_a_part_is_planned_as_it_is_done(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    more = {"shots": "1,2,all", "seeds": 3, "domains": "l1,l2"}
    planned, done = planned_and_prepared(of_images(tiny, choose_levels(tiny.levels), **more), tmp_path / "a", 4)
    assert planned == done
    assert sum(planned) == 18
    asked = asked_of(choose_levels(tiny.levels), **QUICK | more)  # type: ignore[arg-type]
    request = request_of_features(asked, made / "features", [tiny.backbone], regroup=True)
    planned, again = planned_and_prepared(request, tmp_path / "b", 4)
    assert planned == again == done


def test_splits_of_features_are_read(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    asked = asked_of(choose_levels(tiny.levels), **QUICK)  # type: ignore[arg-type]
    splits = Splits.read(tiny.splits)
    replace(splits, rule=None).write(tmp_path / "theirs.npz")
    for file, draw in ((None, "unknown"), (tiny.splits, "ours"), (tmp_path / "theirs.npz", "given")):
        request = request_of_features(asked, made / "features", splits=file)
        assert request.asked.draw == draw
        data = request.prepare(tmp_path / "run", ALONE, Silent()).run
        assert (data.splits and data.splits.hash) == (file and splits.content_hash)
    replace(splits, classes=dict([*splits.classes.items()][:2])).write(tmp_path / "fewer.npz")
    (tmp_path / "damaged.npz").write_bytes(tiny.splits.read_bytes()[:100])
    for wrong in ("missing.npz", "damaged.npz", "fewer.npz"):
        with pytest.raises(UserError, match=wrong):
            request_of_features(asked, made / "features", splits=tmp_path / wrong)
    for regroup in (True, False):
        with pytest.raises(UserError, match="leave out splits"):
            request_of_features(
                replace(asked, variant="class-balanced"), made / "features", [tiny.backbone], regroup=regroup,
                splits=tiny.splits,
            )  # fmt: skip


def test_domains_and_where_their_images_are(tiny: TinyImageNet) -> None:
    chosen, places = choose_levels(tiny.levels), images_of(tiny)
    domains, said = open_domains(chosen, ["in1k", "l2"], places)
    assert [(domain.name, domain.classes) for domain in domains][1] == ("l2", tuple(sorted(LEVELS[2])))
    assert said == []
    found = sources_of_tests(["in1k", "l1", "l2"], "in1k", places)
    assert found["l1"] is found["l2"]
    assert set(sources_of_tests(["in1k", "l1"], "in1k", ImagePlaces())) == set()
    for lacking, message in ((replace(places, images=None), "images="), (replace(places, imagenet_1k=None), "1k")):
        with pytest.raises(UserError, match=message):
            open_domains(chosen, ["in1k", "l2"], lacking)
    with pytest.raises(UserError, match="leave out splits"):
        open_domains(chosen, ["l2"], replace(places, variant="class-balanced"))


def test_python_and_the_command_give_the_same(
    tiny: TinyImageNet, made: Path, tmp_path: Path, unseen: Unseen, caplog: pytest.LogCaptureFixture
) -> None:
    options = {"levels": tiny.levels, "images": tiny.imagenet_21k, "imagenet_1k": tiny.imagenet_1k}
    options |= {"splits": tiny.splits, "workers": 1, "device": "cpu"} | QUICK
    net = api.load_backbone(tiny.backbone, device="cpu")
    plan = api.concepts(net, out=tmp_path / "python", dry_run=True, **options)  # type: ignore[arg-type]
    assert isinstance(plan, Plan)
    assert plan.jobs_left == 3
    assert not (tmp_path / "python").exists()
    run = api.concepts(net, out=tmp_path / "python", **options)  # type: ignore[arg-type]
    assert isinstance(run, Run)
    words = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    answer = unseen("concepts", "--backbone", tiny.backbone, *words, "--out", tmp_path / "command")
    assert answer[0] == 0, answer
    assert values(tmp_path / "python") == values(tmp_path / "command") == values(made)
    names = [f"{path.parent.name}/{path.name}" for path in sorted((tmp_path / "python").rglob("*.npy"))]
    for folder in ("python", "command"):
        assert [f"{path.parent.name}/{path.name}" for path in sorted((tmp_path / folder).rglob("*.npy"))] == names
    state = run.plan()
    assert (state.jobs, state.jobs_left) == (3, 0)
    assert state.to_frame()["jobs done"].tolist() == [1, 1, 1]
    next(iter((tmp_path / "python/results").glob("*.json"))).unlink()
    assert run.plan().jobs_left == 1
    assert len(repr(run)) < 1000
    with pytest.raises(UserError, match="not both"):
        api.concepts(net, out=tmp_path / "x", features=made / "features", images=tiny.imagenet_21k)
    with pytest.raises(UserError, match="no backbone was given"):
        api.concepts(out=tmp_path / "x", images=tiny.imagenet_21k)
    with pytest.raises(UserError, match="twice"):
        api.concepts([net, net], out=tmp_path / "x", **options)  # type: ignore[arg-type]
    assert not (tmp_path / "x").exists()


def test_an_unfinished_run_goes_on(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(made, tmp_path / "run"))
    gone = sorted((copy / "results").glob("*.json"))[0]
    expected = json.loads(gone.read_text())
    gone.unlink()
    request = of_images(tiny, choose_levels(tiny.levels))
    assert plan_study(request, copy).jobs_left == 1
    run_study(request, copy)
    again = json.loads(gone.read_text())
    assert again["values"]["fits"][0]["values"] == expected["values"]["fits"][0]["values"]
    assert set(again["values"]["fits"][0]["values"]) == {"top1", "top5"}
    assert again["values"]["fits"][0]["details"]["rate"] == expected["values"]["fits"][0]["details"]["rate"]
