"""`unseen run` of a study of tasks, from images to the page, on the digits that come with scikit-learn."""

import io
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

from unseen.data.core.arrays import array_images
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.registry import DATASETS
from unseen.probes.many_shot import ERICSSON_2021, PROTOCOLS
from unseen.studies import opened

pytestmark = pytest.mark.gpu_too
TASKS = ("run", "ericsson-2021")
Unseen = Callable[..., tuple[int, str, str]]
CODE = """
import torch
from torch import nn

from unseen.data.core.decoding.transform import Transform


def pixels():
    return nn.Sequential(nn.AvgPool2d((4, 2)), nn.Flatten()), Transform(size=8, resize=8)


def blurred():
    return nn.Sequential(nn.AvgPool2d(4), nn.Flatten()), Transform(size=8, resize=8)
"""


@pytest.fixture(autouse=True)
def few_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four ℓ2 constants instead of 45: what is tested here does not depend on them."""
    monkeypatch.setitem(PROTOCOLS, "ericsson-2021", replace(ERICSSON_2021, steps=4))


@pytest.fixture
def backbone(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(CODE)
    return f"{tmp_path / 'own.py'}:pixels"


def few_digits(images: int = 60) -> OpenDataset:
    """Noise in six classes that is called digits: training, validation and test images in turn."""
    rng = np.random.default_rng(0)
    labels = [str(number % 6) for number in range(images)]
    pixels = rng.integers(0, 256, (images, 8, 8, 3), dtype=np.uint8)
    source = array_images(pixels, labels, [f"{number:03d}" for number in range(images)])
    splits = [("train", "val", "test")[number // 6 % 3] for number in range(images)]
    return OpenDataset(DATASETS["digits"], source, Manifest(source.entries, splits))


def results(out: Path) -> dict[str, float]:
    return {path.name: path.stat().st_mtime_ns for path in (out / "results").glob("*.json")}


def test_from_images_to_the_page(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    out = tmp_path / "run"
    options = (*TASKS, "--backbone", backbone, "--out", out, "--workers", 1)
    code, said, notes = unseen(*options, "--datasets", "digits", "--dry-run")
    assert code == 0
    assert "1,151" in said
    assert "4 of 4 to do" in said
    assert not (out / "run.json").exists()

    code, said, notes = unseen(*options, "--datasets", "digits,dtd", "--data", tmp_path)
    assert code == 0
    assert "Left out: dtd: not found; expected dtd/dtd below" in notes
    assert "to get it: Oxford VGG" in notes
    scores = pd.read_csv(out / "scores.csv").set_index("setting")["mean"]
    assert scores["linear"] > 0.5  # eight greys of a picture of a digit; chance is 0.1
    assert scores["5-shot"] < scores["20-shot"] < scores["50-shot"]
    page = (out / "report.html").read_text()
    assert "dtd: not found" in page
    assert "was given images of 8 pixels; the published models were given 224" in page
    assert "digits of scikit-learn" in page
    assert "Every scored fit reached its optimum." in said
    stores = [json.loads(path.read_text()) for path in (out / "features/digits").glob("*/manifest.json")]
    assert [store["provenance"]["source"]["split seed"] for store in stores] == ["0"] * 3

    before = results(out)
    assert len(before) == 4
    code, said, notes = unseen(*options, "--datasets", "digits")
    assert code == 0
    assert "0 of 4 to do" in said
    assert "jobs to do" not in notes
    assert results(out) == before

    code, _, notes = unseen(*options, "--datasets", "digits", "--set", "linear.converge=all")
    assert code == 2
    assert "the key linear.converge (chosen, not all)" in notes
    exact = ("--set", "linear.protocol=ericsson-2021-exact")
    code, _, notes = unseen(*options, "--datasets", "digits", *exact, "--set", "linear.converge=chosen")
    assert code == 2
    assert "ericsson-2021-exact fits all constants alike" in notes

    # Another backbone joins the run; what is there is not done again.
    other = backbone.replace(":pixels", ":blurred")
    code, said, notes = unseen(*TASKS, "--backbone", other, "--out", out, "--workers", 1, "--datasets", "digits")
    assert code == 0
    assert "4 of 4 jobs to do" in notes
    assert {name: results(out)[name] for name in before} == before
    assert {"linear"} <= set(pd.read_csv(out / "scores.csv")["setting"])
    assert pd.read_csv(out / "scores.csv")["backbone"].nunique() == 2
    code, _, error = unseen(*options, "--datasets", "digits", *exact)
    assert code == 2
    assert "a run that differs in the key linear.protocol (ericsson-2021," in error


def write_features(folder: Path, **images: int) -> None:
    """Features of six classes, so many images of each in a split."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True, exist_ok=True)
    for split, count in images.items():
        y = np.arange(6).repeat(count)
        np.savez(folder / f"{split}.npz", X=np.eye(6)[y] + 0.4 * rng.normal(size=(len(y), 6)), y=y)


