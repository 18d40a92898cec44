"""From models and test sets in their true layouts to a table, and from the table to effective robustness."""

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import timm
import torch
from PIL import Image
from shift_places import CATS, DOGS, PLAN, SYNSETS, Telling, evaluate, make_sets, opened, table

from unseen.data.formats.named_folders import CIFAR_10, imagenet_classes
from unseen.errors import UserError
from unseen.metrics.class_subset import subset_guesses
from unseen.studies.shifts.columns import table_columns
from unseen.studies.shifts.plans import ModelPlan, load_model, read_plans


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sets(tmp_path_factory.mktemp("sets"))


def test_accuracies_are_those_of_the_model_itself(root: Path, tmp_path: Path) -> None:
    """Decoded, normalised and scored by timm and a loop, with none of our code between."""
    (row,) = evaluate([PLAN], opened(root, "val", "imagenet-r"), tmp_path, classes=["own", "imagenet-r"])
    torch.manual_seed(0)
    network = timm.create_model("test_vit", num_classes=1000).eval()
    config = timm.data.resolve_model_data_config(network)
    transform = timm.data.create_transform(**config, is_training=False)
    expected = dict[str, float]()
    for column, place, classes in (
        ("val", "imagenet/val", SYNSETS),
        ("imagenet-r", "imagenet-r", (*CATS, DOGS[0])),
        ("val-on-imagenet-r-classes", "imagenet/val", (*CATS, DOGS[0])),
    ):
        outputs = [imagenet_classes().index(wnid) for wnid in sorted(classes)]
        right = []
        for number, wnid in enumerate(sorted(classes)):
            for file in sorted((root / place / wnid).iterdir()):
                with torch.no_grad():
                    logits = network(transform(Image.open(file).convert("RGB"))[None])[0]
                right.append(int(logits[outputs].argmax()) == number)
        expected[column] = float(np.mean(right))
    assert row.accuracy == pytest.approx(expected)
    assert row.images == {"val": 24, "imagenet-r": 15, "val-on-imagenet-r-classes": 12}


def test_logits_are_computed_once(root: Path, tmp_path: Path) -> None:
    sets = opened(root, "val", "imagenet-r")
    evaluate([PLAN], sets, tmp_path)
    manifests = sorted(tmp_path.glob("logits/*/manifest.json"))
    before = [file.stat().st_mtime_ns for file in manifests]
    watch = Telling()
    evaluate([PLAN], sets, tmp_path, classes=["shared"], watch=watch)
    assert [file.stat().st_mtime_ns for file in manifests] == before
    assert watch.extracted == []
    assert len(manifests) == 2


def test_objectnet_counts_either_clock(root: Path, tmp_path: Path) -> None:
    sets = opened(root, "val", "objectnet")
    (row,) = evaluate([PLAN], sets, tmp_path, classes=["own", "objectnet"])
    assert row.accuracy["objectnet"] == 1.0  # one class kept, whose two columns are both right
    assert row.images["val-on-objectnet-classes"] == 8  # analog and digital clocks


def test_models_of_both_worlds_under_a_mapping(root: Path, tmp_path: Path) -> None:
    """A mapping changes no column that is called like a test set, and says what it leaves out of the others."""
    plans = [PLAN, ModelPlan("cifar", "timm:test_vit", classes="cifar-10", weights="random")]
    sets, watch = opened(root, "val", "cifar-10.2"), Telling()
    rows = evaluate(plans, sets, tmp_path, classes=["own", "shared", "cifar-10.2"], mapping="cifar-10", watch=watch)
    for row in rows:
        assert row.images["val-on-mapped-classes"] == 16  # cats and dogs; clocks are nothing of CIFAR's
        assert row.images["cifar-10.2-on-mapped-classes"] == 18  # no deer: no class of ImageNet is one
        assert row.images["cifar-10.2-on-shared-classes"] == 4
    assert any(
        sentence.startswith("cifar-10.2-on-mapped-classes: 1 of 10") and "deer" in sentence for sentence in watch.told
    )
    without = evaluate(plans, sets, tmp_path / "plain")
    assert [set(row.accuracy) for row in without] == [{"val"}, {"cifar-10.2"}]
    for row, plain in zip(rows, without, strict=True):
        named_like_sets = {name: row.accuracy[name] for name in row.accuracy if name in ("val", "cifar-10.2")}
        assert named_like_sets == plain.accuracy
    assert [line["cifar-10.2"] == "" for line in table(tmp_path / "plain")] == [True, False]


