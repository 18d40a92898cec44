"""Fine-tuning as jobs of a concept run: its plan, its record, and a training that diverges."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from tiny_imagenet import TEST, TRAIN, TinyImageNet, make_tiny_imagenet
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.runs.means import Means
from unseen.runs.record import read_run
from unseen.studies.concepts.chosen import asked_of, choose_levels
from unseen.studies.concepts.finetune_request import FinetuneRequest, finetune_request
from unseen.studies.concepts.images import ImagePlaces
from unseen.studies.concepts.request import request_of_images
from unseen.studies.concepts.study import as_published
from unseen.studies.study import plan_study, run_study


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


@pytest.fixture(scope="module")
def probed(tiny: TinyImageNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one level with one probe."""
    out, chosen = tmp_path_factory.mktemp("probed") / "run", choose_levels(tiny.levels)
    asked = asked_of(chosen, domains="l1", shots="all", seeds=1, protocol="cog-v2-short")
    backbones = [as_published(load_backbone(tiny.backbone))]
    run_study(request_of_images(asked, chosen, images_of(tiny), backbones, Settings(workers=0)), out)
    return out


@pytest.fixture
def run(probed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(probed, tmp_path / "run"))


def images_of(tiny: TinyImageNet) -> ImagePlaces:
    return ImagePlaces(str(tiny.imagenet_21k), tiny.imagenet_1k, splits=tiny.splits)


def load(ids: Sequence[str], named: bool) -> list[Backbone]:
    return [as_published(load_backbone(each)) for each in ids]


def request(tiny: TinyImageNet, run: Path, **options: object) -> FinetuneRequest:
    settings = {"epochs": 4, "batch": 8, "rate": 0.1, "backbones": [tiny.backbone]} | options
    return finetune_request(run, images_of(tiny), load, **settings)  # type: ignore[arg-type]


def test_its_trainings_are_jobs_of_the_run(tiny: TinyImageNet, run: Path, two_devices: Means) -> None:
    asked = request(tiny, run, seeds=2)
    plan = plan_study(asked, run)
    assert [(part["domain"], part["seed"], part["state"]) for part in plan.parts] == [
        ("l1", 0, "to do"),
        ("l1", 1, "to do"),
    ]
    assert {(part["train images"], part["test images"], part["steps"]) for part in plan.parts} == {
        (3 * TRAIN, 3 * TEST, 3 * TRAIN * 4 // 8)
    }
    assert (plan.jobs, plan.jobs_left) == (2, 2)
    assert plan.probing > 0
    before, apart = read_run(run), Path(shutil.copytree(run, run.with_name("apart")))
    data = run_study(asked, run)
    tuned = [score for score in data.scores if score.probe == "fine-tuned" and score.metric == "top1"]
    assert [score.seed for score in tuned] == [0, 1]
    assert [score for score in data.scores if score.probe != "fine-tuned"] == list(before.scores)
    spread = run_study(asked, apart, means=two_devices)
    assert {(score.key, score.metric, score.value) for score in spread.scores} == {
        (score.key, score.metric, score.value) for score in data.scores
    }
    assert (plan_study(asked, run).jobs_left, plan_study(asked, run).probing) == (0, 0)
    with pytest.raises(UserError, match="another folder"):
        plan_study(request(tiny, run, epochs=5), run)


def test_a_rate_that_diverges_can_be_followed_by_another(tiny: TinyImageNet, run: Path) -> None:
    before = read_run(run)
    with pytest.raises(UserError, match=r"diverged at rate 1e\+30"):
        run_study(request(tiny, run, rate=1e30), run)
    kept = read_run(run)
    assert (kept.protocols, kept.scores) == (before.protocols, before.scores)
    assert [each.code for each in kept.told if each not in before.told] == ["failed"]
    done = run_study(request(tiny, run), run)
    assert {score.probe for score in done.scores} == {"logistic", "fine-tuned"}
    assert "failed" not in {each.code for each in done.told}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domains": "l3"}, "domains must be among l1"),
        ({"backbones": ["timm:resnet"]}, "no backbone"),
        ({"seeds": 0}, "seeds"),
        ({"epochs": 0}, "at least one epoch"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str, tiny: TinyImageNet, run: Path) -> None:
    with pytest.raises(UserError, match=message):
        request(tiny, run, **options)
