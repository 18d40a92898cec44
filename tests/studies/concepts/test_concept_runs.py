"""Runs of concept studies from images, features and features of other levels: plans, parts, resuming, additions."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from part_shares import planned_and_prepared

from studies import plan_of, run_of, study_of
from tiny_imagenet import LEVELS, TEST, TRAIN, TinyImageNet, make_tiny_imagenet
from unseen.data.core.splits import Splits
from unseen.errors import UserError
from unseen.runs.record import RUN, read_run
from unseen.studies.concepts.domains import open_domains
from unseen.studies.concepts.domains import test_sources as sources_of_tests
from unseen.studies.concepts.levels import choose_levels
from unseen.studies.places import Places
from unseen.studies.study import Study
from unseen.studies.watch import Silent

QUICK = {"protocol": "cog-v2-short"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


def quick_study(tiny: TinyImageNet, **keys: Any) -> Study:
    """All samples and one seed, unless keys say otherwise."""
    return study_of("cog-v2", **{"levels": str(tiny.levels), "shots": "all", "seeds": 1, "logistic": QUICK} | keys)


def of_images(tiny: TinyImageNet, **keys: Any) -> Study:
    return quick_study(tiny, splits=str(tiny.splits), **keys)


def images_of(tiny: TinyImageNet) -> dict[str, Any]:
    places = {"imagenet-21k": tiny.imagenet_21k, "imagenet-1k": tiny.imagenet_1k}
    return {"backbones": [tiny.backbone], "data": places}


@pytest.fixture(scope="module")
def made(tiny: TinyImageNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of images."""
    out = tmp_path_factory.mktemp("made") / "run"
    run_of(of_images(tiny), out, **images_of(tiny))
    return out


def values(run: Path) -> list[tuple[object, ...]]:
    return [(s.backbone, s.domain, s.probe, s.shots, s.seed, s.metric, s.value) for s in read_run(run).scores]


