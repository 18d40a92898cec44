"""Fine-tuning with one setting, added to a run of frozen features: its plan, its record, and what is refused."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from coloured_images import coloured, small_network
from targets import tiny_data

from studies import plan_of, run_of, study_of
from tiny_imagenet import TEST, TRAIN, TinyImageNet, make_tiny_imagenet
from unseen.data.core.listing import list_images
from unseen.data.core.splits import SplitRule, draw_splits
from unseen.errors import UserError
from unseen.report.tasks.results import page_of_run
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.runs.record import RUN, read_run
from unseen.studies.study import Study
from unseen.studies.toml import find_study


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


def places(tiny: TinyImageNet) -> dict[str, Path]:
    return {"imagenet-21k": tiny.imagenet_21k, "imagenet-1k": tiny.imagenet_1k}


@pytest.fixture(scope="module")
def probed(tiny: TinyImageNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the seen concepts and one level with one probe."""
    out = tmp_path_factory.mktemp("probed") / "run"
    study = study_of(
        "cog-v2", levels=str(tiny.levels), splits=str(tiny.splits), datasets=["in1k", "l1"], shots=["all"], seeds=1,
        logistic={"protocol": "cog-v2-short"},
    )  # fmt: skip
    run_of(study, out, [tiny.backbone], data=places(tiny))
    return out


@pytest.fixture
def run(probed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(probed, tmp_path / "run"))


def reference(run: Path, **keys: Any) -> Study:
    """The study of the run with the reference instead of its probes."""
    settings = {"protocol": "reference", "epochs": 4, "batch": 8, "rate": 0.1}
    tuned = {name: keys.pop(name) for name in settings if name in keys}
    return find_study(str(run / "study.toml")).replace(
        probes=["fine-tuned"], **{"fine-tuned": settings | tuned}, **keys
    )


def top1(run: RunData) -> list[tuple[str, int, float]]:
    return [(s.domain, s.seed, s.value) for s in run.scores if (s.probe, s.metric) == ("fine-tuned", "top1")]


