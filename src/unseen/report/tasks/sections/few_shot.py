"""Few-shot: accuracy by number of shots, one figure per data set."""

from collections.abc import Sequence

from unseen.analyses.tasks.imagenet import SHOTS
from unseen.papers.transfer import CENTROIDS, LINEAR, few_shot_setting, task_setting
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import GREY_ROWS, PUBLISHED, SELF_SUPERVISED, fit_sentences
from unseen.report.tasks.tables import few_shot_settings, score_tables
from unseen.runs.score import Score
from unseen.runs.seed_means import deviation, seeds_text

FITTED = (
    "Probes other than the nearest centroid are fitted to that many training images per class, which the seed draws, "
    "and scored on all test images; their scores are not bold either."
)


def build(page: TaskPage) -> Section | None:
    """Accuracy by number of shots, one plot per data set, with the paper's models in the background."""
    tables = score_tables(page, few_shot_settings(page))
    if not tables:
        return None
    scores = [score for score in page.scores if score.shots is not None and score.probe == CENTROIDS]
    numbers = sorted({*SHOTS, *(score.shots for score in scores if score.shots is not None)})
    figures = []
    for dataset in page.datasets:
        here = [score for score in scores if score.domain == dataset.name]
        own = [_shots_line(here, numbers, name) for name in page.backbones]
        if not any(own):
            continue
        models = dict.fromkeys(score.backbone for score in here if score.published)
        others = []
        for model in models:
            group, colour = PUBLISHED.get(model, SELF_SUPERVISED)
            others.append(_shots_line([s for s in here if s.published], numbers, model, colour, group))
        ticks = tuple((float(place), str(shots)) for place, shots in enumerate(numbers))
        lines = [line for line in (*others, *own) if line]
        figures.append(Figure(dataset.title, "Shots", "Accuracy (%)", lines, ticks))
    fitted = any(few_shot_setting(setting) for setting in few_shot_settings(page))
    drawn = [score for score in scores if not score.published]
    note = " ".join([*([_episodes(drawn)] if drawn else []), *([FITTED] if fitted else []), GREY_ROWS])
    many = any(task_setting(score) == LINEAR and not score.published for score in page.scores)
    sentences = [*page.notes, *([] if many else fit_sentences(page))]  # the section before has them otherwise
    return Section("few-shot", "Few-shot", sentences, figures, note, tables)


def _episodes(own: Sequence[Score]) -> str:
    """What the scores of episodes are, and what their intervals mean."""
    bars = "Error bars show the standard deviation over seeds." if seeds_text(own) else "Error bars show this interval."
    return (
        "Nearest-centroid classification of unnormalized features: 600 episodes of 5 classes with 15 query images "
        "each, drawn from all splits. The 95% interval of a score is over episodes and does not cover the choice of "
        f"the images that they are drawn from, so that no score is bold. {bars} Published scores: the paper's Tables "
        "2, 3 and 6 to 8."
    )


def _shots_line(
    scores: Sequence[Score], numbers: Sequence[int], backbone: str, colour: int | None = None, group: str = ""
) -> Series | None:
    """The line of a published model, in its group, or of a backbone of the run, with error bars."""
    strong = not group
    by_shots = {score.shots: score for score in scores if score.backbone == backbone}
    known = [(float(place), by_shots[shots]) for place, shots in enumerate(numbers) if shots in by_shots]
    if not known:
        return None
    halves = [_half(score) for _, score in known]
    return Series(
        backbone, [place for place, _ in known], [100 * score.value for _, score in known], colour, group,
        strong=strong, backbone=backbone if strong else "",
        low=[100 * (s.value - half) for (_, s), half in zip(known, halves, strict=True)] if strong else (),
        high=[100 * (s.value + half) for (_, s), half in zip(known, halves, strict=True)] if strong else (),
        hover=[
            f"{backbone}, {s.shots}-shot: {100 * s.value:.2f} ± {100 * half:.2f}%"
            for (_, s), half in zip(known, halves, strict=True)
        ],
    )  # fmt: skip


def _half(score: Score) -> float:
    """Half the length of an error bar: the deviation over several seeds, otherwise the interval over episodes."""
    spread = deviation(score)
    return (score.half_width or 0.0) if spread is None else spread


SECTION = PageSection("tasks", 20, build)