def test_own_features(unseen: Unseen, tmp_path: Path) -> None:
    write_features(tmp_path / "features/pets", train=40, val=20, test=25)
    out = tmp_path / "run"
    options = (*TASKS, "--features", tmp_path / "features", "--out", out, "--workers", 1, "--backbone", "mine")
    code, said, _ = unseen(*options, "--dry-run")
    assert code == 0
    assert "4 of 4 to do" in said
    assert not out.exists()

    # After a part of its jobs, a run goes on with the others.
    code, said, notes = unseen(*options, "--part", "2/2")
    assert (code, "part 2 of 2" in said) == (0, True)
    before = results(out)
    assert 0 < len(before) < 4
    code, said, notes = unseen(*options)
    assert code == 0
    assert f"{4 - len(before)} of 4 jobs to do" in notes
    assert {name: results(out)[name] for name in before} == before
    table = pd.read_csv(tmp_path / "run/scores.csv")
    assert table.loc[table["setting"] == "linear", "metric"].item() == "mean-per-class"
    # Six classes are not Oxford's pets: no rank among the paper's models, no title, no licence.
    said = " ".join(said.split())
    assert "pets has 6 classes, not 37" in said
    assert "among the paper's models" not in said.lower()
    assert set(table["domain"]) == {"pets (yours)"}
    page = (out / "report.html").read_text()
    assert "Oxford-IIIT" not in said
    assert "pets (yours)" in page
    assert "CC BY-SA" not in page


def test_own_features_of_the_whole_data_set(unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"train": 240, "val": 120, "test": 150}
    monkeypatch.setitem(DATASETS, "pets", replace(DATASETS["pets"], classes=6, counts=counts))
    write_features(tmp_path / "features/pets", train=35, val=25, test=25)  # another draw of what validates
    options = (*TASKS, "--features", tmp_path / "features", "--out", tmp_path / "run", "--workers", 1)
    code, said, _ = unseen(*options, "--backbone", "mine")
    assert code == 0
    # Its few-shot scores on Pets are published; that the files may be of other images is said.
    said = " ".join(said.split())
    assert "Among the paper's models, mine ranks" in said
    assert "the images behind the features of pets are not known" in said
    assert "CC BY-SA" in (tmp_path / "run/report.html").read_text()


def test_one_bad_data_set_stops_no_other(unseen: Unseen, tmp_path: Path) -> None:
    folder, out = tmp_path / "features", tmp_path / "run"
    for name in ("dtd", "pets"):
        write_features(folder / name, train=4, val=3, test=3)
    y = np.zeros(9, dtype=np.int64)
    np.savez(folder / "dtd/val.npz", X=np.eye(6)[y], y=y)
    options = (*TASKS, "--features", folder, "--out", out, "--workers", 1, "--backbone", "mine", "--datasets")
    code, _, notes = unseen(*options, "dtd,pets", "--dry-run")
    assert code == 0
    assert "Left out: dtd: features by mine: no validation image of 1 and 4 more classes" in notes
    code, _, notes = unseen(*options, "dtd,pets")
    assert code == 0
    assert "Left out: dtd: features by mine: no validation image of 1 and 4 more classes" in notes
    assert set(pd.read_csv(out / "scores.csv")["domain"]) == {"pets (yours)"}
    assert "no validation image of 1" in (out / "report.html").read_text()

    # Mended, the same command takes it, in the same folder, and the page no longer says that it is left out.
    write_features(folder / "dtd", val=3)
    code, _, notes = unseen(*options, "dtd,pets")
    assert code == 0
    assert "left out" not in notes
    assert set(pd.read_csv(out / "scores.csv")["domain"]) == {"dtd (yours)", "pets (yours)"}
    assert "no validation image of 1" not in (out / "report.html").read_text()


