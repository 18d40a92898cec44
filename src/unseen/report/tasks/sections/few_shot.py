"""Few-shot: accuracy by number of shots, one figure per data set."""

from collections.abc import Sequence

from unseen.analyses.tasks.imagenet import SHOTS
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import GREY_ROWS, PUBLISHED, SELF_SUPERVISED
from unseen.report.tasks.tables import score_tables
from unseen.runs.score import Score


def build(page: TaskPage) -> Section | None:
    """Accuracy by number of shots, one plot per data set, with the paper's models in the background."""
    scores = [score for score in page.scores if score.shots is not None]
    figures = []
    for dataset in page.datasets:
        here = [score for score in scores if score.domain == dataset.name]
        own = [_shots_line(here, name) for name in page.backbones]
        if not any(own):
            continue
        models = dict.fromkeys(score.backbone for score in here if score.published)
        others = []
        for model in models:
            group, colour = PUBLISHED.get(model, SELF_SUPERVISED)
            others.append(_shots_line([s for s in here if s.published], model, colour, group))
        ticks = tuple((float(place), str(shots)) for place, shots in enumerate(SHOTS))
        lines = [line for line in (*others, *own) if line]
        figures.append(Figure(dataset.title, "Shots", "Accuracy (%)", lines, ticks))
    if not figures:
        return None
    note = (
        "Nearest-centroid classification of unnormalized features: 600 episodes of 5 classes with 15 query images "
        "each, drawn from all splits. Intervals are 95% intervals over episodes: they do not cover the choice of the "
        "images that episodes are drawn from, so that no score is marked as the best. Published scores: the paper's "
        "Tables 2, 3 and 6 to 8."
    )
    tables = score_tables(page, [f"{shots}-shot" for shots in SHOTS])
    return Section("few-shot", "Few-shot", list(page.notes), figures, f"{note} {GREY_ROWS}", tables)


def _shots_line(scores: Sequence[Score], backbone: str, colour: int | None = None, group: str = "") -> Series | None:
    """The line of a published model, in its group, or of a backbone of the run, with error bars."""
    strong = not group
    by_shots = {score.shots: score for score in scores if score.backbone == backbone}
    known = [(float(place), by_shots[shots]) for place, shots in enumerate(SHOTS) if shots in by_shots]
    if not known:
        return None
    ends = [
        (100 * (s.value if s.low is None else s.low), 100 * (s.value if s.high is None else s.high)) for _, s in known
    ]
    return Series(
        backbone, [place for place, _ in known], [100 * score.value for _, score in known], colour, group,
        strong=strong, backbone=backbone if strong else "",
        low=[low for low, _ in ends] if strong else (), high=[high for _, high in ends] if strong else (),
        hover=[
            f"{backbone}, {s.shots}-shot: {100 * s.value:.2f} ± {100 * (s.half_width or 0):.2f}%" for _, s in known
        ],
    )  # fmt: skip


SECTION = PageSection("tasks", 20, build)
