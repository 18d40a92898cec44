"""Near-duplicates: the search against all products, planted copies of real images, and scores without them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import unseen
from unseen.analyses.duplicates.search import nearest_rows
from unseen.data.concepts.drawing_levels import drawings
from unseen.data.concepts.drawings import seen_concepts
from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.runs.record import read_results, read_run

PLANTED = ("recompressed", "resized", "flipped", "cropped")
CPU = torch.device("cpu")
Unseen = Callable[..., Any]


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 5))
def test_the_search_is_that_of_all_products(count: int, dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = rng.standard_normal((count, dimension)).astype(np.float32)
    parts = [rng.standard_normal((rows, dimension)).astype(np.float32) for rows in (3, 1, 20)]
    images[0] = 0
    found = nearest_rows(images, parts, CPU)
    among = np.concatenate(parts).astype(np.float64)
    lengths = np.linalg.norm(images.astype(np.float64), axis=1)[:, None]
    cosine = images @ among.T / np.where(lengths == 0, 1, lengths) / np.linalg.norm(among, axis=1)
    assert found.similarity == pytest.approx(cosine.max(axis=1), abs=2e-6)
    assert np.take_along_axis(cosine, found.row[:, None], axis=1)[:, 0] == pytest.approx(cosine.max(axis=1), abs=2e-6)


def test_features_of_two_backbones_are_refused() -> None:
    with pytest.raises(UserError, match="4 and of 3 dimensions"):
        nearest_rows(np.ones((2, 4), np.float32), [np.ones((2, 4), np.float32), np.ones((2, 3), np.float32)], CPU)


def write(image: Image.Image, path: Path, **how: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    image.save(path, **how)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on drawings of three concepts; four copies of the first training image of each are test images."""
    folder = tmp_path_factory.mktemp("copies")
    for split, count in (("train", 20), ("test", 8)):
        pixels, labels = drawings(seen_concepts()[:3], split)
        for label in range(3):
            for number, each in enumerate(pixels[labels == label][:count]):
                image = Image.fromarray(255 - each).resize((64, 64)).convert("RGB")
                write(image, folder / f"inks/{split}/concept{label}/{number:02d}.png")
    for label in range(3):
        image, place = Image.open(folder / f"inks/train/concept{label}/00.png"), folder / f"inks/test/concept{label}"
        write(image, place / "recompressed.jpg", quality=60)
        write(image.resize((48, 48)), place / "resized.png")
        write(image.transpose(Image.Transpose.FLIP_LEFT_RIGHT), place / "flipped.png")
        write(image.crop((3, 3, 61, 61)), place / "cropped.png")
    study = unseen.study("ericsson-2021").replace(
        datasets=[str(folder / "inks")],
        probes=["knn", "ridge"],
        knn={"k": [1, 20]},
    )
    unseen.run(study, "registry:efficientnet_lite0", out=folder / "run", progress=False)
    return folder / "run"


def test_copies_are_found_and_others_are_not(run: Path) -> None:
    found = unseen.duplicates(run, threshold=0.95)
    [pairs] = found.sets
    table = found.to_frame()
    assert len(table) == len(pairs.test.features) == 3 * (8 + len(PLANTED))
    assert table["similarity"].is_monotonic_decreasing
    planted = table[table["image"].str.contains("|".join(PLANTED))]
    assert (planted["other image"].str.endswith("/00.png") & (planted["class"] == planted["other class"])).all()
    above = table[table["similarity"] >= found.threshold]
    assert len(above) >= 0.75 * len(planted)  # which are found depends on the backbone
    assert above["image"].str.contains("|".join(PLANTED)).all()
    assert pairs.searched == 60


def test_scores_without_them_are_those_of_the_other_hits(run: Path) -> None:
    found = unseen.duplicates(run, threshold=0.9)
    [pairs] = found.sets
    kept = ~pairs.above(0.9)
    assert 0 < kept.sum() < len(kept)
    by_probe = {each.probe: each for each in found.scores}
    assert set(by_probe) == {"knn-1", "knn-20", "ridge"}
    features = {split: read_features(next((run / "features/inks").glob(f"*-{split}-*"))) for split in ("train", "test")}
    val = read_features(next((run / "features/inks").glob("*-val-*")))
    X = np.concatenate([np.asarray(features["train"].X[:]), np.asarray(val.X[:])]).astype(np.float64)
    y = np.concatenate([features["train"].y, val.y])
    test = np.asarray(features["test"].X[:]).astype(np.float64)
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (X, test)]
    hits = y[(unit[1] @ unit[0].T).argmax(axis=1)] == features["test"].y
    assert by_probe["knn-1"].value == pytest.approx(hits.mean())
    assert by_probe["knn-1"].without == pytest.approx(hits[kept].mean())
    scores = {each.probe: each.value for each in read_run(run).scores if each.metric == "top1"}
    assert all(each.value == pytest.approx(scores[each.probe]) for each in found.scores)
    [notice] = found.notices
    assert "top5" in notice


