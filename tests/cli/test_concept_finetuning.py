"""`unseen concepts --finetune`, from a tiny ImageNet in the true formats to the page; killed, and with mistakes."""

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from alone import start_command

from tiny_imagenet import TEST, TinyImageNet, make_tiny_imagenet
from unseen.cli.main import app
from unseen.images.listing import list_images
from unseen.images.splits import SplitRule, draw_splits
from unseen.runs.record import RUN, read_run

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., tuple[int, str, str]]
FINETUNE = ("concepts", "--finetune", "--out")
QUICK = ("--batch", 8, "--rate", 0.1, "--workers", 0)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyImageNet:
    return make_tiny_imagenet(tmp_path_factory.mktemp("imagenet"))


def place(tiny: TinyImageNet) -> tuple[object, ...]:
    return ("--images", tiny.imagenet_21k, "--imagenet-1k", tiny.imagenet_1k, "--splits", tiny.splits)


def named(tiny: TinyImageNet) -> tuple[object, ...]:
    """Whose code runs has to be said: that a run names it does not suffice."""
    return (*place(tiny), "--backbone", tiny.backbone)


@pytest.fixture(scope="module")
def probed(tiny: TinyImageNet, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of features, one seed."""
    run = tmp_path_factory.mktemp("probed") / "run"
    words = ("concepts", "--backbone", tiny.backbone, *place(tiny), "--levels", tiny.levels, "--out", run)
    options = ("--protocol", "cog-v2-short", "--shots", "all", "--seeds", 1, "--workers", 1)
    app([str(word) for word in (*words, *options)], standalone_mode=False)
    return run


@pytest.fixture
def run(probed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(probed, tmp_path / "run"))


def tuned(run: Path) -> dict[str, float]:
    scores = [score for score in read_run(run).scores if score.probe == "fine-tuned"]
    return {score.domain: score.value for score in scores if score.metric == "top1"}


def results(run: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in (run / "results").glob("*.json")}


def test_it_joins_the_run_and_its_page(tiny: TinyImageNet, run: Path, unseen: Unseen) -> None:
    before = read_run(run)
    words = (*FINETUNE, run, *named(tiny), *QUICK, "--epochs", 20)
    planned = unseen(*words, "--dry-run")
    assert planned.code == 0, planned.err
    assert tuned(run) == {}
    first = unseen(*words)
    assert first.code == 0, first.err
    found = tuned(run)
    assert list(found) == ["in1k", "l1", "l2"]
    for value in found.values():
        assert value * 3 * TEST == pytest.approx(round(value * 3 * TEST))  # a share of the domain's test images
        assert value > 0.6  # three colours under noise; chance is a third
    after = read_run(run)
    assert (after.notice, after.domains) == (before.notice, before.domains)
    assert all(
        each.finetuning and each.features and each.finetuning == each.features.backbone for each in after.backbones
    )
    assert [replace(each, finetuning=None) for each in after.backbones] == before.backbones
    assert [score for score in after.scores if score.probe == "logistic"] == list(before.scores)
    features = {s.domain: s.value for s in before.scores if s.metric == "top1"}
    lines = [line.split()[1:] for line in first.out.partition("features − fine-tuned")[2].splitlines()[1:]]
    assert [line for line in lines if line] == [
        [d, f"{100 * features[d]:.1f}", f"{100 * found[d]:.1f}", f"{100 * (features[d] - found[d]):+.1f}"]
        for d in found
    ]
    page = (run / "report.html").read_text()
    assert 'id="fine-tuning"' in page
    kept = results(run)
    again = unseen(*words)
    assert again.code == 0, again.err
    assert "0 of 3 to do" in again.out
    assert "jobs to do" not in again.err
    assert results(run) == kept


def test_killed_it_goes_on_to_the_same_scores(tiny: TinyImageNet, run: Path, tmp_path: Path, unseen: Unseen) -> None:
    whole = Path(shutil.copytree(run, tmp_path / "whole"))
    options = (*named(tiny), *QUICK, "--epochs", 10, "--domains", "l1,l2")
    probed = results(run)
    process = start_command(*FINETUNE, run, *options)
    deadline = time.monotonic() + 60
    while "not finished" not in read_run(run).notice and process.is_alive() and time.monotonic() < deadline:
        time.sleep(0.002)
    process.kill()
    process.join()
    done = results(run)
    assert len(done) == len(probed) + 1, "one of the two was to be done when it was killed"
    assert "not finished" in read_run(run).notice
    for folder in (run, whole):
        answer = unseen(*FINETUNE, folder, *options)
        assert answer.code == 0, answer.err
    assert done.items() <= results(run).items()
    assert tuned(run) == tuned(whole)
    assert "not finished" not in read_run(run).notice


def test_other_images_weights_and_epochs_are_refused(tiny: TinyImageNet, run: Path, unseen: Unseen) -> None:
    words = (
        "concepts",
        "--finetune",
        "--out",
        run,
        "--images",
        tiny.imagenet_21k,
        "--domains",
        "l1",
        "--backbone",
        tiny.backbone,
        *QUICK,
        "--epochs",
        1,
    )
    kept = (run / RUN).read_bytes()
    other = run.parent / "other.npz"
    concepts = [concept.split()[-1].strip("()") for d in read_run(run).domains if not d.seen for concept in d.concepts]
    draw_splits(list_images(tiny.imagenet_21k), concepts, source="x", rule=SplitRule(4, 6, 8)).write(other)
    assert "from other images" in unseen(*words, "--splits", other).err
    [described] = (path for path in run.glob("features/l1/*/*.json") if '"train"' in path.read_text())
    about = json.loads(described.read_text())
    about["provenance"]["images"] = "0" * 64  # as if the images of these names had shown something else
    described.write_text(json.dumps(about))
    assert "from other images" in unseen(*words, "--splits", tiny.splits).err
    about["provenance"].pop("images")  # of a time when it was not noted
    described.write_text(json.dumps(about))
    assert unseen(*words, "--splits", tiny.splits, "--dry-run").code == 0
    code = Path(tiny.backbone.rpartition(":")[0])
    text = code.read_text()
    learned = "nn.Sequential(nn.Conv2d(3, 12, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())"
    try:
        code.write_text(text.replace("nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())", learned))
        assert "other weights" in unseen(*words, "--splits", tiny.splits).err
        code.write_text(text.replace("Transform(size=16, resize=16)", "Transform(size=12, resize=12)"))
        assert "transform than" in unseen(*words, "--splits", tiny.splits).err
    finally:
        code.write_text(text)
    assert (run / RUN).read_bytes() == kept
    assert unseen(*words, "--splits", tiny.splits).code == 0
    answer = unseen(*words[:-1], 2, "--splits", tiny.splits)
    assert answer.code == 2
    assert "epochs of the fine-tuned protocol (1, not 2)" in answer.err


def test_mistakes_are_named(tiny: TinyImageNet, run: Path, tmp_path: Path, unseen: Unseen) -> None:
    command = (*FINETUNE, run, *QUICK)
    assert "domains must be among in1k, l1, l2" in unseen(*command, "--domains", "l3").err
    assert "did you mean" in unseen(*command, "--backbone", tiny.backbone[:-1]).err.lower()
    known = ("--backbone", tiny.backbone)
    assert "is code that would run here" in unseen(*command, "--domains", "l1").err
    assert "give the images of the levels" in unseen(*command, *known, "--domains", "l1").err
    assert "seeds must be from 1" in unseen(*command, "--seeds", 0).err
    assert "at least one epoch" in unseen(*command, *named(tiny), "--epochs", 0).err
    assert "not the folder of a run" in unseen(*FINETUNE, tmp_path).err
    (run / "levels.csv").unlink()
    assert "not a run of levels" in unseen(*command).err


def test_without_features_to_check_it_says_so(tiny: TinyImageNet, run: Path, unseen: Unseen) -> None:
    shutil.rmtree(run / "features")
    answer = unseen(*FINETUNE, run, *named(tiny), *QUICK, "--domains", "l2", "--dry-run")
    assert answer.code == 0, answer.err
    assert "no features of" in answer.err
    assert [each["probe"] for each in json.loads((run / RUN).read_text())["protocols"]] == ["logistic"]
