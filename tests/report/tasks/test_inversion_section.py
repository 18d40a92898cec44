"""Reconstructions on the page of tasks: boxes over images, the paper's models, pictures, correlations."""

from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unseen.analyses.tasks.averages import CorrelationTable, averages, correlations
from unseen.papers.transfer import IMAGENET, imagenet_score, imagenet_top1, published_task_scores
from unseen.probes.by_name.inversion import Inversion
from unseen.probes.job import fits_kept
from unseen.probes.single_images import Measured, image_fits
from unseen.report.core.model import Section
from unseen.report.core.render import page_html
from unseen.report.tasks.image_data import ImageResult, image_results
from unseen.report.tasks.image_parts import PANEL, image_tables
from unseen.report.tasks.page import task_page
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.results import page_of_results
from unseen.report.tasks.sections.inversion import build
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.results import Result
from unseen.studies.kept_images import keep

VALUES = {"a": [0.4, 0.6], "b": [0.7, 0.5]}
COLOURS = {"colour-red": [100.0, 300.0], "colour-green": [1.0, 3.0], "colour-blue": [5.0, 5.0]}


@pytest.fixture
def page(tmp_path: Path) -> TaskPage:
    results = []
    for name, values in VALUES.items():
        for place in range(2):
            image = np.full((30, 30, 3), 40 * place, np.uint8)
            arrays = {"reconstruction": 255 - image, "loss": 0.1, "clamped_loss": 0.3 + 0.2 * place, "scale": 0.5}
            keep(tmp_path / name, place, image, Measured({}, {key: np.array(of) for key, of in arrays.items()}))
        numbers = {"lpips-alexnet": values, **COLOURS}
        means = {metric: float(np.mean(of)) for metric, of in numbers.items()}
        results.append(
            ImageResult(
                name, "inversion", {"name": "inversion-50", "steps": 50}, "photographs (2 images)",
                "photographs, 2 images", ["x.png", "y.png"], numbers, means, "single", tmp_path / name,
            )
        )  # fmt: skip
    scores = [*published_task_scores(), *imagenet_top1(), imagenet_score("a", 0.7)]
    return TaskPage("Tasks", "inversion-50", ["a", "b"], [], scores, [], [], [], {}, by_image=results)


def section(page: TaskPage) -> Section:
    found = build(page)
    assert found is not None
    return found


def test_a_figure_for_each_measure_and_one_beside_imagenet(page: TaskPage) -> None:
    figures = section(page).figures
    assert len(figures) == 5
    own = {series.backbone: list(series.y) for series in figures[0].series if series.mode == "box"}
    assert own == VALUES
    marks = {series.name: list(series.y) for series in figures[0].series if series.mode == "markers"}
    assert marks["supervised (paper)"] == [0.47]
    assert len(marks["self-supervised (paper)"]) == 13
    red = {series.name: list(series.y) for series in figures[1].series if series.mode == "markers"}
    assert red["supervised (paper)"] == [2788]


def test_tables_and_what_is_said_first(page: TaskPage) -> None:
    found = section(page)
    assert "perceptual distance (AlexNet) goes from 0.500 (features of a) to" in found.sentences[0]
    assert found.note.endswith("VGG, SqueezeNet.")
    distance, colour, errors = found.tables
    assert [cell.values for cell in errors.rows[0].cells[2:]] == [(pytest.approx(0.2),), (pytest.approx(0.8),)]
    assert [cell.text for cell in distance.rows[0].cells] == ["a", "2", "0.500", "0.400 to 0.600"]
    assert [cell.text for cell in colour.rows[1].cells][:4] == ["b", "2", "200", "100 to 300"]
    assert [row.style for row in colour.rows].count("published") == 14
    assert "50 steps" in colour.caption


def test_correlations_are_those_of_the_papers_last_row(page: TaskPage) -> None:
    metrics = ("top1", "lpips-alexnet", *COLOURS)
    known = averages([s for s in page.scores if s.published and s.metric in metrics and s.domain in ("", IMAGENET)])
    models = CorrelationTable("Published models", known, correlations(known))
    found = section(replace(page, correlations=[models])).tables[-1]
    assert [column.title for column in found.columns][1] == "Perceptual distance, AlexNet"
    printed = [-0.51, -0.56, -0.11, -0.22]  # the first from distances that are printed with two digits
    assert [cell.values[0] for cell in found.rows[0].cells[1:]] == pytest.approx(printed, abs=0.021)


def test_pictures_have_the_original_first(page: TaskPage) -> None:
    [gallery] = section(page).galleries
    assert gallery.pictures[1].lines == ["y.png", "a 0.600, b 0.500"]
    with Image.open(BytesIO(gallery.pictures[1].content)) as picture:
        pixels = np.asarray(picture)
    assert pixels.shape[1] == 3 * PANEL + 8
    assert (abs(int(pixels[50, 50, 0]) - 40) < 3, abs(int(pixels[50, PANEL + 50, 0]) - 215) < 3) == (True, True)
    assert page_html(task_page(page)).count("data:image/jpeg;base64,") == 2


def test_without_reconstructions_there_is_no_section() -> None:
    assert build(TaskPage("Tasks", "", ["a"], [], [], [], [], [], {})) is None


def test_of_several_seeds_every_image_has_its_mean() -> None:
    settings = Inversion().described
    results = [
        Result(f"{seed}", {"probe": "inversion", "backbone": "a", "dataset": "x", "settings": settings, "seed": seed,
                           "arithmetic": "single"},
               fits_kept([*image_fits("inversion", ["1", "2"], {"colour-red": [100.0 + 50 * seed, 300.0]}, seed)]),
               1.0, {})
        for seed in (1, 0)
    ]  # fmt: skip
    data = RunData("t", (), [Domain("x", "X", axis="tasks")], [Backbone("a", "yours")], "a")
    [found] = image_results(data, results, {})
    assert (found.seeds, found.means) == (2, {"colour-red": 212.5})
    assert found.values == {"colour-red": [125.0, 300.0]}
    page = page_of_results(data, results)
    [table] = image_tables(page)
    assert [cell.text for cell in table.rows[0].cells] == ["a", "2", "212", "125 to 300"]
    assert "2 seeds" in table.caption
    [score] = [score for score in page.scores if not score.published]
    assert (score.value, score.half_width) == (212.5, None)
