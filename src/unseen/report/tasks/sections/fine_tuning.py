"""Fine-tuning: the settings that were tried on each data set, and the one that was chosen."""

from collections.abc import Iterator

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Cell, Column, Figure, Row, Section, Series, Table
from unseen.report.tasks.page_data import TaskPage, Tried, Tuned
from unseen.report.tasks.section_parts import tuned_name, tuned_title

AUGMENTS = {"crop+flip": "random crop and flip", "centre": "centre crop"}
BESIDE = 0.08
"""Distance between markers of one learning rate, so that equal scores do not hide each other."""


def build(page: TaskPage) -> Section | None:
    """One figure per data set and backbone: the validation score of every setting."""
    note = (
        "Validation score of every setting that was tried, by learning rate. The colour shows the augmentation; at "
        "each learning rate, weight decay grows from left to right. The star marks the setting that was trained again "
        "on training and validation images and scored on test images."
    )
    if not page.tuned:
        return None
    figures = [_grid_figure(page, each) for each in page.tuned]
    return Section("fine-tuning", "Fine-tuning", list(_edge_sentences(page)), figures, note, [_chosen(page)])


def _chosen(page: TaskPage) -> Table:
    """The setting that was trained again for each backbone and data set."""
    rows = []
    seeds = len({each.seed for each in page.tuned}) > 1
    for each in page.tuned:
        best = each.tried[each.chosen]
        validation, test = best.value or 0, each.scores[0].value
        rows.append(
            Row([
                Cell(each.title), Cell(each.backbone), *([Cell(str(each.seed), (each.seed,))] if seeds else []),
                Cell(f"{best.rate:g}", (best.rate,)),
                Cell(f"{best.decay:g}", (best.decay,)), Cell(AUGMENTS[best.augment]),
                Cell(f"{100 * validation:.2f}", (validation,)), Cell(f"{100 * test:.2f}", (test,)),
            ])
        )  # fmt: skip
    columns = [
        Column("Data set", number=False), Column("Backbone", number=False), *([Column("Seed")] if seeds else []),
        Column("Learning rate"), Column("Weight decay × rate"), Column("Augmentation", number=False),
        Column("Validation (%)"), Column("Test (%)"),
    ]  # fmt: skip
    return Table("chosen", columns, rows, "Setting chosen", sortable=len(rows) > 1)


def _edge_sentences(page: TaskPage) -> Iterator[str]:
    for each in page.tuned:
        of = tuned_name(page, each)
        for better in (each.tried[place] for place in each.passed_over):
            yield (
                f"{of}: {_setting(better)} had a better validation score ({100 * (better.value or 0):.2f}%), but "
                "diverged when it was trained again on training and validation images."
            )
        if each.edges:
            yield f"{of}: the setting is at an end of the grid ({', '.join(each.edges)}); one beyond it may be better."
        diverged = sum(tried.value is None for tried in each.tried)
        if diverged:
            yield f"{of}: {diverged} of {len(each.tried)} settings diverged."


def _setting(tried: Tried) -> str:
    return f"rate {tried.rate:g}, decay {tried.decay:g} divided by the rate, {AUGMENTS[tried.augment]}"


def _grid_figure(page: TaskPage, each: Tuned) -> Figure:
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
    return Figure(tuned_title(page, each), "Learning rate", "Validation score (%)", series, ticks)


def _hover(tried: Tried) -> str:
    return (
        f"rate {tried.rate:g}, decay {tried.decay:g} / rate, {AUGMENTS[tried.augment]}: {100 * (tried.value or 0):.2f}%"
    )


SECTION = PageSection("tasks", 15, build)