def test_its_trainings_are_jobs_of_the_run(tiny: TinyImageNet, run: Path, two_devices: Means) -> None:
    study, data = reference(run, seeds=2), places(tiny)
    plan = plan_of(study, run, data=data)
    assert [(part["data set"], part["seed"], part["trainings left"]) for part in plan.parts] == [
        (name, seed, 1) for name in ("in1k", "l1") for seed in (0, 1)
    ]
    assert {(part["train"], part["test"], part["steps left"]) for part in plan.parts[2:]} == {
        (3 * TRAIN, 3 * TEST, 3 * TRAIN * 4 // 8)
    }
    assert (plan.jobs, plan.jobs_left) == (4, 4)
    assert plan.probing > 0
    before, apart = read_run(run), Path(shutil.copytree(run, run.with_name("apart")))
    found = run_of(study, run, data=data)
    assert [(domain, seed) for domain, seed, _ in top1(found)] == [(n, s) for n in ("in1k", "l1") for s in (0, 1)]
    for domain, _, value in top1(found):
        assert value * 3 * TEST == pytest.approx(round(value * 3 * TEST)), f"a share of the test images of {domain}"
    assert [score for score in found.scores if score.probe != "fine-tuned"] == list(before.scores)
    assert (found.notice, found.domains) == (before.notice, before.domains)
    [backbone] = found.backbones
    assert backbone.features is not None
    assert backbone.finetuning == backbone.features.backbone
    assert [replace(backbone, finetuning=None)] == before.backbones
    spread = run_of(study, apart, data=data, means=two_devices)
    assert {(score.key, score.metric, score.value) for score in spread.scores} == {
        (score.key, score.metric, score.value) for score in found.scores
    }
    assert (plan_of(study, run, data=data).jobs_left, plan_of(study, run, data=data).probing) == (0, 0)
    with pytest.raises(UserError, match="key fine-tuned.epochs .4, not 5.; choose another folder"):
        run_of(reference(run, epochs=5), run, data=data)


def test_a_rate_that_diverges_can_be_followed_by_another(tiny: TinyImageNet, run: Path) -> None:
    before, data = read_run(run), places(tiny)
    with pytest.raises(UserError, match=r"diverged at rate 1e\+30"):
        run_of(reference(run, rate=1e30, datasets=["l1"]), run, data=data)
    kept = read_run(run)
    assert (kept.protocols, kept.scores) == (before.protocols, before.scores)
    assert [each.code for each in kept.told if each not in before.told] == ["failed"]
    assert not [*run.glob("checkpoints/*")]
    done = run_of(reference(run, datasets=["l1"]), run, data=data)
    assert {score.probe for score in done.scores} == {"logistic", "fine-tuned"}
    assert "failed" not in {each.code for each in done.told}


def test_other_images_and_weights_than_those_of_the_features_are_refused(tiny: TinyImageNet, run: Path) -> None:
    data, kept = places(tiny), (run / RUN).read_bytes()
    other = run.parent / "other.npz"
    concepts = [concept.split()[-1].strip("()") for d in read_run(run).domains if not d.seen for concept in d.concepts]
    concepts += ["n03930630", "n04037443", "n04285008"]
    draw_splits(list_images(tiny.imagenet_21k), concepts, source="x", rule=SplitRule(4, 6, 8)).write(other)
    study = replace(reference(run, datasets=["l1"]), files={})  # the backbone is a file that changes below
    with pytest.raises(UserError, match="splits"):
        run_of(study.replace(splits=str(other)), run, data=data)
    [described] = (path for path in run.glob("features/l1/*/*.json") if '"train"' in path.read_text())
    about = json.loads(described.read_text())
    about["provenance"]["images"] = "0" * 64  # as if the images of these names had shown something else
    described.write_text(json.dumps(about))
    with pytest.raises(UserError, match="from other images"):
        run_of(study, run, data=data)
    about["provenance"].pop("images")  # of a time when it was not noted
    described.write_text(json.dumps(about))
    assert plan_of(study, run, data=data).jobs_left == 1
    code = Path(tiny.backbone.rpartition(":")[0])
    text = code.read_text()
    learned = "nn.Sequential(nn.Conv2d(3, 12, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())"
    try:
        code.write_text(text.replace("nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())", learned))
        with pytest.raises(UserError, match="weights"):
            run_of(study, run, data=data)
        code.write_text(text.replace("Transform(size=16, resize=16)", "Transform(size=12, resize=12)"))
        with pytest.raises(UserError, match="transform than"):
            run_of(study, run, data=data)
    finally:
        code.write_text(text)
    assert (run / RUN).read_bytes() == kept


def test_features_are_not_enough(tiny: TinyImageNet, run: Path) -> None:
    with pytest.raises(UserError, match="fine-tuned needs images and a backbone, not features"):
        run_of(reference(run), run, features=run / "features")


def test_without_features_nothing_is_compared(tiny: TinyImageNet, run: Path) -> None:
    shutil.rmtree(run / "features")
    assert plan_of(reference(run, datasets=["l1"]), run, data=places(tiny)).jobs_left == 1


@pytest.mark.parametrize(
    ("settings", "message"), [({"epochs": 0}, "epochs"), ({"batch": 0}, "batch"), ({"protocol": "ref"}, "reference")]
)
def test_mistakes_are_named(settings: dict[str, object], message: str, run: Path) -> None:
    with pytest.raises(UserError, match=message):
        reference(run, **settings)


def test_a_reference_of_a_task_is_recorded_and_shown_as_one(tmp_path: Path) -> None:
    """On a data set that is no level of concepts; several classes per image are not for it."""
    settings = {"protocol": "reference", "epochs": 2, "batch": 8}
    study = study_of("finetune", **{"fine-tuned": settings})
    run = run_of(study, tmp_path, [small_network()], datasets=[coloured()])
    assert {(each.study, each.protocol, each.metric) for each in run.scores} == {
        ("tasks", "cog-v2-finetune", "top1"), ("tasks", "cog-v2-finetune", "top5"),
    }  # fmt: skip
    assert [each.protocol for each in run.scored] == ["cog-v2-finetune"]
    assert {each.protocol for each in page_of_run(tmp_path).further_scores} == {"cog-v2-finetune"}
    with pytest.raises(UserError, match="fine-tuned takes one class per image, not several classes per image"):
        plan_of(study, tmp_path / "several", [small_network()], datasets=[tiny_data("classes")])