def test_a_model_without_the_outputs_costs_no_pass(root: Path, tmp_path: Path) -> None:
    cifar = ModelPlan("cifar", "timm:test_vit", classes="cifar-10", weights="random")
    watch = Telling()
    (row,) = evaluate([cifar], opened(root, "val", "cifar-10.2"), tmp_path, watch=watch)
    assert set(row.accuracy) == {"cifar-10.2"}
    assert len(list(tmp_path.glob("logits/*/manifest.json"))) == 1
    assert "skips val" in watch.told[-1]
    with pytest.raises(UserError, match="no model has outputs for all classes of a column.*backbone.outputs"):
        evaluate([cifar], opened(root, "val"), tmp_path / "none")
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": "rnd"}, r'\[backbone.second\]: weights must be "pretrained" or "random", not "rnd"; did you mean'),
        (
            {"head": "lineer"},
            "second: head 'lineer' is not one of own, zero-shot, linear, and not a file; did you mean",
        ),
        ({"head": "linear"}, "second: a linear head that was fine-tuned needs its checkpoint"),
        (
            {"classes": "nowhere.csv"},
            "second: classes 'nowhere.csv' is not one of imagenet-1k, cifar-10, and not a file",
        ),
        ({"checkpoint": Path("nowhere.pth")}, "second: the checkpoint nowhere.pth is not a file"),
    ],
)
def test_all_plans_are_checked_before_the_first_model(
    root: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    second = replace(PLAN, model="second", **change)
    with pytest.raises(UserError, match=message):
        evaluate([PLAN, second], opened(root, "imagenet-r"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_end_to_end_into_a_fit(root: Path, tmp_path: Path) -> None:
    """Several untrained networks, told apart by checkpoints, and effective robustness of the table they give."""
    from unseen.analyses.robustness.table import read_accuracies
    from unseen.api.shifts import effective_robustness

    lines = ["model,backbone,group,checkpoint"]
    for seed in range(5):
        torch.manual_seed(seed)
        torch.save(timm.create_model("test_vit").state_dict(), tmp_path / f"{seed}.pth")
        lines.append(f"net-{seed},timm:test_vit,{'even' if seed % 2 == 0 else 'odd'},{seed}.pth")
    (tmp_path / "models.csv").write_text("\n".join(lines) + "\n")
    sets = opened(root, "val", "imagenetv2-matched-frequency-format-val")
    rows = evaluate(read_plans(tmp_path / "models.csv"), sets, tmp_path / "out")
    assert len(table(tmp_path / "out")) == 5
    ood = "imagenetv2-matched-frequency-format-val"
    study = effective_robustness(
        read_accuracies(tmp_path / "out/accuracies.csv"),
        "val",
        ood,
        group="group",
        sizes={"val": 24, ood: 24},
        settings={"resamples": 50},
    )
    assert study.table.unit == "fraction"
    assert [score.model for score in study.fits[0].scores] == [f"net-{seed}" for seed in range(5)]
    found = {score.model: score.accuracy for score in study.fits[0].scores}
    given = {row.model: row.accuracy[ood] for row in rows}
    inside = {model: value for model, value in given.items() if 0 < value < 1}
    assert inside
    assert {model: found[model] for model in inside} == pytest.approx(inside, abs=1e-6)
    columns = list(csv.DictReader(io.StringIO((tmp_path / "out/columns.csv").read_text())))
    assert [(line["column"], line["images"], line["classes"]) for line in columns] == [
        ("val", "24", "6"),
        (ood, "24", "6"),
    ]


def test_scopes() -> None:
    labels = {"val": ("a", "b", "c"), "r": ("a", "b"), "o": ("b+c",)}
    names = [column.name for column in table_columns(labels, ["own", "r", "o", "shared"])]
    assert names[:3] == ["val", "r", "o"]
    assert "val-on-r-classes" in names
    assert "o-on-r-classes" not in names  # it lacks a
    assert "val-on-o-classes" in names
    shared = {column.name: column for column in table_columns(labels, ["shared"])}
    assert shared["val-on-shared-classes"].kept == ("b+c",)
    apart = table_columns({"x": ("a", "b"), "y": ("b", "a"), "z": ("c",)}, ["x"])  # nothing is asked of z
    assert [column.name for column in apart] == ["x", "y-on-x-classes"]
    mapped = table_columns({"x": ("a", "b", "c"), "y": ("k",)}, ["own", "y"], {"a": "k"})
    assert [(column.name, column.kept) for column in mapped] == [
        ("x", ("a", "b", "c")), ("x-on-mapped-classes", ("k",)), ("y", ("k",)), ("y-on-mapped-classes", ("k",)),
        ("x-on-mapped-y-classes", ("k",)),
    ]  # fmt: skip
    with pytest.raises(UserError, match="no classes 'shard' to score on; did you mean shared"):
        table_columns(labels, ["shard"])
    with pytest.raises(UserError, match="no class in common"):
        table_columns({"x": ("a",), "y": ("b",)}, ["shared"])


def test_plans_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("model,backbone,head,classes\na,timm:x,,\nb,openclip:y,zero-shot,names.csv\n")
    own, zero = read_plans(tmp_path / "m.csv")
    assert (own.head, own.classes, own.weights) == ("own", "imagenet-1k", "pretrained")
    assert (zero.head, zero.classes) == ("zero-shot", str(tmp_path / "names.csv"))


def test_empty_cells_of_a_file_are_as_for_all_models(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("model,backbone,head,weights\na,timm:x,own,pretrained\nb,timm:y,,\n")
    usual = ModelPlan("", "", group="g", head="zero-shot", weights="random", size=32)
    one, two = read_plans(tmp_path / "m.csv", common=usual)
    assert (one.head, one.weights, one.group, one.size) == ("own", "pretrained", "g", 32)
    assert two == replace(usual, model="b", backbone="timm:y")


def test_code_in_a_file_of_models_is_run_when_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("model,backbone\na,own.py:net\n")
    assert read_plans(tmp_path / "m.csv", allow_code=True)[0].backbone == "own.py:net"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,backbone\na,timm:x\na,timm:y\n", "line 3: a occurs twice"),
        ("model,backbone\n,timm:x\n", "a field is empty"),
        ("model,backbone,chekpoint\na,timm:x,f\n", "unknown column 'chekpoint'; did you mean checkpoint"),
        ("model,backbone\n", "no models in it"),
        ("model\na\n", "no column 'backbone'"),
        ("model,backbone\na,own.py:net\n", "line 2: the backbone own.py:net is code that would run here"),
        ("model,backbone\na,hub:folder:net\n", "line 2: the backbone hub:folder:net is code"),
    ],
)
def test_bad_plans_are_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        read_plans(tmp_path / "m.csv")


def test_a_probe_as_head(tmp_path: Path) -> None:
    from unseen.backbones.classifier import write_probe
    from unseen.backbones.load import load_backbone

    dimension = load_backbone("timm:test_vit", weights="random").spec.dimension
    write_probe(tmp_path / "p.npz", torch.randn(10, dimension), torch.zeros(10), CIFAR_10)
    found = load_model(ModelPlan("probe", "timm:test_vit", head=str(tmp_path / "p.npz"), weights="random"), "cpu")
    assert found.spec.dimension == 10
    with pytest.raises(UserError, match="needs its checkpoint"):
        load_model(ModelPlan("tuned", "timm:test_vit", head="linear"), "cpu")
    with pytest.raises(UserError, match="weights must be pretrained or random, not 'rnd'"):
        load_model(ModelPlan("probe", "timm:test_vit", weights="rnd"), "cpu")


def test_scores_from_half_precision_are_those_of_exact_logits() -> None:
    """16 bits below the greatest logit: of 20,000 images with a thousand close classes, hardly one changes its mind."""
    random = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(20_000, 200, generator=random)
    names = [str(number) for number in range(200)]
    labels = [names[number] for number in (logits + torch.randn(logits.shape, generator=random)).argmax(1)]
    classes = {name: name for name in names}
    kept = names[::2]
    rounded = (logits - logits.amax(1, keepdim=True)).half()
    (exact, truth), (stored, _) = (subset_guesses(each, labels, names, kept, classes) for each in (logits, rounded))
    assert abs(int((stored == truth).sum()) - int((exact == truth).sum())) < 5e-4 * len(truth)
