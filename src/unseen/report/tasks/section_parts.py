"""Parts shared by the sections of the task page: the paper's groups of models, and reliability diagrams."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

from unseen.data.core.image_files import image_bytes
from unseen.errors import UserError
from unseen.report.core.model import Figure, Picture, Series
from unseen.report.tasks.page_data import Bins, Fit, TaskPage, Tuned
from unseen.text.words import counted, joined

PUBLISHED = {"Supervised": ("supervised (paper)", 4)}
SELF_SUPERVISED = ("self-supervised (paper)", 1)
LARGE = 30_000
"""Pictures above this number of bytes are converted to JPEG."""
QUALITY = 85
FRAME = 3
"""Percents that a reliability diagram shows beyond its ends."""
GREY_ROWS = "Grey rows are published models."
NONE_BOLD = f"No score is bold, because the differences between these scores have no intervals. {GREY_ROWS}"


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
    """The data set of a fine-tuned backbone, and the backbone and the seed if there are several."""
    return f"{each.title}{_backbone(page, each)}{_seed(page.tuned, each)}"


def tuned_name(page: TaskPage, each: Tuned) -> str:
    """`net on Pets`, with the seed if there are several."""
    return f"{each.backbone} on {each.title}{_seed(page.tuned, each)}"


def fit_title(page: TaskPage, fit: Fit) -> str:
    """The data set of a linear probe, and the backbone, the shots and the seed if there are several."""
    return f"{_titles(page)[fit.dataset]}{_backbone(page, fit)}{_shots(fit)}{_seed(page.fits, fit)}"


def fit_name(page: TaskPage, fit: Fit) -> str:
    """`net on Pets`, with the shots if there are few, and the seed if there are several."""
    return f"{fit.backbone} on {_titles(page)[fit.dataset]}{_shots(fit)}{_seed(page.fits, fit)}"


def _titles(page: TaskPage) -> dict[str, str]:
    return {dataset.name: dataset.title for dataset in page.datasets}


def _backbone(page: TaskPage, each: Fit | Tuned) -> str:
    return "" if len(page.backbones) == 1 else f", {each.backbone}"


def _shots(fit: Fit) -> str:
    return "" if fit.shots is None else f", {counted(fit.shots, 'shot')}"


def _seed(every: Sequence[Fit | Tuned], each: Fit | Tuned) -> str:
    return f", seed {each.seed}" if len({other.seed for other in every}) > 1 else ""


def fit_sentences(page: TaskPage) -> Iterator[str]:
    """Notes on constants at an end of the grid, and on fits that did not reach their optimum."""
    for edge in ("weakest", "strongest"):
        at = [fit_name(page, fit) for fit in page.fits if fit.edge == edge]
        if at:
            word = edge.replace("est", "er")
            yield f"The {edge} constant of the grid was chosen for {joined(at)}: a {word} one may be better."
    stopped = [f"{fit.stopped} of {fit_name(page, fit)}" for fit in page.fits if fit.stopped]
    if stopped:
        yield f"Fits that did not reach their optimum: {joined(stopped)}."
    elif page.fits:
        yield "Every scored fit reached its optimum."


def kept_picture(path: Path, caption: Sequence[str]) -> Picture | None:
    """The file unchanged, or as a JPEG if it is large; None for a damaged file."""
    from PIL import Image, UnidentifiedImageError

    try:
        content = image_bytes(path)
        with Image.open(BytesIO(content)) as image:
            if len(content) <= LARGE:
                image.verify()
                return Picture(content, caption)
            smaller = BytesIO()
            image.convert("RGB").save(smaller, format="JPEG", quality=QUALITY)
            return Picture(smaller.getvalue(), caption, "jpeg")
    except (OSError, UserError, UnidentifiedImageError, SyntaxError, ValueError):
        return None
