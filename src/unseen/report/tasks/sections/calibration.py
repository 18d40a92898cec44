"""Calibration: reliability diagrams and expected calibration errors."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product

from unseen.analyses.tasks.data import OTHER
from unseen.papers.transfer import ECE, FINETUNED_ECE, FINETUNED_SCALED_ECE, SCALED_ECE, task_setting
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import (
    NONE_BOLD,
    reliability_figure,
    reliability_lines,
    temperature_sentences,
    tuned_title,
)
from unseen.report.tasks.tables import score_tables

CALIBRATIONS = {ECE, SCALED_ECE, FINETUNED_ECE, FINETUNED_SCALED_ECE}


def build(page: TaskPage) -> Section | None:
    """Reliability diagrams, before and after temperature scaling."""
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    figures = []
    for fit in page.fits:
        if fit.before is None or fit.after is None:
            continue
        title = titles[fit.dataset] if len(page.backbones) == 1 else f"{titles[fit.dataset]}, {fit.backbone}"
        figures.append(reliability_figure(title, reliability_lines(fit.before, fit.after, "as fitted")))
    figures += [
        reliability_figure(
            f"{tuned_title(page, each)}, fine-tuned", reliability_lines(each.before, each.after, "as trained")
        )
        for each in page.tuned if each.before and each.after
    ]  # fmt: skip
    if not any(task_setting(s) in CALIBRATIONS and s.domain and not s.published for s in page.scores):
        return None
    note = (
        "Test images in 15 bins of confidence. Below the dotted line a classifier is overconfident, above it "
        "underconfident. The expected calibration error is the mean distance from the line, weighted by the number of "
        "images. Published errors are means over the paper's ten data sets; for those after scaling, the paper fitted "
        "temperatures to test images. The temperature of a fine-tuned network is fitted on validation images before "
        "the network is trained on them."
    )
    tables = score_tables(page, (ECE, SCALED_ECE, FINETUNED_ECE, FINETUNED_SCALED_ECE))
    sentences = list(_calibration_sentences(page))
    return Section("calibration", "Calibration", sentences, figures, f"{note} {NONE_BOLD}", tables)


def _calibration_sentences(page: TaskPage) -> Iterator[str]:
    others = {dataset.name for dataset in page.datasets if dataset.family == OTHER}
    found = defaultdict[tuple[str, str, bool], list[float]](list)
    for s in page.scores:
        if s.domain:
            found[s.backbone, task_setting(s), s.domain in others].append(s.value)
    for name, other in product(page.backbones, (False, True)):
        errors = {setting: found[name, setting, other] for setting in (ECE, SCALED_ECE)}
        if errors[ECE]:
            before, after = (100 * sum(of) / len(of) for of in errors.values())
            sets = f"data set{'s' if len(errors[ECE]) > 1 else ''}"
            whose = f"{sets} outside the paper" if other else "of the paper's data sets"
            of = f"{len(errors[ECE])} {whose}"
            yield f"{name}: expected calibration error {before:.2f}% over {of}, {after:.2f}% after scaling."
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    without = [f"{fit.backbone} on {titles[fit.dataset]}" for fit in page.fits if fit.unbounded]
    without += [f"{each.backbone}, fine-tuned, on {each.title}" for each in page.tuned if each.unbounded]
    yield from temperature_sentences(without)


SECTION = PageSection("tasks", 30, build)
