"""Pools of trained models: which, on what, resumed to the same weights, and evaluated as any others."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from shift_places import HERE, shift_study
from tiny_training import HUES, NETWORK, SIZE, captions, hues, tiny_clip

from studies import run_of
from unseen.data.own.one_split import open_test_set
from unseen.data.own.own_data import OwnData
from unseen.errors import UserError
from unseen.probes.finetuning.protocol import AdamWProtocol, FinetuneProtocol
from unseen.probes.image_cell import Stepping
from unseen.runs.means import Means
from unseen.runs.results import read_all
from unseen.studies.shifts.plans import read_plans
from unseen.studies.shifts.pool import PoolRequest, train_pool
from unseen.studies.shifts.pool_networks import clip_network, clip_texts, contrastive
from unseen.studies.shifts.recipes import SHARES, choose_recipe, protocol_of
from unseen.studies.shifts.training import skipped_sentence
from unseen.studies.shifts.training_sets import class_names_of, open_training_set, refuse_tested
from unseen.studies.watch import Silent

NAMES = {name: name for name in HUES}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Bright and dark colours in folders, captions of the dark ones, and a bright test set."""
    root = tmp_path_factory.mktemp("data")
    hues(root / "bright")
    hues(root / "dark", dark=0.4, seed=1)
    hues(root / "test", count=4, seed=2)
    captions(root / "dark", root / "dark.parquet")
    return root


def a_pool(data: Path, **changes: object) -> PoolRequest:
    sets = [open_training_set(data / name) for name in ("bright", "dark")]
    recipe = choose_recipe("classifier", steps=6, batch=8, rate=0.02)
    request = PoolRequest(
        sets, [NETWORK], {"classifier": recipe}, {"classifier": ()}, NAMES, ratios=(0.25, 1.0), size=SIZE
    )
    return replace(request, **changes)


class Stopping(Silent):
    """Stops the training that is the third, after its first checkpoint."""

    def __init__(self) -> None:
        self.trainings = 0

    def stepping(self, what: str, total: int) -> Stepping:
        self.trainings += 1

        def show(step: int, detail: str = "") -> None:
            if self.trainings == 3 and step == 4:
                raise KeyboardInterrupt

        return show


def networks(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "networks").rglob("*.safetensors")}


