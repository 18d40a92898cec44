"""`unseen labels` on runs of features in files, and of images in the true formats of ImageNet."""

import csv
from base64 import b64decode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tiny_imagenet import TEST, TinyImageNet, make_tiny_imagenet
from unseen.cli.main import app

Unseen = Callable[..., tuple[int, str, str]]
LEVELS = {"l1": ["n02121808", "n02124623", "n02125081"], "l2": ["n03930630", "n04037443", "n04285008"]}
QUICK = ("--set", "logistic.protocol=cog-v2-short", "--seeds", 1, "--workers", 1)
EACH = 8


def concepts(*words: object) -> None:
    app([str(word) for word in ("run", "cog-v2", *words, *QUICK)], standalone_mode=False)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two levels of three concepts far apart; the first concept of l2 looks like the second of l1."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    centres = {
        name: 4 * np.eye(8)[place] for place, name in enumerate(name for part in LEVELS.values() for name in part)
    }
    centres["n03930630"] = centres["n02124623"]
    lines = ["level,rank,wnid,name"]
    for level, names in LEVELS.items():
        (folder / "features" / level).mkdir(parents=True)
        for split, each in (("train", 40), ("test", EACH)):
            y = np.arange(3).repeat(each)
            X = np.array([centres[names[label]] for label in y]) + 0.1 * rng.standard_normal((len(y), 8))
            ids = np.array([f"{level}-{split}-{number}" for number in range(len(y))])
            place = folder / "features" / level / f"{split}.npz"
            np.savez(place, X=X.astype(np.float32), y=y, classes=np.array(names), ids=ids)
        lines += [f"{level[1]},{rank},{name},{name}" for rank, name in enumerate(names)]
    (folder / "levels.csv").write_text("\n".join(lines))
    levels = ("--set", f"levels={folder / 'levels.csv'}", "--datasets", "l1,l2")
    given = ("--features", folder / "features", *levels)
    concepts(*given, "--shots", "1,all", "--out", folder / "run")
    return folder


def test_images_that_look_like_a_concept_elsewhere_are_listed(study: Path, tmp_path: Path, unseen: Unseen) -> None:
    page, table = tmp_path / "noise.html", tmp_path / "noise.csv"
    words = ("labels", study / "run", "--features", study / "features", "--threshold", 0.8)
    answer = unseen(*words, "--out", page, "--table", table)
    assert answer.code == 0, answer.err
    rows = list(csv.DictReader(table.read_text().splitlines()))
    found = {(row["image"], row["predicted"]) for row in rows}
    # Unit vectors of the other concepts are at right angles to all that a classifier was trained on.
    assert {(f"l2-test-{number}", "n02124623") for number in range(EACH)} <= found
    assert {(f"l1-test-{number}", "n03930630") for number in range(EACH, 2 * EACH)} <= found
    assert all(float(row["confidence"]) > 0.8 for row in rows)
    share = 100 * sum(row["classifier"] == "l1" for row in rows) / (3 * EACH)
    line = next(line.split() for line in answer.out.splitlines() if line.startswith("l1 "))
    assert line == ["l1", "l2", str(3 * EACH), f"{share:.1f}%"]
    text = page.read_text()
    assert "<img" not in text
    assert "wildcat" in text  # n02124623 by its name
    assert "pickup" in text
    assert unseen(*words, "--out", tmp_path / "noise.parquet").code == 0
    assert (tmp_path / "noise.parquet").read_bytes()[:4] == b"PAR1"


def test_thumbnails_come_out_of_the_tar_files(tmp_path: Path, unseen: Unseen) -> None:
    tiny: TinyImageNet = make_tiny_imagenet(tmp_path / "imagenet")
    run, page = tmp_path / "run", tmp_path / "noise.html"
    images = ("--data", f"imagenet-21k={tiny.imagenet_21k}")
    seen = ("--data", f"imagenet-1k={tiny.imagenet_1k}")
    drawn = ("--set", f"levels={tiny.levels}", "--set", f"splits={tiny.splits}")
    concepts("--backbone", tiny.backbone, *images, *seen, *drawn, "--shots", "all", "--out", run)
    words = ("labels", run, "--threshold", 0, "--out", page)
    assert unseen(*words, *images, *seen).code == 0
    pictures = page.read_text().split('src="data:image/jpeg;base64,')[1:]
    assert len(pictures) == 6 * 3 * TEST  # six pairs of three domains of three concepts
    with Image.open(BytesIO(b64decode(pictures[0].partition('"')[0]))) as picture:
        assert picture.size == (96, 96)
    partly = unseen(*words, *images, "--datasets", "in1k,l2")
    assert "No thumbnails of in1k" in partly.err
    assert page.read_text().count("<img") == 3 * TEST
    other = tmp_path / "imagenet" / "imagenet-1k" / "ILSVRC2012_img_train.tar"
    assert "not among the images" in unseen(*words, "--data", f"imagenet-21k={other}").err


def test_mistakes_are_named(study: Path, tmp_path: Path, unseen: Unseen) -> None:
    words = ("labels", study / "run", "--features", study / "features", "--out", tmp_path / "noise.html")
    assert "takes one backbone here, not 2" in unseen(*words, "--backbone", "a", "--backbone", "b").err
    answer = unseen(*words, "--threshold", 1)
    assert (answer.code, "threshold must be a probability" in answer.err) == (2, True)
    assert not (tmp_path / "noise.html").exists()