def write_pictures(root: Path) -> None:
    """Textures and pets, two classes each; the only validation image of one texture is damaged."""
    picture = io.BytesIO()
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(picture, "JPEG")
    for part in ("train", "val", "test"):
        images = [f"{name}/{part}.jpg" for name in ("banded", "zigzagged")]
        (root / "dtd/dtd/labels").mkdir(parents=True, exist_ok=True)
        (root / f"dtd/dtd/labels/{part}1.txt").write_text("\n".join(images))
        for image in images:
            path = root / "dtd/dtd/images" / image
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"damaged" if image == "zigzagged/val.jpg" else picture.getvalue())
    (root / "oxford-iiit-pet/annotations").mkdir(parents=True)
    (root / "oxford-iiit-pet/images").mkdir()
    for file, numbers in (("trainval", range(5, 10)), ("test", range(5))):
        images = [f"{breed}_{number}" for breed in ("Abyssinian", "Beagle") for number in numbers]
        lines = [f"{image} 1 1 1" for image in images]
        (root / f"oxford-iiit-pet/annotations/{file}.txt").write_text("\n".join(lines))
        for image in images:
            (root / f"oxford-iiit-pet/images/{image}.jpg").write_bytes(picture.getvalue())


def test_images_left_out_that_a_class_needs(
    unseen: Unseen, tmp_path: Path, backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"dtd": {"train": 2, "val": 2, "test": 2}, "pets": {"train": 8, "val": 2, "test": 10}}
    for name, of in counts.items():
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], classes=2, counts=of))
    write_pictures(tmp_path / "data")
    options = (*TASKS, "--backbone", backbone, "--data", tmp_path / "data", "--workers", 1, "--set", "on-error=skip")
    code, _, notes = unseen(*options, "--datasets", "dtd,pets", "--out", tmp_path / "run")
    assert code == 0
    assert "Left out: dtd: features by" in notes
    assert "no validation image of zigzagged; every class needs one" in notes
    assert set(pd.read_csv(tmp_path / "run/scores.csv")["domain"]) == {"pets"}
    code, _, error = unseen(*options, "--datasets", "dtd", "--out", tmp_path / "other")
    assert code == 2
    assert "no validation image of zigzagged" in error
    assert not (tmp_path / "other/run.json").exists()


def test_a_constant_at_the_end_of_the_grid_is_said(unseen: Unseen, tmp_path: Path) -> None:
    # Every constant tells these classes apart, and the weakest of equals is taken.
    rng = np.random.default_rng(0)
    (tmp_path / "features/pets").mkdir(parents=True)
    for split in ("train", "val", "test"):
        y = np.arange(6).repeat(8)
        np.savez(tmp_path / f"features/pets/{split}.npz", X=np.eye(6)[y] + 1e-3 * rng.normal(size=(48, 6)), y=y)
    options = ("--features", tmp_path / "features", "--out", tmp_path / "run", "--workers", 1)
    code, said, _ = unseen(*TASKS, *options, "--backbone", "mine")
    assert code == 0
    assert "The weakest constant of the grid was chosen for mine on pets (yours)" in " ".join(said.split())
    table = pd.read_csv(tmp_path / "run/scores.csv").set_index("setting")
    assert table.loc["linear", "edge"] == "weakest"
    assert table.loc["linear", "penalty"] == pytest.approx(1e-6)
    assert str(table.loc["linear", "converged"]) == "True"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--datasets", "digit"), "no data set 'digit'; did you mean digits"),
        (("--datasets", ","), "--datasets takes values separated by commas"),
        (("--datasets", "dtd"), "to get it"),
        (("--set", "linear.protocol=ericsson"), 'must be "ericsson-2021" or "ericsson-2021-exact", not "ericsson"'),
        (("--data", "nowhere"), "nowhere: no such folder"),
        (("--set", "backbone.imagenet-top1=0"), "from 1 to 100, not 0"),
        (("--set", "backbone.imagenet-top1=0.75"), "did you mean 75?"),
        (("--features", "x", "--data", "y"), "not both"),
        (("--limit", 0), "limit must be at least 1, not 0"),
    ],
)
def test_mistakes(unseen: Unseen, tmp_path: Path, backbone: str, options: tuple[object, ...], message: str) -> None:
    code, _, error = unseen(*TASKS, "--backbone", backbone, "--out", tmp_path / "run", *options)
    assert code == 2
    assert message in error
    assert len([line for line in error.splitlines() if line.startswith("unseen:")]) == 1
    assert not (tmp_path / "run").exists()


