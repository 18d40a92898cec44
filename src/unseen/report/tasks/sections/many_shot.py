"""Many-shot: linear probes and fine-tuning by data set."""

from unseen.analyses.tasks.scores import by_key
from unseen.metrics.leaders import METHOD, RULE
from unseen.papers.transfer import FINETUNED, LINEAR, task_setting
from unseen.report.core.discover import PageSection
from unseen.report.core.metric_words import metric_words
from unseen.report.core.model import Figure, Section, Series
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import GREY_ROWS, fit_sentences
from unseen.report.tasks.tables import few_shot_settings, score_tables

MANY_SHOT = {LINEAR: "", FINETUNED: ", fine-tuned"}
"""Suffix of the name of a backbone in figures."""


def build(page: TaskPage) -> Section | None:
    """Scores of linear probes and of fine-tuning by data set, with notes on their fits."""
    wanted = (score for score in page.scores if not score.published and task_setting(score) in MANY_SHOT)
    scores = by_key(wanted, lambda score: (score.backbone, score.domain, task_setting(score)))
    own = {name for _, name, _ in scores}
    places = [dataset for dataset in page.datasets if dataset.name in own]
    if not places:
        return None
    series = []
    for variant, (setting, added) in enumerate(MANY_SHOT.items()):
        for name in page.backbones:
            found = [scores.get((name, dataset.name, setting)) for dataset in places]
            if any(found):
                series.append(
                    Series(
                        f"{name}{added}", list(map(float, range(len(places)))),
                        [100 * s.value if s else None for s in found], strong=True, mode="markers", backbone=name,
                        variant=variant,
                        hover=[
                            f"{name}{added}, {dataset.title}: {100 * s.value:.2f}% {metric_words(s.metric)}"
                            if s
                            else ""
                            for dataset, s in zip(places, found, strict=True)
                        ],
                    )
                )  # fmt: skip
    ticks = tuple((float(place), dataset.title) for place, dataset in enumerate(places))
    figure = Figure("", "", "Test score (%)", series, ticks, x_range=(-0.5, len(places) - 0.5))
    note = (
        "Scores are top-1 accuracy, mean per-class accuracy or 11-point mean average precision, as usual for each data "
        "set. Linear probe: logistic regression on unnormalized features, with the best of 45 ℓ2 constants on "
        "validation data, fitted again to training and validation data. Fine-tuned: the whole network is trained with "
        "the best setting of a grid on validation data. Published scores are those of the paper's Table 1. "
        f"A top-1 accuracy is bold if {RULE}: {METHOD}. Scores by other metrics are never bold: their differences have "
        "no intervals."
    )
    alone = () if few_shot_settings(page) else page.notes
    sentences = [*fit_sentences(page), *alone]
    tables = score_tables(page, (LINEAR, FINETUNED))
    figures = [figure] if len(places) > 1 else []  # the tables have the scores on a single data set
    return Section("many-shot", "Many-shot", sentences, figures, f"{note} {GREY_ROWS}", tables)


SECTION = PageSection("tasks", 10, build)