def test_a_plan_before_and_after(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    study = of_images(tiny, datasets=["l1", "l2"])
    before, after = (plan_of(study, out, **images_of(tiny)) for out in (tmp_path / "run", made))
    for plan in (before, after):
        rows = [(row["data set"], row["classes"], row["train"], row["test"]) for row in plan.parts]
        assert rows == [("l1", 3, 3 * TRAIN, 3 * TEST), ("l2", 3, 3 * TRAIN, 3 * TEST)]
    assert (before.jobs, before.jobs_left, [row["extracted"] for row in before.parts]) == (2, 2, [0, 0])
    assert min(before.extraction, before.probing, before.disk, before.free, before.memory) > 0
    assert (after.jobs, after.jobs_left, [row["extracted"] for row in after.parts]) == (2, 0, [1, 1])
    assert (after.extraction, after.probing, after.disk) == (0, 0, 0)
    assert not (tmp_path / "run").exists()


def test_other_settings_are_refused_in_the_folder_of_a_run(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(made, tmp_path / "run"))
    kept = (copy / RUN).read_bytes()
    other = {"logistic": {"protocol": "cog-v2"}}
    with pytest.raises(UserError, match="another folder"):
        run_of(of_images(tiny, **other), copy, **images_of(tiny))
    with pytest.raises(UserError, match="another folder"):
        run_of(quick_study(tiny, **other), copy, features=made / "features")
    with pytest.raises(UserError, match="another folder"):
        run_of(of_images(tiny, precision="bfloat"), copy, **images_of(tiny))
    assert (copy / RUN).read_bytes() == kept
    before = {path.name for path in (copy / "results").glob("*.json")}
    data = run_of(of_images(tiny, logistic={"protocol": "cog-v2-pruned"}), copy, **images_of(tiny), replacing=True)
    assert [each.name for each in data.protocols] == ["cog-v2-pruned"]
    assert {(score.domain, score.shots, score.seed) for score in data.scores} == {
        (domain, None, 0) for domain in ("in1k", "l1", "l2")
    }
    assert before < {path.name for path in (copy / "results").glob("*.json")}  # results of others are kept


def test_features_give_what_images_give(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    study, features = quick_study(tiny), made / "features"
    plan = plan_of(study, tmp_path / "run", features=features)
    assert [(row["data set"], row["dimensions"]) for row in plan.parts] == [("in1k", 12), ("l1", 12), ("l2", 12)]
    assert (plan.jobs, plan.jobs_left, plan.disk, plan.free) == (3, 3, 0, 0)
    run_of(study, tmp_path / "run", features=features)
    assert values(tmp_path / "run") == values(made)
    assert not (tmp_path / "run" / "features").exists()


def test_a_plan_of_regrouped_features_is_what_they_become(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    levels = choose_levels(str(tiny.levels)).levels
    other = {"n02121808": 2, "n03930630": 1}
    swapped = [replace(each, level=other.get(each.wnid, each.level)) for each in levels.concepts]
    own = replace(levels, name="other", concepts=tuple(sorted(swapped, key=lambda each: each.level)))
    own.write(tmp_path / "other.csv")
    study = quick_study(tiny, levels=str(tmp_path / "other.csv"), datasets=["l1", "l2"])
    plan = plan_of(study, tmp_path / "run", features=made / "features")
    sizes = [(row["classes"], row["train"], row["test"], row["dimensions"]) for row in plan.parts]
    assert sizes == [(3, 3 * TRAIN, 3 * TEST, 12)] * 2
    assert not (tmp_path / "run").exists()
    data = run_of(study, tmp_path / "run", features=made / "features")
    assert {(each.domain, each.images["train"], each.images["test"]) for each in data.scored} == {
        (str(row["data set"]), row["train"], row["test"]) for row in plan.parts
    }
    assert "n03930630" in "".join(data.domains[0].concepts)


def test_a_part_is_planned_as_it_is_done(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    more = {"shots": [1, 2, "all"], "seeds": 3, "datasets": ["l1", "l2"]}
    planned, done = planned_and_prepared(of_images(tiny, **more), tmp_path / "a", 4, **images_of(tiny))
    assert planned == done
    assert sum(planned) == 18
    study = quick_study(tiny, **more, class_balanced=True)  # regrouped
    planned, again = planned_and_prepared(study, tmp_path / "b", 4, features=made / "features")
    assert planned == again == done


def test_splits_of_features_are_read(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    splits = Splits.read(tiny.splits)
    replace(splits, rule=None).write(tmp_path / "theirs.npz")
    cases = ((None, "unknown"), (tiny.splits, "ours"), (tmp_path / "theirs.npz", "given"))
    for number, (file, draw) in enumerate(cases):
        features = without_draw(made / "features", tmp_path / f"features{number}")
        study = quick_study(tiny, splits=str(file) if file else None)
        data = run_of(study, tmp_path / f"run{number}", features=features)
        assert {each.draw for each in data.scored if each.domain != "in1k"} == {draw}
        assert (data.splits and data.splits.hash) == (file and splits.content_hash)
    replace(splits, classes=dict([*splits.classes.items()][:2])).write(tmp_path / "fewer.npz")
    (tmp_path / "damaged.npz").write_bytes(tiny.splits.read_bytes()[:100])
    for wrong in ("missing.npz", "damaged.npz", "fewer.npz"):
        study = quick_study(tiny, splits=str(tmp_path / wrong))
        with pytest.raises(UserError, match=wrong):
            run_of(study, tmp_path / "wrong", features=made / "features")
    with pytest.raises(UserError, match="leave out splits"):
        run_of(of_images(tiny, class_balanced=True), tmp_path / "wrong", features=made / "features")
    with pytest.raises(UserError, match="in1k: its concepts are not known; leave it out"):
        run_of(quick_study(tiny, class_balanced=True), tmp_path / "wrong", features=made / "features")
    assert not (tmp_path / "wrong").exists()


def without_draw(features: Path, copy: Path) -> Path:
    """The same features, whose stores do not record who drew their images."""
    shutil.copytree(features, copy)
    for manifest in copy.rglob("manifest.json"):
        record = json.loads(manifest.read_text())
        record["provenance"].pop("source", None)
        manifest.write_text(json.dumps(record))
    return copy


def test_domains_and_where_their_images_are(tiny: TinyImageNet) -> None:
    chosen, study = choose_levels(str(tiny.levels)), of_images(tiny)
    places = Places.of(images_of(tiny)["data"])
    domains, said = open_domains(study, chosen, ["in1k", "l2"], places, Silent())
    assert [(domain.name, domain.classes) for domain in domains][1] == ("l2", tuple(sorted(LEVELS[2])))
    assert said == []
    found = sources_of_tests(["in1k", "l1", "l2"], "in1k", places, Silent())
    assert found["l1"] is found["l2"]
    assert sources_of_tests(["in1k", "l1"], "in1k", Places(), Silent()) == {}
    for name in places.named:
        fewer = Places(named={other: place for other, place in places.named.items() if other != name})
        with pytest.raises(UserError, match=name):
            open_domains(study, chosen, ["in1k", "l2"], fewer, Silent())
    with pytest.raises(UserError, match="leave out splits"):
        open_domains(of_images(tiny, class_balanced=True), chosen, ["l2"], places, Silent())


def test_images_are_found_below_the_folder_of_all_data(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/fall11_whole.tar").symlink_to(tiny.imagenet_21k)
    (tmp_path / "data/imagenet-1k").symlink_to(tiny.imagenet_1k)
    run_of(of_images(tiny), tmp_path / "run", [tiny.backbone], data=tmp_path / "data")
    assert values(tmp_path / "run") == values(made)


def test_an_unfinished_run_goes_on(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(made, tmp_path / "run"))
    gone = sorted((copy / "results").glob("*.json"))[0]
    expected = json.loads(gone.read_text())
    gone.unlink()
    study = of_images(tiny)
    assert plan_of(study, copy, **images_of(tiny)).jobs_left == 1
    run_of(study, copy, **images_of(tiny))
    again = json.loads(gone.read_text())
    assert again["values"]["fits"][0]["values"] == expected["values"]["fits"][0]["values"]
    assert set(again["values"]["fits"][0]["values"]) == {"top1", "top5"}
    assert again["values"]["fits"][0]["details"]["rate"] == expected["values"]["fits"][0]["details"]["rate"]


def test_domains_and_backbones_are_added_to_a_run(tiny: TinyImageNet, made: Path, tmp_path: Path) -> None:
    out, other = tmp_path / "run", f"{tiny.folder / 'tiny.py'}:other"
    first = run_of(of_images(tiny, datasets=["l2"]), out, **images_of(tiny))
    assert [domain.name for domain in first.domains] == ["l2"]
    whole = run_of(of_images(tiny, datasets=["in1k", "l1"]), out, **images_of(tiny))
    assert [domain.name for domain in whole.domains] == ["in1k", "l1", "l2"]
    assert values(out) == values(made)
    both = run_of(of_images(tiny), out, **images_of(tiny) | {"backbones": [tiny.backbone, other]})
    assert [each.name for each in both.backbones] == [tiny.backbone, other]
    assert [each for each in values(out) if each[0] == tiny.backbone] == values(made)
    assert {each[1] for each in values(out) if each[0] == other} == {"in1k", "l1", "l2"}
    run_of(quick_study(tiny), tmp_path / "again", [other], features=out / "features")
    assert values(tmp_path / "again") == [each for each in values(out) if each[0] == other]
    with pytest.raises(UserError, match="several backbones"):
        run_of(quick_study(tiny), tmp_path / "two", features=out / "features")
