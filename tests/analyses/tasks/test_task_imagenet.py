"""Data sets one by one against accuracy on ImageNet, as in the paper's Figs. 5 and 6."""

import pandas as pd
import pytest
import scipy.special
import scipy.stats
from task_scores import task_score

from unseen.analyses.tasks.imagenet import against_imagenet
from unseen.data.registry import DATASETS
from unseen.papers import published
from unseen.papers.transfer import imagenet_top1, published_task_scores
from unseen.report.core.ticks import percent_ticks
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.sections.against_imagenet import build as imagenet_sections
from unseen.runs.score import Score

PRINTED = [*published_task_scores(), *imagenet_top1()]


def page(own: list[Score], backbones: list[str]) -> TaskPage:
    found = against_imagenet([*own, *PRINTED], {})
    return TaskPage("t", "p", backbones, [], [*own, *PRINTED], [], [], [], {}, against_imagenet=found)


OURS = {"food": "food101", "finetune": "finetuned", "nyuv2": "nyuv2-normals"}
DENSE = {
    ("detection-frozen", "AP50"): "detector-frozen-ap50",
    ("detection-finetune", "AP50"): "detector-finetuned-ap50",
    ("normals", "within-11.25"): "psp-within-11.25",
    ("segmentation", "miou"): "upernet-miou",
}


def test_every_printed_data_set_has_its_correlation() -> None:
    found = {(part.setting, part.dataset): part for part in against_imagenet(PRINTED, {})}
    table = published("ericsson-2021")
    table = table[table["dataset"].notna()].replace({"dataset": OURS, "setting": OURS})
    for (setting, metric), ours in DENSE.items():
        rows = (table["setting"] == setting) & (table["metric"] == metric)
        scale = 100 if metric == "miou" else 1
        table.loc[rows] = table.loc[rows].assign(
            setting=ours, metric="accuracy", value=lambda t, s=scale: s * t["value"]
        )
    table = table[table["metric"] == "accuracy"]
    table.loc[table["setting"].str.startswith("detector"), "dataset"] = "voc-detection"
    assert set(found) == set(zip(table["setting"], table["dataset"], strict=True))
    assert len(found) == 11 + 11 + 14 + 14 + 11 + 4
    top1 = pd.Series({score.backbone: score.value for score in imagenet_top1()})
    for (setting, dataset), part in found.items():
        rows = table[(table["setting"] == setting) & (table["dataset"] == dataset)].set_index("model")["value"] / 100
        x, y = scipy.special.logit(top1[rows.index]), scipy.special.logit(rows)
        assert part.published is not None
        assert part.published.pearson.value == pytest.approx(scipy.stats.pearsonr(x, y).statistic)
        assert (part.published.n, part.own) == (14, None)


def test_a_backbone_needs_one_data_set_and_not_a_family() -> None:
    own = [
        task_score("mine", "cifar10", "5-shot", 0.7),
        task_score("mine", "cifar10", "linear", 0.9),
        task_score("mine", "", "imagenet", 0.75),
        task_score("unknown", "cifar10", "linear", 0.9),
    ]
    shown = {
        section.name: [series for figure in section.figures for series in figure.series if series.strong]
        for section in imagenet_sections(page(own, ["mine", "unknown"]))
    }
    assert {name: [series.name for series in stars] for name, stars in shown.items()} == {
        "imagenet-linear": ["mine"],
        "imagenet-5-shot": ["mine"],  # and without 50 shots
    }
    [star] = shown["imagenet-5-shot"]
    assert (star.x[0], star.y[0]) == pytest.approx((scipy.special.logit(0.75), scipy.special.logit(0.7)))


def test_own_backbones_have_their_own_correlations() -> None:
    linear = {"a": (0.60, 0.80), "b": (0.65, 0.86), "c": (0.70, 0.85), "d": (0.75, 0.91)}
    own = [
        score
        for name, (top1, value) in linear.items()
        for score in (
            task_score(name, "", "imagenet", top1),
            task_score(name, "dtd", "linear", value),
        )
    ]
    [section] = [each for each in imagenet_sections(page(own, list(linear))) if each.name == "imagenet-linear"]
    [_, table] = section.tables
    x, y = (scipy.special.logit([pair[place] for pair in linear.values()]) for place in (0, 1))
    [row] = table.rows
    assert row.cells[0].text == DATASETS["dtd"].title
    assert float(row.cells[1].text) == pytest.approx(scipy.stats.pearsonr(x, y).statistic, abs=0.005)


def test_axes_have_percents_whatever_is_shown() -> None:
    assert [text for _, text in percent_ticks(scipy.special.logit([0.944]).tolist())] == ["94.4"]
    assert [text for _, text in percent_ticks(scipy.special.logit([0.61, 0.79]).tolist())] == [
        "60",
        "65",
        "70",
        "75",
        "80",
    ]


def test_a_part_of_a_data_set_has_a_plot_without_published_models() -> None:
    own = [
        task_score("mine", "cifar10 (part: 3)", "5-shot", 0.7),
        task_score("mine", "", "imagenet", 0.75),
    ]
    [part] = against_imagenet(own, {"cifar10 (part: 3)": "CIFAR-10 (part: 3 images per class)"})
    assert (part.setting, part.title) == ("5-shot", "CIFAR-10 (part: 3 images per class)")
    found = against_imagenet([*own, *PRINTED], {"cifar10 (part: 3)": "CIFAR-10 (part: 3 images per class)"})
    [part] = [each for each in found if each.dataset == "cifar10 (part: 3)"]
    assert [(point.backbone, point.published) for point in part.points] == [("mine", False)]
