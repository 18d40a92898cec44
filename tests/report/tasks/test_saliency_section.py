"""Attention maps on the page of tasks: boxes over images, the paper's models, pictures."""

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unseen.data.core.dense.pictures import overlay
from unseen.papers.transfer import imagenet_score, imagenet_top1, published_task_scores
from unseen.probes.single_images import Measured
from unseen.report.core.model import Section
from unseen.report.core.render import page_html
from unseen.report.core.static import static_bytes
from unseen.report.tasks import image_parts
from unseen.report.tasks.image_data import ImageResult
from unseen.report.tasks.image_parts import image_tables
from unseen.report.tasks.page import task_page
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.sections.saliency import build
from unseen.studies.kept_images import keep

VALUES = {"a": [0.4, 0.5, 0.3], "b": [0.45, 0.55, 0.5]}


@pytest.fixture
def page(tmp_path: Path) -> TaskPage:
    results = []
    for name, values in VALUES.items():
        for place, value in enumerate(values):
            image = np.full((30, 30, 3), 40 * place, np.uint8)
            attention = np.arange(900, dtype=np.float32).reshape(30, 30)
            keep(tmp_path / name, place, image, Measured({"diffusion": value}, {"map": attention}))
        ids, protocol = ["x.png", "y.png", "z.png"], {"name": "saliency-8-4", "mask": 8, "stride": 4}
        means = {"diffusion": float(np.mean(values))}
        results.append(
            ImageResult(
                name, "saliency", protocol, "photographs (3 images)", "photographs, 3 images", ids,
                {"diffusion": values}, means, "single", tmp_path / name,
            )
        )  # fmt: skip
    scores = [*published_task_scores(), *imagenet_top1(), imagenet_score("a", 0.7)]
    return TaskPage("Tasks", "saliency-8-4", ["a", "b"], [], scores, [], [], [], {}, by_image=results)


def section(page: TaskPage) -> Section:
    found = build(page)
    assert found is not None
    return found


def test_boxes_stand_beside_the_means_of_the_papers_models(page: TaskPage) -> None:
    boxes, beside = section(page).figures
    own = [series for series in boxes.series if series.mode == "box"]
    assert {series.backbone: list(series.y) for series in own} == {
        "a": pytest.approx([40, 50, 30]),
        "b": pytest.approx([45, 55, 50]),
    }
    marks = {series.name: series for series in boxes.series if series.mode == "markers"}
    assert marks["supervised (paper)"].y == pytest.approx([43.88])
    assert len(marks["self-supervised (paper)"].y) == 13
    assert [text for _, text in boxes.x_ticks] == ["a", "b", image_parts.PAPER]
    assert not boxes.is_single_points
    assert [series.backbone for series in beside.series if series.strong] == ["a"]  # b has no accuracy on ImageNet
    assert static_bytes(boxes, "png").startswith(b"\x89PNG")


def test_what_is_said_first_and_the_table(page: TaskPage) -> None:
    found = section(page)
    assert "b has the widest attention, with 50.00%" in found.sentences[0]
    [table] = found.tables
    assert [cell.text for cell in table.rows[0].cells] == ["a", "3", "40.00", "30.00 to 50.00"]
    assert [row.style for row in table.rows].count("published") == 14
    assert "8/4" in table.caption
    assert "its own images and with its grid of 10/1" in table.caption
    assert [each.name for each in image_tables(page)] == ["saliency"]


def test_every_image_has_a_picture_with_a_panel_for_each_backbone(
    page: TaskPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    [gallery] = section(page).galleries
    assert [picture.lines[0] for picture in gallery.pictures] == ["x.png", "y.png", "z.png"]
    assert gallery.pictures[1].lines[1] == "a 50.00%, b 55.00%"
    assert gallery.title.endswith("with attentive diffusion")
    with Image.open(BytesIO(gallery.pictures[0].content)) as picture:
        assert picture.size == (3 * image_parts.PANEL + 8, image_parts.PANEL)
    monkeypatch.setattr(image_parts, "MOST_BYTES", len(gallery.pictures[0].content) + 10)
    [gallery] = section(page).galleries
    assert len(gallery.pictures) == 1
    assert "2 more in" in gallery.title
    assert gallery.panels == 3
    html = page_html(task_page(page))
    assert html.count("data:image/jpeg;base64,") == 1
    assert "3 images" in html


def test_a_map_goes_from_its_lowest_to_its_highest_value() -> None:
    image = np.zeros((2, 2, 3), np.uint8)
    found = overlay(image, np.array([[0.1, 0.2], [0.2, 0.5]])).sum(axis=2, dtype=int)
    assert found[0, 0] < found[0, 1] == found[1, 0] < found[1, 1]
    assert (overlay(image, np.ones((2, 2))) == overlay(image, np.zeros((2, 2)))).all()


def test_without_maps_there_is_no_section() -> None:
    assert build(TaskPage("Tasks", "", ["a"], [], [], [], [], [], {})) is None
