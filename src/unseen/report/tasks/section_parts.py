"""Parts shared by the sections of the task page: the paper's groups of models, and reliability diagrams."""

from collections.abc import Sequence

from unseen.report.core.model import Figure, Series
from unseen.report.tasks.page_data import Bins, TaskPage, Tuned
from unseen.text.words import joined

PUBLISHED = {"Supervised": ("supervised (paper)", 4)}
SELF_SUPERVISED = ("self-supervised (paper)", 1)
FRAME = 3
"""Percents that a reliability diagram shows beyond its ends."""
GREY_ROWS = "Grey rows are published models."
NONE_BOLD = f"No score is marked as the best, because differences have no interval here. {GREY_ROWS}"


def reliability_lines(before: Bins, after: Bins, first: str) -> list[Series]:
    """A reliability diagram before and after temperature scaling, in percent; `first` names the line before scaling."""
    return [
        Series("perfect", [0, 100], [0, 100], mode="lines", dash="dot"),
        _reliability(first, before, 1, "dash"),
        _reliability("scaled", after, 0, "solid"),
    ]


def reliability_figure(title: str, lines: Sequence[Series]) -> Figure:
    """The figure of a reliability diagram; both axes go from 0 to 100%, so that panels compare."""
    return Figure(
        title, "Confidence (%)", "Accuracy (%)", lines, x_range=(-FRAME, 100 + FRAME), y_range=(-FRAME, 100 + FRAME)
    )


def _reliability(name: str, bins: Bins, colour: int, dash: str) -> Series:
    filled = [
        (100 * sure, 100 * right, count)
        for sure, right, count in zip(bins.confidence, bins.accuracy, bins.counts, strict=True)
        if sure is not None and right is not None
    ]
    return Series(
        name, [sure for sure, _, _ in filled], [right for _, right, _ in filled], colour, strong=True, dash=dash,
        hover=[
            f"{name}: {count:,} images, confidence {sure:.1f}%, accuracy {right:.1f}%" for sure, right, count in filled
        ],
    )  # fmt: skip


def temperature_sentences(without: Sequence[str]) -> list[str]:
    """A note on fits with a temperature at the end of its range."""
    if not without:
        return []
    return [
        f"There is no best temperature for {joined(without)}: the images that it is fitted to are all predicted "
        "correctly, or no better than by chance. Read the errors after scaling with care there."
    ]


def tuned_title(page: TaskPage, each: Tuned) -> str:
    """The data set of a fine-tuned backbone, and the backbone if there are several."""
    return each.title if len(page.backbones) == 1 else f"{each.title}, {each.backbone}"