def test_the_page_has_the_pairs_as_pictures(run: Path, tmp_path: Path, unseen: Unseen) -> None:
    page, table = tmp_path / "page.html", tmp_path / "pairs.csv"
    record = json.loads(unseen("duplicates", run, "--out", page, "--json").out)
    assert record["sets"][0]["images"] == 36
    assert {each["dataset"] for each in record["scores"]} == {"inks"}
    assert page.read_text().count("data:image/jpeg;base64,") >= 12
    unseen("duplicates", run, "--out", table, "--threshold", "0.99")
    assert len(table.read_text().splitlines()) == 1 + 36


def test_features_in_files_and_other_data_sets(run: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, rows in (("old", 30), ("new", 10)):
        X = rng.standard_normal((rows, 12)).astype(np.float32)
        if name == "new":
            X[:2] = 3 * np.load(tmp_path / "old.npz")["X"][[7, 4]]
        np.savez(tmp_path / f"{name}.npz", X=X, y=np.arange(rows) % 2)
    found = unseen.duplicates(tmp_path / "new.npz", against=tmp_path / "old.npz")
    table = found.to_frame().head(2)
    assert set(zip(table["image"], table["other image"], strict=True)) == {("row 0", "row 7"), ("row 1", "row 4")}
    assert found.scores == []
    folder = unseen.duplicates(run / "features", datasets=["inks"])
    assert [each.dataset for each in folder.sets] == ["inks"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"threshold": 1.5}, "threshold"),
        ({"out": "pairs.txt"}, "choose one of these suffixes"),
        ({"datasets": ["ink"]}, "did you mean inks"),
        ({"backbone": "other"}, "no features of other"),
        ({"against": "nowhere"}, "no such data set.*inks"),
        ({"place": "missing"}, "no such run"),
    ],
)
def test_what_cannot_be_searched_is_refused(run: Path, change: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UserError, match=sentence):
        unseen.duplicates(**({"place": run} | change))


def test_test_images_are_not_searched_among_themselves(run: Path) -> None:
    store = next((run / "features/inks").glob("*-test-*"))
    with pytest.raises(UserError, match="the test images themselves"):
        unseen.duplicates(store, against=store)
    with pytest.raises(UserError, match="no features of its training images"):
        unseen.duplicates(store)


def test_exact_copies_have_a_similarity_of_1() -> None:
    X = np.random.default_rng(0).standard_normal((200, 64)).astype(np.float32)
    assert (nearest_rows(7 * X, [X], CPU).similarity == 1).all()


def test_features_of_other_images_are_refused(run: Path, tmp_path: Path) -> None:
    import shutil

    other = shutil.copytree(run / "features", tmp_path / "features")
    stores = {split: next((other / "inks").glob(f"*-{split}-*")) for split in ("train", "test")}
    about = json.loads((stores["train"] / "manifest.json").read_text())
    about["provenance"] |= {"split": "test"}
    (stores["train"] / "manifest.json").write_text(json.dumps(about))
    shutil.rmtree(stores["test"])
    with pytest.raises(UserError, match="not those of the run"):
        unseen.duplicates(run, features=other, against=str(next((run / "features/inks").glob("*-val-*"))))


def test_images_of_the_same_name_elsewhere_are_not_taken_for_those_of_the_run(run: Path) -> None:
    found = unseen.duplicates(run, against=run / "features/inks")
    assert {part.dataset for part in found.sets[0].parts} == {str(run / "features/inks")}


def test_results_without_hits_are_named(run: Path, tmp_path: Path) -> None:
    import shutil

    copied = shutil.copytree(run, tmp_path / "run")
    for result in read_results(copied):
        path = copied / f"results/{result.key}.json"
        record = json.loads(path.read_text())
        for fit in record["values"]["fits"]:
            fit["details"].pop("correct", None)
        path.write_text(json.dumps(record))
    found = unseen.duplicates(copied, threshold=0.9)
    assert found.scores == []
    assert "knn" in found.notices[0]
