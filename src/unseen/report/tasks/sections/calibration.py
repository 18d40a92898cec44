"""Calibration: reliability diagrams and expected calibration errors."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from statistics import fmean

from unseen.analyses.tasks.data import OTHER
from unseen.papers.transfer import ECE, SCALED_ECE, task_setting
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import (
    NONE_BOLD,
    fit_name,
    fit_title,
    reliability_figure,
    reliability_lines,
    temperature_sentences,
    tuned_name,
    tuned_title,
)
from unseen.report.tasks.tables import calibration_settings, score_tables
from unseen.runs.score import Score
from unseen.runs.seed_means import seeds_text


def build(page: TaskPage) -> Section | None:
    """Reliability diagrams, before and after temperature scaling."""
    figures = []
    for fit in page.fits:
        if fit.before is None or fit.after is None:
            continue
        figures.append(reliability_figure(fit_title(page, fit), reliability_lines(fit.before, fit.after, "as fitted")))
    figures += [
        reliability_figure(
            f"{tuned_title(page, each)}, fine-tuned", reliability_lines(each.before, each.after, "as trained")
        )
        for each in page.tuned if each.before and each.after
    ]  # fmt: skip
    settings = calibration_settings(page)
    if not any(task_setting(s) in settings and s.domain and not s.published for s in page.scores):
        return None
    note = (
        "Test images in 15 bins of confidence. Below the dotted line a classifier is overconfident, above it "
        "underconfident. The expected calibration error is the mean distance from the line, weighted by the number of "
        "images. Published errors are means over the paper's ten data sets; for those after scaling, the paper fitted "
        "temperatures to test images. The temperature of a fine-tuned network is fitted on validation images before "
        "the network is trained on them."
    )
    tables = score_tables(page, settings)
    sentences = list(_calibration_sentences(page))
    return Section("calibration", "Calibration", sentences, figures, f"{note} {NONE_BOLD}", tables)


def _calibration_sentences(page: TaskPage) -> Iterator[str]:
    others = {dataset.name for dataset in page.datasets if dataset.family == OTHER}
    found = defaultdict[tuple[str, str, bool], list[Score]](list)
    for s in page.scores:
        if s.domain:
            found[s.backbone, task_setting(s), s.domain in others].append(s)
    for name, other in product(page.backbones, (False, True)):
        errors = {setting: found[name, setting, other] for setting in (ECE, SCALED_ECE)}
        if errors[ECE]:
            before, after = (100 * fmean(score.value for score in of) for of in errors.values())
            sets = f"data set{'s' if len(errors[ECE]) > 1 else ''}"
            whose = f"{sets} outside the paper" if other else "of the paper's data sets"
            seeds = seeds_text(errors[ECE])
            of = f"{len(errors[ECE])} {whose}{f' and {seeds}' if seeds else ''}"
            yield f"{name}: expected calibration error {before:.2f}% over {of}, {after:.2f}% after scaling."
    without = [fit_name(page, fit) for fit in page.fits if fit.unbounded]
    without += [f"{tuned_name(page, each)}, fine-tuned" for each in page.tuned if each.unbounded]
    yield from temperature_sentences(without)


SECTION = PageSection("tasks", 30, build)
