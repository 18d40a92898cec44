"""Dense tasks on the page of tasks: beside published models where they compare, by class, with pictures."""

from collections.abc import Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from axis_folders import write_task_run
from PIL import Image

from unseen.analyses.axes.measures import task_measures
from unseen.data.registry import get_dataset
from unseen.errors import UserError
from unseen.papers.comparability import ScoredData
from unseen.probes.job import Fit, fits_kept
from unseen.probes.patches.scoring import picture_name
from unseen.report.axes.sources import Run, own_task_scores
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Section
from unseen.report.core.render import page_html
from unseen.report.tasks.dense_tables import dense_tables
from unseen.report.tasks.page import findings, task_page
from unseen.report.tasks.page_data import PICTURES, TaskPage
from unseen.report.tasks.results import page_of_results
from unseen.report.tasks.score_table import task_table
from unseen.report.tasks.sections import dense
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.record import read_results, read_run
from unseen.runs.results import Result

TRAINED = {
    "detector-frozen": ("voc-detection", "boxes", "detection-frozen", "last-stage"),
    "psp": ("nyuv2-normals", "normals", "normals", "frozen"),
    "upernet": ("ade20k", "classes", "segmentation", "whole"),
}
MEASURED: dict[str, dict[str, Any]] = {
    "boxes": {f"{who}{name}": 0.5 for who in ("", "coco-") for name in ("ap", "ap50", "ap75")},
    "normals": {"angle-mean": 30.5, "angle-median": 25.0, "within-11.25": 0.3, "within-22.5": 0.5, "within-30": 0.6},
    "classes": {"miou": 0.404, "pixel-accuracy": 0.798},
    "depth": {"depth-rmse": 0.75, "delta1": 0.8},
}


def trained(probe: str, backbone: str = "mine", *, short: str = "") -> Result:
    """A training by the paper's protocol, or by a short form of it."""
    domain, kind, name, trains = TRAINED[probe]
    protocol = {"name": f"ericsson-2021-{name}{short}", "backbone": trains}
    count = get_dataset(domain).classes
    by_class = [place / 1000 for place in range(count)]
    return _result(f"{probe}-{backbone}{short}", probe, backbone, domain, kind, protocol, by_class=by_class)


def probed(domain: str, kind: str, by_class: Sequence[float | None] = (), **details: object) -> Result:
    """The linear probe on patches."""
    protocol = {"name": "patch-linear"}
    return _result(
        f"patch-{domain}", "patch-linear", "mine", domain, kind, protocol, by_class=list(by_class), **details
    )


def _result(
    key: str, probe: str, backbone: str, domain: str, kind: str, protocol: dict[str, str], **details: object
) -> Result:
    metric = next(iter(MEASURED[kind]))
    job = {
        "probe": probe, "backbone": backbone, "dataset": domain, "metric": metric, "settings": {"protocol": protocol},
    }  # fmt: skip
    fit = Fit(probe, None, 0, [*MEASURED[kind].items()], details)
    return Result(key, job, fits_kept([fit]), 1.0, {})


def made(*results: Result, missing: int = 0, limit: int | None = None, folder: Path = Path()) -> TaskPage:
    """The page of results on complete copies of data sets, on parts, or on copies that lack some training images."""
    names = list(dict.fromkeys(str(result.job["dataset"]) for result in results))
    scored = []
    for name in {trained[0] for trained in TRAINED.values()} & {*names}:
        facts = get_dataset(name)
        images = {"train": facts.counts["train"] - missing, "test": facts.counts["test"]}
        scored.append(ScoredData("mine", name, "", facts.classes, images, "given", limit=limit))
    data = RunData("Tasks", (), [Domain(n, n) for n in names], [Backbone("mine", "yours")], "mine", scored=scored)
    return page_of_results(data, results, {result.key: folder for result in results})


def section_of(page: TaskPage, name: str) -> Section:
    return next(section for section in build_sections("tasks", page) if section.name == name)