def test_a_partial_copy_is_named(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    place = tmp_path / "data/eurosat/2750"
    for name in ("Forest", "River"):
        (place / name).mkdir(parents=True)
        (place / name / f"{name}_1.jpg").write_bytes(b"a picture")
    options = ("--data", tmp_path / "data", "--datasets", "eurosat,digits", "--dry-run")
    code, said, notes = unseen(*TASKS, "--backbone", backbone, "--out", tmp_path / "run", *options)
    assert code == 0
    assert "eurosat: " in notes
    assert "is incomplete: 2 images where 27,000 are expected" in notes
    assert "digits" in said


def test_two_checkpoints_of_one_architecture(unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    timm = pytest.importorskip("timm", reason="an architecture to load into")
    for seed, name in enumerate(("moco", "simclr")):
        torch.manual_seed(seed)
        torch.save(timm.create_model("test_resnet", num_classes=0).state_dict(), tmp_path / f"{name}.pth")
    monkeypatch.setattr(opened, "open_dataset", lambda dataset, root: few_digits())
    options = (*TASKS, "--set", "backbone.size=8", "--workers", 1, "--datasets", "digits", "--out", tmp_path / "run")
    ids = [f"timm:test_resnet@{tmp_path / name}.pth" for name in ("moco", "simclr")]
    # MoCo-v2 is also one of the paper's models.
    both = ("--backbone", f"MoCo-v2={ids[0]}", "--backbone", f"mine={ids[1]}")
    plain = ("--set", "backbone.normalize=imagenet", "--set", "backbone.mine.normalize=none")
    code, _, notes = unseen(*options, *both, *plain)
    assert code == 0, notes
    table = pd.read_csv(tmp_path / "run/scores.csv")
    assert list(dict.fromkeys(table["backbone"])) == ["MoCo-v2 (yours)", "mine"]
    stores = [json.loads(path.read_text())["provenance"] for path in (tmp_path / "run/features").rglob("manifest.json")]
    assert {(each["name"], each["backbone"]["transform"]["mean"][0]) for each in stores} == {
        ("MoCo-v2", 0.485),
        ("mine", 0.0),
    }
    assert len({each["key"] for each in stores}) == 6
    again = unseen(*TASKS, "--features", tmp_path / "run/features", "--workers", 1, "--out", tmp_path / "again")
    assert again.code == 0, again.err
    assert pd.read_csv(tmp_path / "again/scores.csv").equals(table)

    def no_extraction(*_: object, **__: object) -> None:
        raise AssertionError("nothing may be extracted")

    # What cannot be is refused before anything is extracted.
    monkeypatch.setattr("unseen.runs.extraction.extract", no_extraction)
    for words, message in (
        (("--backbone", f"MoCo-v2={ids[1]}"), "a run that differs in the weights of MoCo-v2"),
        (("--backbone", f"a={ids[0]}", "--backbone", f"a={ids[1]}"), "2 backbones are called a"),
        (("--backbone", ids[0], "--backbone", ids[0]), "2 backbones are called timm:test_resnet@moco.pth"),
        (("--backbone", f"a={ids[0]}", "--backbone", f"b={ids[0]}"), "a and b are the same backbone; give it once"),
        ((*both, "--set", "backbone.mine.normalize=simclr"), 'normalize must be "imagenet" or "none"'),
        ((*both, "--set", "backbone.mien.normalize=none"), "no backbone is called 'mien'; did you mean mine?"),
    ):
        code, _, error = unseen(*options, *words)
        assert code == 2, words
        assert message in error


def test_a_damaged_image_leaves_out_its_data_set_alone(
    unseen: Unseen, tmp_path: Path, backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = {"dtd": {"train": 2, "val": 2, "test": 2}, "pets": {"train": 8, "val": 2, "test": 10}}
    for name, of in counts.items():
        monkeypatch.setitem(DATASETS, name, replace(DATASETS[name], classes=2, counts=of))
    write_pictures(tmp_path / "data")
    options = (*TASKS, "--backbone", backbone, "--data", tmp_path / "data", "--workers", 1, "--datasets", "dtd,pets")
    code, _, notes = unseen(*options, "--out", tmp_path / "run")
    assert code == 0
    [line] = [line for line in notes.splitlines() if line.startswith("Left out: dtd: ")]
    assert "zigzagged/val.jpg" in line
    assert "--set on-error=skip" in line
    assert set(pd.read_csv(tmp_path / "run/scores.csv")["domain"]) == {"pets"}
    assert "zigzagged/val.jpg" in (tmp_path / "run/report.html").read_text()
    code, _, notes = unseen(*options[:-1], "dtd", "--out", tmp_path / "alone")
    assert (code, notes.count("zigzagged/val.jpg")) == (2, 1)  # an error is not a notice too
    # With on-error=skip, what was left out of a data set that is used is on the page and in the run.
    (tmp_path / "data/oxford-iiit-pet/images/Abyssinian_3.jpg").write_bytes(b"damaged")
    code, said, _ = unseen(*options, "--out", tmp_path / "other", "--set", "on-error=skip")
    assert code == 0
    assert "1 of 10 test images is damaged and was left out" in said
    assert "Abyssinian_3.jpg" in (tmp_path / "other/report.html").read_text()
    [flaw] = json.loads((tmp_path / "other/run.json").read_text())["flaws"]
    assert (flaw["kind"], flaw["domain"], flaw["count"], flaw["total"]) == ("damaged-images", "pets", 1, 10)
    assert "Abyssinian_3.jpg" in flaw["examples"][0]
    # Where no data set is left, the first fault is the error.
    code, _, error = unseen(*options[:-1], "dtd", "--out", tmp_path / "third")
    assert code == 2
    assert "dtd: " in error


def test_a_quick_look_is_called_one(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    options = (*TASKS, "--backbone", backbone, "--datasets", "digits", "--workers", 1, "--out", tmp_path / "run")
    code, said, _ = unseen(*options, "--limit", 12)
    assert code == 0
    table = pd.read_csv(tmp_path / "run/scores.csv")
    assert set(table["limit"]) == {12}
    assert set(table["setting"]) == {"linear", "5-shot", "20-shot", "ece", "scaled-ece"}  # 36 images of a class
    [domain] = json.loads((tmp_path / "run/run.json").read_text())["domains"]
    assert domain["limit"] == 12
    page = (tmp_path / "run/report.html").read_text()
    assert "at most 12 images per class" in page
    assert "digits of scikit-learn (part: 12 images per class)" in page
    assert "A quick look at a part of digits of scikit-learn" in said
    assert "50-shot episodes are skipped on digits" in said
    stores = [json.loads(path.read_text()) for path in (tmp_path / "run/features/digits").glob("*/manifest.json")]
    assert [store["rows"] for store in stores] == [120] * 3
    assert {store["provenance"]["limit"] for store in stores} == {12}
    again = ("--features", tmp_path / "run/features", "--workers", 1, "--out", tmp_path / "again")
    assert unseen(*TASKS, *again).code == 0
    assert [each["limit"] for each in json.loads((tmp_path / "again/run.json").read_text())["domains"]] == [12]
    # The rest does not join the part in one folder.
    code, _, error = unseen(*options)
    assert code == 2
    assert "a run that differs in the key limit on digits" in error


def test_a_part_waits_for_the_features_that_others_extract(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    """The images of a split are one shard, which the first part extracts; the others may start before it."""
    words = (*TASKS, "--backbone", backbone, "--datasets", "digits", "--limit", 12, "--workers", 1)
    for more in (["--dry-run"], []):
        code, said, error = unseen(*words, "--out", tmp_path / "run", "--part", "2/2", *more)
        assert code == 0, error
        assert re.search(r"digits .* 0%\n", said)  # of all parts
    assert "part 2 of 2" in error
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_data_set_keeps_its_name_whatever_the_probe_is(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    options = (*TASKS, "--backbone", backbone, "--datasets", "digits", "--workers", 1, "--out", tmp_path / "run")
    for probe in ("knn", "centroids", "linear"):
        code, said, notes = unseen(*options, "--probes", probe)
        assert code == 0, notes
        assert "digits of scikit-learn" in said
        assert "(yours)" not in said
        assert "Not the data set of that name" not in said
    names = [each["protocol"] for each in json.loads((tmp_path / "run/run.json").read_text())["scored"]]
    assert names == ["ericsson-2021"]
