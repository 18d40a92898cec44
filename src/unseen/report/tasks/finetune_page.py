"""The page of fine-tuning in the task study: scores, what was tried and chosen, and calibration."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from unseen.files import atomic_write
from unseen.papers import TABLES
from unseen.papers.transfer import FINETUNED_ECE, FINETUNED_SCALED_ECE, SOURCE, task_setting
from unseen.report.concepts.rows import METRICS
from unseen.report.core.render import render
from unseen.report.core.sections import Plot, Section, Series
from unseen.report.tasks.page import SCRIPTS, SHEETS
from unseen.report.tasks.sections import temperature_sentences
from unseen.report.tasks.tables import Cell, Row, Table, best_two
from unseen.studies.tasks.finetune_data import FinetunePage, Tried, Tuned
from unseen.words import duration

AUGMENTS = {"crop+flip": "random crop and flip", "centre": "centre crop"}
CALIBRATIONS = {FINETUNED_ECE: "as trained", FINETUNED_SCALED_ECE: "after temperature scaling"}
BESIDE = 0.08
"""How far apart on the axis of rates the markers of one rate are, so that equal scores do not hide each other."""


def write_finetune_page(page: FinetunePage, path: Path) -> None:
    """Write the page; the same data give the same bytes. Names from the data are only ever text in it."""
    sections = finetune_sections(page)
    content = render(
        "tasks.html.j2",
        sheets=SHEETS,
        scripts=SCRIPTS,
        filters={"duration": duration},
        values={
            "page": page,
            "sections": sections,
            "tables": finetune_tables(page),
            "radars": (),
            "findings": findings(page),
            "source": TABLES[SOURCE],
            "payload": {"rows": [], "sections": [asdict(section) for section in sections], "radars": []},
        },
    )
    with atomic_write(path) as file:
        file.write(content.encode(errors="replace"))


def findings(page: FinetunePage) -> list[str]:
    """The score of each backbone on each data set, in words."""
    return [
        f"{each.backbone}, fine-tuned on {each.title}: {100 * each.scores[0].value:.2f}% "
        f"{METRICS.get(each.metric, each.metric)}."
        for each in page.tuned
    ]


def finetune_sections(page: FinetunePage) -> list[Section]:
    """What was tried on each data set; reliability diagrams where images have one class."""
    grid = Section(
        "fine-tuning", "Fine-tuning", list(_edge_sentences(page)), [_grid_plot(page, each) for each in page.tuned],
        "Score on validation images of every setting that was tried: by learning rate, the colour says how images were "
        "augmented, and for each the weight decay grows from left to right. The star is what was trained again, on "
        "training and validation images, and scored on test images.",
    )  # fmt: skip
    plots = [_reliability_plot(page, each) for each in page.tuned if each.before and each.after]
    if not plots:
        return [grid]
    note = (
        "Test images in 15 bins by the confidence of their prediction. The temperature is fitted to the validation "
        "images by the network that was chosen, before it was trained on them. Published errors are means over ten "
        "data sets."
    )
    without = [f"{each.title} ({each.backbone})" for each in page.tuned if each.unbounded]
    return [grid, Section("fine-tuned-calibration", "Calibration", temperature_sentences(without), plots, note)]


def _edge_sentences(page: FinetunePage) -> Iterator[str]:
    for each in page.tuned:
        best, of = each.tried[each.chosen], f"{each.title} ({each.backbone})"
        yield f"{of}: {_setting(best)}; {100 * (best.value or 0):.2f}% on validation images."
        for better in (each.tried[place] for place in each.passed_over):
            yield (
                f"{of}: {_setting(better)}, with {100 * (better.value or 0):.2f}% the better choice, was passed over: "
                f"it diverged when it was trained again, on training and validation images."
            )
        if each.edges:
            yield f"{of}: the setting is at an end of the grid ({', '.join(each.edges)}); one beyond may be better."
        diverged = sum(tried.value is None for tried in each.tried)
        if diverged:
            yield f"{of}: {diverged} of {len(each.tried)} settings diverged."


def _setting(tried: Tried) -> str:
    return f"rate {tried.rate:g}, decay {tried.decay:g} divided by the rate, {AUGMENTS[tried.augment]}"


def _grid_plot(page: FinetunePage, each: Tuned) -> Plot:
    rates = sorted({tried.rate for tried in each.tried})
    decays = sorted({tried.decay for tried in each.tried})

    def place(tried: Tried) -> float:
        return rates.index(tried.rate) + BESIDE * (decays.index(tried.decay) - (len(decays) - 1) / 2)

    series = []
    best = each.tried[each.chosen]
    others = [tried for tried in each.tried if tried is not best and tried.value is not None]
    for colour, (augment, words) in enumerate(AUGMENTS.items()):
        here = [tried for tried in others if tried.augment == augment]
        if here:
            series.append(
                Series(
                    words, [place(tried) for tried in here], [100 * (tried.value or 0) for tried in here], colour,
                    strong=True, mode="markers", hover=[_hover(tried) for tried in here],
                )
            )  # fmt: skip
    series.append(
        Series(
            "chosen", [place(best)], [100 * (best.value or 0)], list(AUGMENTS).index(best.augment), strong=True,
            mode="markers", symbol="star", hover=[f"chosen: {_hover(best)}"],
        )
    )  # fmt: skip
    ticks = tuple((float(number), f"{rate:g}") for number, rate in enumerate(rates))
    return Plot(_title(page, each), "Learning rate", "Validation score (%)", series, ticks)


def _hover(tried: Tried) -> str:
    return (
        f"rate {tried.rate:g}, decay {tried.decay:g} / rate, {AUGMENTS[tried.augment]}: {100 * (tried.value or 0):.2f}%"
    )


def _title(page: FinetunePage, each: Tuned) -> str:
    return each.title if len(page.backbones) == 1 else f"{each.title}, {each.backbone}"


def _reliability_plot(page: FinetunePage, each: Tuned) -> Plot:
    lines = [Series("perfect", [0, 100], [0, 100], mode="lines", dash="dot")]
    for (name, dash, colour), bins in zip(
        (("as trained", "dash", 1), ("scaled", "solid", 0)), (each.before, each.after), strict=True
    ):
        filled = [
            (100 * sure, 100 * right)
            for sure, right in zip(bins.confidence, bins.accuracy, strict=True)
            if sure is not None and right is not None
        ] if bins else []  # fmt: skip
        lines.append(
            Series(name, [sure for sure, _ in filled], [right for _, right in filled], colour, strong=True, dash=dash)
        )
    return Plot(_title(page, each), "Confidence (%)", "Accuracy (%)", lines)


def finetune_tables(page: FinetunePage) -> list[Table]:
    """Test scores by data set; calibration errors, with the published means beside them."""
    score = {(each.backbone, each.title): each.scores[0].value for each in page.tuned}
    marks = {
        (name, title): mark
        for title in page.datasets
        for name, mark in best_two({n: score[n, title] for n in page.backbones if (n, title) in score}).items()
    }
    rows = [
        Row(name, [_cell(score.get((name, title)), marks.get((name, title), "")) for title in page.datasets])
        for name in page.backbones
    ]
    tables = [Table("fine-tuning", "Fine-tuned, each data set's own metric, percent", page.datasets, rows)]
    return [*tables, *(_calibration_table(page, setting, words) for setting, words in CALIBRATIONS.items())]


def _calibration_table(page: FinetunePage, setting: str, words: str) -> Table:
    found = {
        (each.backbone, each.title): s.value for each in page.tuned for s in each.scores if task_setting(s) == setting
    }
    own = {s.backbone: s.value for s in page.means if task_setting(s) == setting}
    printed = [s for s in page.published if task_setting(s) == setting]
    over_ten = ["mean of the paper's ten"] if own or printed else []
    rows = [
        Row(
            name,
            [*(_cell(found.get((name, title))) for title in page.datasets), *(_cell(own.get(name)) for _ in over_ten)],
        )
        for name in page.backbones
    ]
    rows += [Row(s.backbone, [*(Cell() for _ in page.datasets), _cell(s.value)], published=True) for s in printed]
    caption = f"Expected calibration error in percent, {words}"
    return Table("fine-tuned-calibration", caption, [*page.datasets, *over_ten], rows)


def _cell(value: float | None, mark: str = "") -> Cell:
    return Cell() if value is None else Cell(f"{100 * value:.2f}", mark)