def test_a_training_on_all_data_stands_beside_the_14_models_with_units() -> None:
    page = made(*map(trained, TRAINED))
    tables = {table.name: table for table in dense_tables(page)}
    normals = tables["nyuv2-normals-ericsson-2021-normals"]
    assert [column.title for column in normals.columns[1:4]] == [
        "mean angle (°)",
        "median angle (°)",
        "within 11.25° (%)",
    ]
    assert [row.style for row in normals.rows] == [""] + ["published"] * 14
    cells = {row.cells[0].text: [cell.text for cell in row.cells[1:]] for row in normals.rows}
    assert cells["mine"] == ["30.50", "25.00", "30.00", "50.00", "60.00"]
    assert cells["InsDis"] == ["32.99", "27.35", "23.58", "43.02", "53.51"]  # Table 5
    detection = tables["voc-detection-ericsson-2021-detection-frozen"]
    insdis = next(row for row in detection.rows if row.cells[0].text == "InsDis")
    assert [cell.text for cell in insdis.cells[1:]] == ["50.13", "77.92", "53.34", "–", "–", "–"]
    # Scores of dense tasks have no intervals, so none is marked.
    assert not any(cell.style for table in tables.values() for row in table.rows for cell in row.cells)
    assert "40.4%" in tables["ade20k-ericsson-2021-segmentation"].note
    assert "not COCO's" in detection.note


@pytest.mark.parametrize(
    ("page", "why"),
    [
        (made(trained("upernet", short="-short")), "ericsson-2021-segmentation-short"),
        (made(trained("upernet"), missing=5000), "15,210 training images, not 20,210"),
        (made(trained("upernet"), limit=7), "at most 7 images per class"),
        (made(probed("ade20k", "classes", [0.5] * 150)), "does not probe patches"),
    ],
)
def test_what_does_not_compare_says_why_in_the_line_of_its_table(page: TaskPage, why: str) -> None:
    [table] = dense_tables(page)
    assert why in table.caption
    assert [row.cells[0].text for row in table.rows] == ["mine"]
    assert not any("mine" in average.values and len(average.values) > 1 for average in page.averages)
    assert "correlations" not in [section.name for section in build_sections("tasks", page)]


def test_findings_and_ranks_have_dense_tasks() -> None:
    page = made(*map(trained, TRAINED))
    said = " ".join(findings(page))
    assert "30.50° by mine" in said
    assert "mine ranks 1 of 15 in Detection" not in said  # AP50 of 50% is the least of all
    assert "15 of 15 in Detection, frozen: AP50" in said
    assert "1 of 15 in Segmentation: mIoU" in said
    [radar] = [figure for figure in section_of(page, "ranks").figures if figure.title == "mine"]
    assert len(radar.x_ticks) == 3


def test_dense_tasks_stand_beside_classification(tmp_path: Path) -> None:
    folder = write_task_run(tmp_path, ("mine",), lambda *_: 0.7)
    data, results = read_run(folder), read_results(folder)
    scenes = Domain("own", "My scenes")
    page = page_of_results(
        replace(data, domains=[*data.domains, scenes]), [*results, probed("own", "classes", [0.5, 0.25])]
    )
    names = [section.name for section in build_sections("tasks", page)]
    assert {"many-shot", "few-shot", "dense-own"} <= {*names}
    assert "own" not in [dataset.name for dataset in page.datasets]
    assert any(sentence.startswith("My scenes (your data set). ") for sentence in findings(page))
    assert {*task_table(page).query("domain == 'own'")["setting"]} == {
        "patch-linear-miou",
        "patch-linear-pixel-accuracy",
    }


