"""Classifiers of one domain on the images of another."""

import csv
import re
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.preprocessing import normalize

from unseen.analyses.core.final_classifier import DomainClassifier, fit_again
from unseen.analyses.label_noise.inspection import Inspection, inspect_labels
from unseen.data.core.arrays import array_images
from unseen.device import on_gpu
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.logistic import probe_logistic
from unseen.probes.protocol import LogisticProtocol
from unseen.report.concepts.label_noise_page import write_inspection
from unseen.runs.means import Means
from unseen.runs.results import Result, read_result
from unseen.studies.probed_features import probed_features
from unseen.studies.probing import run

pytestmark = pytest.mark.gpu_too
PROTOCOL = LogisticProtocol(name="quick", epochs=20, trials=2, round_size=2, batch=32, rates=(10.0, 100.0))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
ROUNDING = 1e-2 if DEVICE == "cuda" else 0.0  # of weights in 16-bit products that are stacked in another way
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two domains of three concepts; the first concept of l2 looks like the second of seen."""
    folder = tmp_path_factory.mktemp("noise")
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((6, 16))
    centres[3] = centres[1]
    for index, domain in enumerate(("seen", "l2")):
        for split, each, noise in (("train", 20, rng), ("test", 6, rng), ("val", 7, np.random.default_rng(index + 1))):
            y = np.arange(3).repeat(each)
            X = centres[3 * index + y] + 0.4 * noise.standard_normal((len(y), 16))
            ids = np.array([f"{domain}/{split}/{number}" for number in range(len(y))])
            names = np.array([f"{domain}{label}" for label in range(3)])
            np.savez(folder / f"{domain}-{split}.npz", X=X.astype(np.float32), y=y, classes=names, ids=ids)
    return folder


def fitted(
    study: Path, domain: str, shots: int | None = None, *, held: bool = False
) -> tuple[Result, Features, Features]:
    """The result of a regression on training features, and with `held` on validation features too."""
    places = {split: study / f"{domain}-{split}.npz" for split in ("train", "test")}
    if held:
        places["val"] = study / f"{domain}-val.npz"
    parts = {split: read_features(place) for split, place in places.items()}
    train, test = parts["train"], parts["test"]
    features = probed_features("b", domain, parts, places)
    jobs = list(Logistic(PROTOCOL).jobs(features, [3], [shots], gpu=on_gpu()))
    list(run(jobs, [features], study / "results", Means(1)))
    result = read_result(study / "results", jobs[0].key)
    assert result is not None
    return result, train, test


@pytest.mark.parametrize("shots", [None, 5])
def test_the_classifier_is_the_one_that_was_scored(study: Path, shots: int | None) -> None:
    result, train, test = fitted(study, "seen", shots)
    again = fit_again(result, train)
    X, X_test = (torch.from_numpy(np.array(part.X)) for part in (train, test))
    y, y_test = torch.from_numpy(train.y), torch.from_numpy(test.y)
    expected = probe_logistic(X, y, X_test, y_test, protocol=PROTOCOL, seed=3, shots=shots, device=DEVICE)
    torch.testing.assert_close(again.weights, expected.weights, rtol=0, atol=ROUNDING)
    torch.testing.assert_close(again.bias, expected.bias, rtol=0, atol=ROUNDING)
    assert again.classes == ("seen0", "seen1", "seen2")


def test_validation_features_train_the_classifier_too(study: Path) -> None:
    result, train, _ = fitted(study, "seen", held=True)
    val = read_features(study / "seen-val.npz")
    again = fit_again(result, train, val)
    X, y = (np.concatenate([np.asarray(getattr(part, name)) for part in (train, val)]) for name in ("X", "y"))
    X_test, y_test = (np.array(getattr(read_features(study / "seen-test.npz"), name)) for name in ("X", "y"))
    tensors = [torch.from_numpy(each) for each in (X, y, X_test, y_test)]
    expected = probe_logistic(*tensors, protocol=PROTOCOL, seed=3, device=DEVICE)
    torch.testing.assert_close(again.weights, expected.weights, rtol=0, atol=ROUNDING)
    torch.testing.assert_close(again.bias, expected.bias, rtol=0, atol=ROUNDING)
    with pytest.raises(UserError, match="other validation features"):
        fit_again(result, train)
    with pytest.raises(UserError, match="other validation features"):
        fit_again(result, train, read_features(study / "l2-val.npz"))


def test_what_is_confident_is_listed(study: Path) -> None:
    sides = {domain: fitted(study, domain) for domain in ("seen", "l2")}
    classifiers = [fit_again(result, train) for result, train, _ in sides.values()]
    tests = {domain: test for domain, (_, _, test) in sides.items()}
    found = inspect_labels(classifiers, tests, threshold=0.9)
    expected = []
    for classifier in classifiers:
        other = "l2" if classifier.domain == "seen" else "seen"
        scores = normalize(np.array(tests[other].X, dtype=np.float64)) @ classifier.weights.double().numpy().T
        scores += classifier.bias.double().numpy()
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        for row in np.flatnonzero(shares.max(axis=1) > 0.9):
            own, guess = tests[other].classes[tests[other].y[row]], classifier.classes[shares[row].argmax()]
            expected.append((f"{other}/test/{row}", other, own, classifier.domain, guess, shares[row].max()))
    expected.sort(key=lambda row: -row[-1])
    table = found.table
    assert len(expected) >= 6
    assert table["confidence"].tolist() == pytest.approx([row[-1] for row in expected], abs=max(1e-5, ROUNDING))
    assert set(table.drop(columns="confidence").itertuples(index=False, name=None)) == {row[:-1] for row in expected}
    twins = table[(table["concept"] == "l20") & (table["classifier"] == "seen")]
    assert set(twins["predicted"]) == {"seen1"}
    on_l2 = sum(row[1] == "l2" for row in expected)
    assert found.share("seen", "l2") == on_l2 / 18
    assert len(inspect_labels(classifiers, tests, threshold=0.999999).table) < len(table)


def test_bad_input_is_refused(study: Path) -> None:
    result, train, test = fitted(study, "seen")
    classifier = fit_again(result, train)
    with pytest.raises(UserError, match="other training features"):
        fit_again(result, test)
    with pytest.raises(UserError, match="not the result of a logistic regression"):
        fit_again(replace(result, job=result.job | {"probe": "kmeans"}), train)
    with pytest.raises(UserError, match="of the same backbone"):
        inspect_labels([classifier], {"l2": replace(test, X=np.ones((18, 5), np.float32))})
    with pytest.raises(UserError, match="the threshold must be a probability"):
        inspect_labels([classifier], {"l2": test}, threshold=1.0)
    nothing = inspect_labels([classifier], {"seen": test})  # its own domain is not another
    assert nothing.table.empty
    assert list(nothing.table.columns) == ["image", "domain", "concept", "classifier", "predicted", "confidence"]


def inspection() -> Inspection:
    weights = torch.zeros(2, 3)
    weights[0, 0] = weights[1, 1] = 50.0
    classifier = DomainClassifier("seen", (EVIL, "cat"), weights, torch.zeros(2), torch.float32)
    X = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=np.float32)
    features = Features(X, np.array([0, 0, 1]), ("n1", "n2"), ids=("a/<b>.jpg", "a/2.jpg", "b/3.jpg"))
    return inspect_labels([classifier], {"l1": features})


def test_the_page_has_thumbnails_and_no_code_of_others(tmp_path: Path) -> None:
    pixels = np.zeros((3, 300, 200, 3), np.uint8)
    pixels[0, ..., 0] = 255
    source = array_images(pixels, ["n1", "n1", "n2"], ["a/<b>.jpg", "a/2.jpg", "b/3.jpg"])
    path = tmp_path / "noise.html"
    write_inspection(inspection(), path, sources={"l1": source}, names={"n1": "dog & wolf"})
    page = path.read_text()
    assert EVIL not in page
    assert "&lt;script&gt;" in page
    assert "dog &amp; wolf" in page
    assert "a/&lt;b&gt;.jpg" in page
    assert "b/3.jpg" not in page  # equal scores: half and half
    assert "66.7% of 3 images" in page
    pictures = [Image.open(BytesIO(b64decode(text))) for text in re.findall(r"base64,([^\"]+)", page)]
    assert [max(picture.size) for picture in pictures] == [96, 96]
    red, green, blue = pictures[0].getpixel((48, 48))
    assert red > 200
    assert max(green, blue) < 60


def test_the_page_without_images_and_the_table(tmp_path: Path) -> None:
    write_inspection(inspection(), tmp_path / "noise.html")
    assert "<img" not in (tmp_path / "noise.html").read_text()
    write_inspection(inspection(), tmp_path / "noise.csv")
    rows: list[dict[str, Any]] = list(csv.DictReader((tmp_path / "noise.csv").read_text().splitlines()))
    assert [(row["image"], row["predicted"]) for row in rows] == [("a/<b>.jpg", EVIL), ("a/2.jpg", "cat")]
    with pytest.raises(UserError, match="tables are written as"):
        write_inspection(inspection(), tmp_path / "noise.xls")


def test_images_that_are_not_there_are_named(tmp_path: Path) -> None:
    source = array_images(np.zeros((1, 10, 10, 3), np.uint8), ["n1"], ["a/2.jpg"])
    with pytest.raises(UserError, match=r"a/<b>\.jpg: not among the images of l1"):
        write_inspection(inspection(), tmp_path / "noise.html", sources={"l1": source})
