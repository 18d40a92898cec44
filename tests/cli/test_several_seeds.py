"""Runs of tasks with several probes, shots and seeds: every number that is shown, against the results on disk."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.special
from axis_folders import SEED_STEP, write_task_run

from unseen.probes.finetuning.grid import finetune_grid
from unseen.probes.many_shot import ERICSSON_2021, PROTOCOLS
from unseen.report.axes.across_runs import study_axes
from unseen.report.core.model import Cell, Page, Table
from unseen.report.of_runs import report_on
from unseen.report.tasks.page_data import TaskPage

Unseen = Callable[..., Any]
Values = dict[tuple[str, str, str], list[float]]
"""(probe, shots, metric) → the value of each seed."""


def values_on_disk(folder: Path) -> Values:
    """The scores in the result files of a run, in the order of seeds."""
    found: dict[tuple[str, str, str], dict[int, float]] = {}
    for path in (folder / "results").glob("*.json"):
        result = json.loads(path.read_text())
        for fit in result["values"]["fits"]:
            for metric, value in fit["values"].items():
                shots = str(result["job"].get("shots", "all"))
                found.setdefault((fit["variant"], shots, metric), {})[result["job"].get("seed", 0)] = value
    return {key: [by_seed[seed] for seed in sorted(by_seed)] for key, by_seed in found.items()}


def setting(probe: str, shots: str, metric: str) -> str:
    """What pages call the table of a score."""
    if probe == "centroids":
        return f"{shots}-shot"
    if (probe, shots) == ("linear", "all") and metric != "top1":
        return metric
    few = "" if shots == "all" else f"-{shots}-shot"
    return f"{probe}{few}{'' if metric == 'top1' else f'-{metric}'}"


def tables_of(page: Page) -> Iterator[Table]:
    for section in page.sections:
        yield from section.tables


def cell_text(values: list[float]) -> tuple[str, str]:
    """A score and its spread as tables of tasks have them, in percent."""
    spread = f"± {100 * np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{100 * np.mean(values):.2f}", spread


def write_features(folder: Path) -> None:
    """Six classes in 12 dimensions that are hard to tell apart, so that every seed has another score."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    for split, count in (("train", 24), ("val", 12), ("test", 25)):
        y = np.arange(6).repeat(count)
        X = np.pad(np.eye(6)[y], ((0, 0), (0, 6))) + 0.7 * rng.normal(size=(len(y), 12))
        np.savez(folder / f"{split}.npz", X=X, y=y)