def test_several_seeds_are_one_row_with_their_mean() -> None:
    first = trained("upernet")
    metrics = {"miou": 0.5, "pixel-accuracy": 0.7}
    fit = Fit("upernet", None, 1, [*metrics.items()], {"by_class": [place / 500 for place in range(150)]})
    second = replace(first, key="second", job=first.job | {"seed": 1}, values=fits_kept([fit]))
    page = made(second, first)
    [table] = dense_tables(page)
    own = [row.cells for row in table.rows if not row.style]
    assert [[(cell.text, cell.small) for cell in cells[1:]] for cells in own] == [
        [("45.20", "± 6.79"), ("74.90", "± 6.93")]  # of 40.4 and 50, 79.8 and 70
    ]
    assert "2 seeds" in table.caption
    by_class = section_of(page, "dense-ade20k").tables[1]
    assert [cell.values for cell in by_class.rows[100].cells[1:]] == [(pytest.approx(0.15),)]  # of 0.1 and 0.2
    assert "45.20% by mine" in " ".join(findings(page))
    assert next(a for a in page.averages if a.setting == "upernet-miou").means["mine"] == pytest.approx(0.452)


def test_dense_scores_are_on_the_axis_of_tasks(tmp_path: Path) -> None:
    results = [trained("upernet", short="-short"), probed("own", "classes", [0.5])]
    domains = [Domain("ade20k", "ADE20K", axis="tasks"), Domain("own", "own", axis="tasks")]
    data = RunData("t", (), domains, [Backbone("mine", "yours")], "mine")
    measures, _ = task_measures(own_task_scores([Run(tmp_path, data, results)]))
    assert {measure.name for measure in measures} == {"upernet-miou other", "patch-linear-miou"}
    assert all(measure.values["mine"] == pytest.approx(np.log(0.404 / 0.596)) for measure in measures)


def test_depths_are_in_metres() -> None:
    page = made(probed("rooms", "depth"))
    [table] = dense_tables(page)
    assert [column.title for column in table.columns[1:]] == ["RMSE (m)", "δ₁ (%)"]
    assert [cell.text for cell in table.rows[0].cells[1:]] == ["0.75", "80.00"]


def test_bars_are_of_classes_that_are_there_the_best_first() -> None:
    page = made(probed("own", "classes", [0.25, None, 0.75], classes=["sky", "unicorn", "road"]))
    section = section_of(page, "dense-own")
    [figure] = section.figures
    assert [text for _, text in figure.x_ticks] == ["road", "sky"]
    assert figure.series[0].mode == "bars"
    assert list(figure.series[0].y) == [75, 25]
    classes = section.tables[-1]
    assert [[cell.text for cell in row.cells] for row in classes.rows] == [
        ["sky", "25.00"], ["unicorn", "–"], ["road", "75.00"],
    ]  # fmt: skip


def test_of_many_classes_the_best_and_the_worst_are_drawn() -> None:
    [figure] = section_of(made(trained("upernet")), "dense-ade20k").figures
    assert len(figure.x_ticks) == dense.MOST_BARS
    assert figure.series[0].y[0] == pytest.approx(14.9)
    assert figure.series[0].y[-1] == 0


def write_pictures(folder: Path, count: int, *, noise: bool) -> Path:
    folder.mkdir(parents=True)
    draw = np.random.default_rng(0)
    for number in range(count):
        pixels = draw.integers(0, 256, (160, 488, 3)) if noise else np.full((160, 488, 3), number)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / picture_name(number, count))
    return folder


def test_pictures_are_in_the_page_with_what_they_are(tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / PICTURES / "patch-own", 6, noise=False)
    (folder / "1-best.png").write_bytes(b"damaged")
    page = made(probed("own", "classes", [0.5]), folder=tmp_path)
    section = section_of(page, "dense-own")
    [gallery] = section.galleries
    lines = [picture.lines[0] for picture in gallery.pictures]
    assert lines == ["best test image 1", "best test image 3", *(f"worst test image {n}" for n in (3, 2, 1))]
    assert "three panels" in section.note
    html = page_html(task_page(page))
    assert html.count("data:image/png;base64,") == 5


