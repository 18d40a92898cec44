"""What the page of a run says of fine-tuning: the settings that were tried, what diverged, what was cut short."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from coloured_images import coloured, small_network

from studies import run_of, study_of
from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.probes.finetuning import timing
from unseen.probes.finetuning.grid import FinetuneGrid, finetune_grid, ranked_trials
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Section
from unseen.report.tasks.page import write_task_page
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.results import page_of_results, page_of_run
from unseen.report.tasks.tables import score_tables
from unseen.runs.record import read_run, read_with_results
from unseen.runs.results import Result


@pytest.fixture(autouse=True)
def quick_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "step_seconds", lambda *_: 0.5)


def tuned(out: Path, trials: int = 3, steps: int = 4, network: Backbone | None = None) -> tuple[Any, Result]:
    """A run of one data set and one backbone, and its result."""
    study = study_of("finetune", **{"fine-tuned": {"trials": trials, "steps": steps}})
    run_of(study, out, [network or small_network()], datasets=[coloured()])
    run, [result] = read_with_results(out)
    return run, result


def sections(page: TaskPage) -> dict[str, Section]:
    return {section.name: section for section in build_sections("tasks", page)}


def changed(result: Result, **details: object) -> Result:
    """A result with other details of its fit."""
    [fit] = result.values["fits"]
    return replace(result, values=result.values | {"fits": [fit | {"details": fit["details"] | details}]})


def test_a_search_that_was_cut_short_says_so_and_does_not_stand_beside_the_papers(tmp_path: Path) -> None:
    run, result = tuned(tmp_path)
    page = page_of_run(tmp_path)
    assert page.protocol == "ericsson-2021-short"
    assert page.timings["tiny"][0] == 4  # three trials and the best
    [scores] = score_tables(page, ("finetuned",))
    assert scores.rows[0].cells[1].text == f"{100 * dict(result.fits[0].values)['top1']:.2f}"
    assert not any(score.published and score.probe == "fine-tuned" for score in page.scores)
    protocol = asdict(finetune_grid()) | {"trials": 3}
    whole = replace(result, job=result.job | {"settings": {"protocol": protocol}})
    assert any(score.published and score.probe == "fine-tuned" for score in page_of_results(run, [whole]).scores)
    found = sections(page)
    assert sum(len(series.x) for series in found["fine-tuning"].figures[0].series) == 3
    assert len(found["calibration"].figures) == 1
    write_task_page(page, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert "Fine-tuning was cut short (ericsson-2021-short): 3 of 40 settings, 4 of 5,000 steps" in text


def test_settings_that_diverged_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usual = FinetuneGrid.settings.fget  # type: ignore[attr-defined]
    wild = property(lambda grid: (replace(usual(grid)[0], rate=1e30), *usual(grid)[1:]))
    monkeypatch.setattr(FinetuneGrid, "settings", wild)
    tuned(tmp_path, trials=4, steps=20)
    sentences = sections(page_of_run(tmp_path))["fine-tuning"].sentences
    assert any("1 of 4 settings diverged" in sentence for sentence in sentences)


def test_what_was_passed_over_and_how_it_was_computed_are_on_the_page(tmp_path: Path) -> None:
    run, result = tuned(tmp_path)
    worst = ranked_trials(result.details["validation"])[-1]
    rate = FinetuneGrid(**result.job["settings"]["protocol"]).settings[worst].rate
    page = page_of_results(run, [changed(result, passed_over=[worst])])
    assert page.timings["tiny"][0] == 5  # three trials, what diverged and what did not
    sentences = sections(page)["fine-tuning"].sentences
    assert any(f"rate {rate:g}" in said and "diverged when it was trained again" in said for said in sentences)
    usual = page_of_results(run, [result])
    assert not any("trained again" in said for said in sections(usual)["fine-tuning"].sentences)
    assert usual.provenance["arithmetic of fine-tuning"] == "All numbers in 32 bits, on a CPU"
    other = replace(
        result,
        job=result.job | {"arithmetic": "float16", "backbone": "other"},
        values=result.values | {"device": "cuda"},
    )
    run_of(
        study_of("finetune", **{"fine-tuned": {"trials": 3, "steps": 4}}), tmp_path, [small_network("other")],
        datasets=[coloured()],
    )  # fmt: skip
    both = page_of_results(read_run(tmp_path), [result, other])
    assert both.provenance["arithmetic of fine-tuning"] == (
        "All numbers in 32 bits, on a CPU: tiny on digits (yours); "
        "Products in 16 bits, weights and updates in 32, on a GPU: other on digits (yours)"
    )


def test_names_are_only_text_on_the_page(tmp_path: Path) -> None:
    tuned(tmp_path, 1, 2, small_network("<script>alert(1)</script>"))
    write_task_page(page_of_run(tmp_path), tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text()


def test_damaged_results_are_named(tmp_path: Path) -> None:
    run, result = tuned(tmp_path, trials=1, steps=2)
    [fit] = result.values["fits"]
    changes: list[dict[str, object]] = [
        {"chosen": "first"}, {"chosen": 1}, {"validation": []}, {"trial_seconds": None},
    ]  # fmt: skip
    for wrong in (
        *(changed(result, **change) for change in changes),
        replace(result, values=result.values | {"fits": [fit | {"values": {"top1": 2.0}}]}),
    ):
        with pytest.raises(UserError, match=result.key):
            page_of_results(run, [wrong])