def test_every_number_is_of_its_probe_and_shots_and_the_mean_over_seeds(
    unseen: Unseen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROTOCOLS, "ericsson-2021", replace(ERICSSON_2021, steps=3))
    write_features(tmp_path / "features/digits")
    answer = unseen(
        "run", "ericsson-2021", "--features", tmp_path / "features", "--backbone", "mine", "--workers", 1,
        "--probes", "linear,centroids,knn,ridge", "--shots", "5,all", "--set", "centroids.shots=5,10",
        "--seeds", 2, "--out", tmp_path / "run",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    known = values_on_disk(tmp_path / "run")
    assert {(probe, shots) for probe, shots, _ in known} == {
        *(("linear", shots) for shots in ("5", "all")), *(("centroids", shots) for shots in ("5", "10")),
        *(("knn-20", shots) for shots in ("5", "all")), *(("ridge", shots) for shots in ("5", "all")),
    }  # fmt: skip
    several = {probe for (probe, shots, _), values in known.items() if len(values) == 2 and shots == "5"}
    assert several == {"linear", "centroids", "knn-20", "ridge"}
    fives = [value for probe in ("linear", "centroids") for value in known[probe, "5", "top1"]]
    assert len({*fives}) == 4  # so that no number stands for another

    # scores.csv: one row for each, and no other.
    table = pd.read_csv(tmp_path / "run/scores.csv", dtype={"shots": str})
    rows = {(row.probe, row.shots, row.metric): row for row in table.itertuples()}
    assert (rows.keys(), len(table)) == (known.keys(), len(known))
    for key, values in known.items():
        assert (rows[key].mean, rows[key].seeds) == (np.mean(values), len(values))
        spread = np.std(values, ddof=1) if len(values) > 1 else np.nan
        np.testing.assert_equal(rows[key].deviation, spread)

    # The page: each setting has its own table, and the others are in one.
    shown = {each.name: each for each in tables_of(report_on([tmp_path / "run"]).page)}
    own = {key: values for key, values in known.items() if key[0] in {"linear", "centroids"}}
    settings = {setting(*key): values for key, values in own.items()}
    assert len(settings) == len(own)
    assert {*settings} == {name for name in shown if name.startswith("linear") or "shot" in name or "ece" in name}
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    for name, values in settings.items():
        [row] = shown[name].rows
        assert (row.cells[1].text, row.cells[1].small) == cell_text(values)
        assert ("2 seeds" in shown[name].caption) == (len(values) > 1)
        printed = lines[lines.index(shown[name].caption) + 2]
        assert printed == " ".join(filter(None, ["mine", *cell_text(values)]))
    further = {
        (row.cells[2].values[0], row.cells[3].text, row.cells[4].values[0]): row.cells
        for row in shown["further-scores"].rows
    }
    others = {key: values for key, values in known.items() if key not in own}
    assert (further.keys(), len(shown["further-scores"].rows)) == (others.keys(), len(others))
    for key, values in others.items():
        assert further[key][5].values[0] == np.mean(values)
        spread = f" ± {100 * np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
        text = f"{100 * np.mean(values):.1f}{spread}"
        assert (further[key][5].text, further[key][6].text) == (text, str(len(values)))
        assert any(line.endswith(f"{text} {len(values)}") for line in lines)

    # The sentences, and the page across axes.
    assert f"{100 * known['linear', 'all', 'top1'][0]:.1f}% on digits (yours)" in " ".join(answer.out.split())
    measures = study_axes([tmp_path / "run"]).axes.measures
    logits = [scipy.special.logit(np.mean(known["centroids", shots, "top1"])) for shots in ("5", "10")]
    assert measures["few-shot other"].values["mine"] == pytest.approx(np.mean(logits))
    assert measures["linear other"].values["mine"] == pytest.approx(
        scipy.special.logit(known["linear", "all", "top1"][0])
    )
    assert not [name for name in measures if "linear-5" in name]


def test_fine_tuning_with_two_seeds_is_shown_by_its_mean(unseen: Unseen, tmp_path: Path) -> None:
    score = {"finetuned": 0.71, "finetuned-ece": 0.052, "finetuned-scaled-ece": 0.021, "5-shot": 0.64}
    run = write_task_run(
        tmp_path / "run", ("a", "b"), lambda name, _, of: score.get(of, 0.8) + (name == "b") / 100,
        datasets=("cifar10",), grid=finetune_grid(), seeds=(0, 1),
    )  # fmt: skip
    answer = unseen("report", run, "--out", tmp_path / "page.html", "--table", tmp_path / "t.csv")
    assert answer.code == 0, answer.err
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    found = report_on([run])
    shown = {each.name: each for each in tables_of(found.page)}
    table = pd.read_csv(tmp_path / "t.csv").set_index(["backbone", "setting"])
    spread = SEED_STEP / np.sqrt(2)
    for name, first in score.items():
        for backbone, more in (("a", 0.0), ("b", 0.01)):
            mean = first + more + SEED_STEP / 2
            cells: list[Cell] = next(row for row in shown[name].rows if row.cells[0].text == backbone).cells
            assert (cells[1].text, cells[1].small) == (f"{100 * mean:.2f}", f"± {100 * spread:.2f}")
            assert cells[1].values == pytest.approx((mean, spread))
            assert any(line.startswith(f"{backbone} {100 * mean:.2f} ± {100 * spread:.2f}") for line in lines)
            assert table.loc[(backbone, name), ["mean", "deviation", "seeds"]].tolist() == pytest.approx(
                [mean, spread, 2]
            )
    assert len(table) == 2 * (3 + len(score))
    page = found.source
    assert isinstance(page, TaskPage)
    sentences = " ".join(found.page.findings)
    assert "a: fine-tuning reaches 72.0% on CIFAR-10 (means over 2 seeds)." in sentences
    assert "Means over 2 seeds are compared with published scores, which have one seed each." in page.notices
    average = next(each for each in page.averages if each.setting == "finetuned")
    assert average.values["a"] == pytest.approx(scipy.special.logit(0.72))
    assert average.means["b"] == pytest.approx(0.73)
    better = sum(value > 0.73 for value in average.means.values())
    assert page.ranks["finetuned"]["b"] == 1 + better
    chosen = shown["chosen"]
    assert [(row.cells[1].text, row.cells[2].text) for row in chosen.rows] == [
        ("a", "0"), ("a", "1"), ("b", "0"), ("b", "1"),
    ]  # fmt: skip
    titles = [figure.title for section in found.page.sections for figure in section.figures]
    assert len({*titles}) == len(titles)

    axes = study_axes([run])
    assert axes.axes.measures["finetuned"].values["a"] == pytest.approx(scipy.special.logit(0.72))
    few = axes.axes.measures["few-shot kornblith"]
    assert few.values["a"] == pytest.approx(scipy.special.logit(0.65))
    half = 0.01 / np.sqrt(2) / scipy.stats.norm.ppf(0.975) / (0.65 * 0.35)  # of the mean over 2 × 600 episodes
    assert few.draws["a"].std() == pytest.approx(half, rel=0.05)
    assert "Scores on tasks with several seeds are means over 2 seeds." in axes.notices