def test_a_pool_is_trained_resumed_and_evaluated(data: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train_pool(a_pool(data), whole, every=2)
    with pytest.raises(KeyboardInterrupt):
        train_pool(a_pool(data), broken, every=2, watch=Stopping())
    assert (len(networks(broken)), len(list((broken / "training").iterdir()))) == (2, 1)
    plan = a_pool(data).plan(broken)
    assert (plan.jobs, plan.jobs_left) == (4, 2)
    table = train_pool(a_pool(data), broken, every=2)
    assert networks(broken) == networks(whole)
    assert not list((broken / "training").iterdir())
    assert table.read_text() == (whole / "models.csv").read_text()
    # A network that is gone is trained again, to the same bytes; nothing else is.
    file = next((broken / "networks").iterdir())
    file.unlink()
    train_pool(a_pool(data), broken, every=3)
    assert networks(broken) == networks(whole)
    # Its models go the usual way.
    plans = read_plans(table)
    assert [plan.group for plan in plans] == ["bright"] * 2 + ["dark"] * 2
    test = [open_test_set(data / "test")]
    scores = run_of(shift_study(plans[:2]), tmp_path / "run", datasets=test, means=HERE).scores
    assert len({score.backbone for score in scores}) == 2


@pytest.mark.long_suite
def test_a_pool_on_devices_is_the_same(data: Path, tmp_path: Path, two_devices: Means) -> None:
    request = a_pool(data, ratios=(1.0,))
    train_pool(request, tmp_path / "one")
    train_pool(request, tmp_path / "two", means=two_devices)
    assert networks(tmp_path / "one") == networks(tmp_path / "two")


@pytest.mark.long_suite
def test_clip_models_learn_captions_and_classify(data: Path, tmp_path: Path) -> None:
    """On one captioned and one labelled set; the loss is open_clip's, and falls."""
    network = tiny_clip(tmp_path / "tiny")
    web = OwnData(data / "dark.parquet", name="web", root=data / "dark")
    sets = [open_training_set(place, captions=True) for place in (web, data / "bright")]
    assert [each.captioned for each in sets] == [True, False]
    recipe, names = choose_recipe("clip", steps=24, batch=12, rate=0.002), class_names_of(sets)
    request = PoolRequest(sets, [network], {"clip": recipe}, {"clip": ()}, names, ratios=(1.0,), templates="photo")
    plans = read_plans(train_pool(request, tmp_path / "pool", every=8))
    assert [(plan.model, plan.group, plan.head) for plan in plans] == [
        ("tiny λ=1 100%", "web", "zero-shot"), ("tiny λ=0 100%", "bright", "zero-shot"),
    ]  # fmt: skip
    keys = [path.stem for path in (tmp_path / "pool/results").iterdir()]
    losses = [result.values["losses"] for result in read_all(tmp_path / "pool/results", keys)]
    assert all(each[-1] < each[0] for each in losses)
    next((tmp_path / "pool/networks").glob("tiny-1-1-*/*.safetensors")).unlink()  # its folder stays
    assert [job.made.setup.share for job in request.left(tmp_path / "pool")] == [1.0]
    train_pool(request, tmp_path / "pool", every=8)
    dark = [open_test_set(data / "dark")]
    run = run_of(shift_study(plans[:1]), tmp_path / "run", datasets=dark, means=HERE)
    assert run.scores[0].value > 0.6  # of three colours, which it has seen


def test_losses_that_are_not_finite_are_told() -> None:
    assert skipped_sentence("resnet18 100%", {"skipped": 0}, 400) == []
    [sentence] = skipped_sentence("resnet18 100%", {"skipped": 3}, 400)
    assert sentence.startswith("resnet18 100%: 3 of 400 training steps")


def test_the_contrastive_loss(tmp_path: Path) -> None:
    """Against its definition; the scale is brought back to 100."""
    network = clip_network(tiny_clip(tmp_path / "tiny"), ["red", "a blue one"], size=None, seed=0)
    model, images = network.module, torch.randn(2, 3, SIZE, SIZE, generator=torch.Generator().manual_seed(0))
    model.logit_scale.data.fill_(9.0)  # type: ignore[union-attr, operator]
    tokens = network.targets(np.array([1, 0]))
    loss = contrastive(model, images, tokens)
    with torch.no_grad():
        i, t = (torch.nn.functional.normalize(x) for x in (model.encode_image(images), model.encode_text(tokens)))  # type: ignore[operator]
        logits = 100 * i @ t.T
        y = torch.arange(2)
        cross_entropy = torch.nn.functional.cross_entropy
        expected = (cross_entropy(logits, y) + cross_entropy(logits.T, y)) / 2
    assert float(loss.detach()) == pytest.approx(float(expected), rel=1e-4)


def test_mixtures_at_ratios(data: Path) -> None:
    plan = a_pool(data, shares={"classifier": [0.25]}).plan(data / "nowhere")
    assert [(part["model"], part["group"], part["images"]) for part in plan.parts] == [
        ("test_vit λ=1 25%", "bright", 6), ("test_vit λ=1 100%", "bright", 24),
        ("test_vit λ=0 25%", "dark", 6), ("test_vit λ=0 100%", "dark", 24),
        ("test_vit λ=0.25 25%", "bright+dark", 2 + 4), ("test_vit λ=0.25 100%", "bright+dark", 6 + 18),
    ]  # fmt: skip
    one = a_pool(data, sets=[open_training_set(data / "bright")])
    assert [model.name for model in one.models] == ["test_vit 25%", "test_vit 100%"]


def test_recipes() -> None:
    assert SHARES == {"classifier": (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.995), "clip": (0.01, 0.1, 0.25, 0.5)}
    sgd = protocol_of("classifier", "timm:resnet18", choose_recipe("classifier"), 1000)
    assert type(sgd) is FinetuneProtocol
    assert (sgd.steps, sgd.batch, sgd.rate, sgd.nesterov) == (352, 256, 0.1, False)
    small = protocol_of("clip", "openclip:ViT-B-32", choose_recipe("clip", epochs=2), 100)
    assert isinstance(small, AdamWProtocol)
    assert (small.steps, small.batch, small.beta2, small.epsilon) == (2, 100, 0.98, 1e-6)
    assert clip_texts(["red", "my cat"], [False, True], {"red": "crimson"}, "a {} thing") == [
        "a crimson thing",
        "my cat",
    ]


def test_held_out_images_do_not_train(data: Path) -> None:
    found = open_training_set(data / "bright", without={"red/0", "blue/1.png", "elsewhere"})
    assert len(found) == 22
    assert {entry.id for entry in found.source.entries}.isdisjoint({"red/0.png", "blue/1.png"})
    with pytest.raises(UserError, match="ambiguous: 3"):
        open_training_set(data / "bright", without={"3"})


def test_test_images_do_not_train_whatever_they_are_called(data: Path, tmp_path: Path) -> None:
    sets = [open_training_set(data / name) for name in ("bright", "dark")]
    refuse_tested(sets, [open_test_set(data / "test")])
    shutil.copytree(data / "test", tmp_path / "mine")
    shutil.copy(data / "dark/red/3.png", tmp_path / "mine/blue/other.png")
    with pytest.raises(UserError, match=r"dark: 1 images of the test set mine .*red/3.png is blue/other.png of mine"):
        refuse_tested(sets, [open_test_set(tmp_path / "mine")])


def test_what_cannot_be_trained_is_refused(data: Path, tmp_path: Path) -> None:
    table = OwnData(data / "dark.parquet", name="web", root=data / "dark")
    one, web = open_training_set(data / "bright"), open_training_set(table, captions=True)
    for changes, message in (
        ({"sets": [one, one]}, "two training sets are called 'bright'"),
        ({"sets": [one, web]}, "web has captions, which timm:test_vit cannot be trained on"),
        ({"names": {"red": "red", "blue": "blue"}}, "such as green"),
        ({"networks": ["hf:vit"]}, "a pool trains networks of timm: and torchvision:"),
        ({"networks": [NETWORK, NETWORK]}, "the same name"),
        ({"ratios": (0.0,)}, "leaves nothing to train on"),
    ):
        with pytest.raises(UserError, match=message):
            train_pool(a_pool(data, **changes), tmp_path)
    assert not list(tmp_path.iterdir())
