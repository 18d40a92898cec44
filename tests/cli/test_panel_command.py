"""`unseen panel` and `unseen.panel` on runs of drawings, and a study on the panel."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from panel_runs import CONCEPTS, typical_concepts, write_panel_run

import unseen
from unseen.analyses.panels.file import PROVENANCE
from unseen.data.concepts.drawing_levels import OWN, SEEN, drawing_domains, drawing_levels
from unseen.ontology.levels import COLUMNS, Levels
from unseen.runs.record import read_run

Unseen = Callable[..., Any]
K = 6


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs of eight and of four backbones; only l1 has concepts that are typical of it."""
    folder = tmp_path_factory.mktemp("runs")
    level = {"l1": typical_concepts(12, good=8), "l2": np.random.default_rng(0).random((12, CONCEPTS))}
    parts = {"first": slice(8), "second": slice(8, 12)}
    return [
        write_panel_run(folder / name, {name_: of[part] for name_, of in level.items()}, prefix=name, categories=3)
        for name, part in parts.items()
    ]


def test_the_panel_is_written_with_its_errors(runs: list[Path], tmp_path: Path, unseen: Unseen) -> None:
    out = tmp_path / "panel.csv"
    answer = unseen("panel", *runs, "--concepts", K, "--out", out)
    assert answer.code == 0, answer.err
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert tuple(rows[0]) == (*COLUMNS, *PROVENANCE)
    levels = Levels.read(out)
    assert [len(level) for level in levels] == [K, K]
    whole = drawing_levels(OWN).levels
    for number in levels.numbers:
        assert {*levels.ids(number)} <= {*whole.ids(number)}
    verdicts = {row["level"]: row["against_random"] for row in rows}
    assert verdicts["1"] == "better"
    assert verdicts["2"] in {"not resolved", "worse"}
    assert {row["runs"] for row in rows} == {"first+second"}
    assert {row["backbones"] for row in rows} == {"12"}
    assert answer.out.count("l1") == 2  # in the table and in the sentence that says what it is worth
    assert re.search("On l2, .* (not measurably better|worse)", answer.out)
    assert "--set seen=seen" in answer.out


def test_json_and_python_agree(runs: list[Path], tmp_path: Path, unseen: Unseen) -> None:
    from unseen import panel

    answer = unseen("panel", *runs, "--concepts", K, "--out", tmp_path / "a.csv", "--json")
    record = json.loads(answer.out)
    panels = panel(runs, concepts=K, out=str(tmp_path / "b.csv"))
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert record["beats_random"] is panels.beats_random is False
    assert [each["beats_random"] for each in record["levels"]] == [True, False]
    frame = panels.to_frame()
    assert [each["held_out"]["error"]["value"] for each in record["levels"]] == frame["error"].tolist()
    assert record["levels"][0]["concepts"] == [concept.wnid for concept in panels.levels[0].concepts]
    assert panels.levels[0].other_kinds is not None


def test_the_line_gives_the_scores_of_the_runs(runs: list[Path]) -> None:
    panels = unseen.panel(runs, concepts=K)
    for level in panels.levels:
        chosen = {concept.wnid for concept in level.concepts}
        means, scores = [], []
        for run in runs:
            data = read_run(run)
            for hits in data.concept_hits:
                if hits.domain == level.domain:
                    means.append(
                        np.mean([c for c, name in zip(hits.correct, hits.concepts, strict=True) if name in chosen]) / 20
                    )
            scores += [score.value for score in data.scores if (score.domain, score.metric) == (level.domain, "top1")]
        slope, intercept = np.polyfit(means, scores, 1)
        assert (level.line.slope, level.line.intercept) == pytest.approx((slope, intercept))


def test_a_study_takes_the_panel(runs: list[Path], tmp_path: Path, unseen: Unseen) -> None:
    out, rng = tmp_path / "panel.csv", np.random.default_rng(0)
    unseen("panel", *runs, "--concepts", K, "--out", out)
    for domain, names in drawing_domains(OWN).items():
        (tmp_path / "features" / domain).mkdir(parents=True)
        for split, each in (("train", 4), ("test", 2)):
            y = np.arange(len(names)).repeat(each)
            X = rng.standard_normal((len(y), 3)).astype(np.float32)
            np.savez(tmp_path / "features" / domain / f"{split}.npz", X=X, y=y, classes=np.array(names))
    answer = unseen(
        "run", "drawings", "--features", tmp_path / "features", "--backbone", "mine", "--set", f"levels={out}",
        "--set", f"seen={SEEN}", "--dry-run", "--out", tmp_path / "run",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    planned = {line.split()[0]: line.split()[2] for line in answer.out.splitlines() if line.startswith(("l", SEEN))}
    assert planned == {"l1": str(K), "l2": str(K), SEEN: str(CONCEPTS)}


def refused(answer: Any, out: Path, word: str) -> None:
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert word in answer.err
    assert answer.out == ""
    assert not out.exists()


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (("--concepts", CONCEPTS), "45 concepts"),
        (("--concepts", 1), "at least 2"),
        (("--concepts", K, "--shots", 4), "at least 6 backbones"),
        (("--concepts", K, "--seed", -1), "--seed"),
        (("--concepts", "many"), "--concepts"),
    ],
)
def test_impossible_options_are_refused(
    runs: list[Path], tmp_path: Path, unseen: Unseen, words: tuple[Any, ...], word: str
) -> None:
    out = tmp_path / "panel.csv"
    refused(unseen("panel", *runs, *words, "--out", out), out, word)


def test_runs_that_give_no_panel_are_refused(runs: list[Path], tmp_path: Path, unseen: Unseen) -> None:
    out, accuracy = tmp_path / "panel.csv", {"l1": typical_concepts(6, good=8)}
    refused(unseen("panel", runs[1], "--concepts", K, "--out", out), out, "at least 6 backbones")
    refused(unseen("panel", tmp_path, "--concepts", K, "--out", out), out, "run.json")
    without = write_panel_run(tmp_path / "without", accuracy, hits=False)
    refused(unseen("panel", without, "--concepts", K, "--out", out), out, "there are none")
    other = write_panel_run(tmp_path / "other", accuracy, prefix="x", concepts={"l1": drawing_domains(OWN)["l2"]})
    refused(unseen("panel", runs[0], other, "--concepts", K, "--out", out), out, "different concepts")
    table = tmp_path / "panel.toml"
    refused(unseen("panel", *runs, "--concepts", K, "--out", table), table, ".csv")