def test_the_middle_one_of_few_pictures_is_neither_best_nor_worst(tmp_path: Path) -> None:
    for count, expected in (
        (1, ["test image 1"]),
        (3, ["best test image 1", "middle test image", "worst test image 1"]),
    ):
        write_pictures(tmp_path / f"{count}" / PICTURES / "patch-own", count, noise=False)
        page = made(probed("own", "classes", [0.5]), folder=tmp_path / f"{count}")
        [gallery] = section_of(page, "dense-own").galleries
        assert [picture.lines[0] for picture in gallery.pictures] == expected


def test_pictures_have_their_scores_and_a_legend_of_the_classes_they_show(tmp_path: Path) -> None:
    write_pictures(tmp_path / PICTURES / "patch-own", 2, noise=False)
    known = [{"file": picture_name(n, 2), "score": 0.5 - n / 4, "classes": [0, 2 + n]} for n in (0, 1)]
    names = ["sky", "unicorn", "road", "<car>"]
    page = made(probed("own", "classes", [0.5] * 4, classes=names, pictures=known), folder=tmp_path)
    [gallery] = section_of(page, "dense-own").galleries
    assert [picture.lines[1] for picture in gallery.pictures] == ["mIoU 50.00%", "mIoU 25.00%"]
    assert [name for _, name in gallery.colours] == ["sky", "road", "<car>"]
    html = page_html(task_page(page))
    assert html.count('<span style="background: #') == 3
    assert "&lt;car&gt;" in html
    damaged = probed("own", "classes", [0.5] * 4, classes=names, pictures=[{"file": 3}])
    with pytest.raises(UserError, match=r"patch-own\.json"):
        made(damaged, folder=tmp_path)


def test_detections_say_from_which_score_they_are_drawn(tmp_path: Path) -> None:
    result = trained("detector-frozen")
    write_pictures(tmp_path / PICTURES / result.key, 1, noise=False)
    for more, text in (({}, "0.500 on"), ({"drawn_from": 0.065, "pictures": []}, "0.065 on")):
        [fit] = result.fits
        kept = fits_kept([replace(fit, details={**fit.details, **more})])
        page = made(replace(result, values=kept), folder=tmp_path)
        [gallery] = section_of(page, "dense-voc-detection").galleries
        assert text in gallery.title
        assert len(gallery.colours) == 20


def test_pictures_of_earlier_versions_are_neither_best_nor_worst(tmp_path: Path) -> None:
    folder = write_pictures(tmp_path / PICTURES / "patch-own", 4, noise=False)
    for place, path in enumerate(sorted(folder.iterdir())):
        path.rename(folder / f"{place}.png")
    [gallery] = section_of(made(probed("own", "classes", [0.5]), folder=tmp_path), "dense-own").galleries
    assert [picture.lines[0] for picture in gallery.pictures] == [f"test image {n}" for n in (1, 2, 3, 4)]


def test_pictures_of_a_page_have_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_pictures(tmp_path / PICTURES / "patch-own", 6, noise=True)
    page = made(probed("own", "classes", [0.5]), folder=tmp_path)
    [gallery] = section_of(page, "dense-own").galleries
    assert {picture.kind for picture in gallery.pictures} == {"jpeg"}  # photographs are smaller so
    sizes = [len(picture.content) for picture in gallery.pictures]
    with Image.open(BytesIO(gallery.pictures[0].content)) as image:
        assert image.size == (488, 160)
    monkeypatch.setattr(dense, "MOST_BYTES", sum(sorted(sizes)[-2:]))
    [gallery] = section_of(page, "dense-own").galleries
    # Where not all fit, the best and the worst remain, and the page says where the others are.
    assert [picture.lines[0] for picture in gallery.pictures] == ["best test image 1", "worst test image 1"]
    assert str(folder) in gallery.title
