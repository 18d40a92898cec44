"""Sections of the task study's page: many shots, few shots, calibration, correlations with ImageNet."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

from unseen.metrics.accuracy_scales import expit, logit
from unseen.metrics.correlation import LEAST_DRAWN
from unseen.papers.transfer import (
    ECE,
    FINETUNED,
    FINETUNED_ECE,
    FINETUNED_SCALED_ECE,
    IMAGENET,
    LINEAR,
    SCALED_ECE,
    task_setting,
)
from unseen.report.core.sections import Plot, Section, Series, Ticks
from unseen.report.tasks.tables import minus
from unseen.runs.score import Score
from unseen.studies.tasks.page_data import OTHER, SHOTS, Average, Bins, TaskPage

COLOURS = 8
PUBLISHED = {"Supervised": ("supervised (paper)", 4)}
SELF_SUPERVISED = ("self-supervised (paper)", 1)
PERCENTS = (
    1,
    1.5,
    2,
    3,
    4,
    5,
    6,
    8,
    10,
    12,
    15,
    20,
    25,
    30,
    35,
    40,
    45,
    50,
    55,
    60,
    65,
    70,
    75,
    80,
    85,
    90,
    95,
    98,
    99,
)
MANY_SHOT = {LINEAR: ("", "circle"), FINETUNED: (", fine-tuned", "diamond")}
"""What a backbone's name is followed by in plots, and its symbol."""
CALIBRATIONS = {ECE, SCALED_ECE, FINETUNED_ECE, FINETUNED_SCALED_ECE}
MOST_TICKS = 7
MARGIN = 0.1
"""Logits that a plot shows beyond its points."""


def task_sections(page: TaskPage) -> list[Section]:
    """The sections that the run has numbers for."""
    found = (many_shot_section(page), few_shot_section(page), calibration_section(page), correlation_section(page))
    sections = [section for section in found if section]
    if sections and not any(section.name == "few-shot" for section in sections):
        sections[0] = replace(sections[0], sentences=[*sections[0].sentences, *page.notes])
    return sections


def many_shot_section(page: TaskPage) -> Section | None:
    """Scores of linear probes and of fine-tuning by data set, and what is to be said of their fits."""
    own_scores = {(s.backbone, s.domain, task_setting(s)): s for s in page.scores if not s.published}
    scores = {key: score for key, score in own_scores.items() if key[2] in MANY_SHOT}
    own = {name for _, name, _ in scores}
    places = [dataset for dataset in page.datasets if dataset.name in own]
    if not places:
        return None
    series = []
    for setting, (added, symbol) in MANY_SHOT.items():
        for number, name in enumerate(page.backbones):
            found = [scores.get((name, dataset.name, setting)) for dataset in places]
            if any(found):
                series.append(
                    Series(
                        f"{name}{added}", list(map(float, range(len(places)))),
                        [100 * s.value if s else None for s in found], number % COLOURS, strong=True, mode="markers",
                        symbol=symbol,
                        hover=[
                            f"{name}{added}, {dataset.title}: {100 * s.value:.2f}% {s.metric}" if s else ""
                            for dataset, s in zip(places, found, strict=True)
                        ],
                    )
                )  # fmt: skip
    ticks = tuple((float(place), dataset.title) for place, dataset in enumerate(places))
    plot = Plot("", "", "Test score (%)", series, ticks)
    note = (
        "Scores are top-1, mean per-class accuracy or 11-point mean average precision, as is usual for each data set. "
        "Linear probe: logistic regression on features as they are; the ℓ2 constant is the best of 45 on validation "
        "data, and the fit that is scored is on training and validation data. Fine-tuned: the whole network, trained "
        "with the best setting of a grid on validation data. The paper's appendix prints no such scores."
    )
    return Section("many-shot", "Many-shot", list(fit_sentences(page)), [plot], note)


def fit_sentences(page: TaskPage) -> Iterator[str]:
    """Whether a constant is at an end of the grid, and whether fits reached their optimum."""
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    for edge in ("weakest", "strongest"):
        at = [f"{titles[fit.dataset]} ({fit.backbone})" for fit in page.fits if fit.edge == edge]
        if at:
            word = edge.replace("est", "er")
            yield f"The constant chosen is the {edge} of the grid on {', '.join(at)}: a {word} one may be better."
    stopped = [f"{titles[fit.dataset]} ({fit.backbone}: {fit.stopped})" for fit in page.fits if fit.stopped]
    if stopped:
        yield f"Fits that did not reach their optimum: {', '.join(stopped)}."
    elif page.fits:
        yield "Every fit reached its optimum."


def few_shot_section(page: TaskPage) -> Section | None:
    """Accuracy by number of shots, a plot for each data set, the paper's models behind."""
    scores = [score for score in page.scores if score.shots is not None]
    plots = []
    for dataset in page.datasets:
        here = [score for score in scores if score.domain == dataset.name]
        own = [_shots_line(here, name, number % COLOURS, "", strong=True) for number, name in enumerate(page.backbones)]
        if not any(own):
            continue
        models = dict.fromkeys(score.backbone for score in here if score.published)
        others = []
        for model in models:
            group, colour = PUBLISHED.get(model, SELF_SUPERVISED)
            others.append(_shots_line([s for s in here if s.published], model, colour, group))
        ticks = tuple((float(place), str(shots)) for place, shots in enumerate(SHOTS))
        lines = [line for line in (*others, *own) if line]
        plots.append(Plot(dataset.title, "Shots", "Accuracy (%)", lines, ticks))
    if not plots:
        return None
    note = (
        "Nearest centroid of features as they are, 600 episodes of 5 classes with 15 queries each, of images of all "
        "splits; bars are 95% intervals. The paper prints 5 and 50 shots."
    )
    return Section("few-shot", "Few-shot", list(page.notes), plots, note)


def _shots_line(
    scores: Sequence[Score], backbone: str, colour: int, group: str, *, strong: bool = False
) -> Series | None:
    by_shots = {score.shots: score for score in scores if score.backbone == backbone}
    known = [(float(place), by_shots[shots]) for place, shots in enumerate(SHOTS) if shots in by_shots]
    if not known:
        return None
    ends = [
        (100 * (s.value if s.low is None else s.low), 100 * (s.value if s.high is None else s.high)) for _, s in known
    ]
    return Series(
        backbone, [place for place, _ in known], [100 * score.value for _, score in known], colour, group,
        strong=strong,
        low=[low for low, _ in ends] if strong else (), high=[high for _, high in ends] if strong else (),
        hover=[
            f"{backbone}, {s.shots}-shot: {100 * s.value:.2f} ± {100 * (s.half_width or 0):.2f}%" for _, s in known
        ],
    )  # fmt: skip


def calibration_section(page: TaskPage) -> Section | None:
    """Reliability diagrams, before and after temperature scaling."""
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    plots = []
    for fit in page.fits:
        if fit.before is None or fit.after is None:
            continue
        title = titles[fit.dataset] if len(page.backbones) == 1 else f"{titles[fit.dataset]}, {fit.backbone}"
        lines = [
            Series("perfect", [0, 100], [0, 100], mode="lines", dash="dot"),
            _reliability("as fitted", fit.before, 1, "dash"),
            _reliability("scaled", fit.after, 0, "solid"),
        ]
        plots.append(Plot(title, "Confidence (%)", "Accuracy (%)", lines))
    if not any(task_setting(s) in CALIBRATIONS and s.domain and not s.published for s in page.scores):
        return None
    note = (
        "Test images in 15 bins by the confidence of their prediction: below the dotted line a classifier is too sure "
        "of itself, above it not sure enough. The expected calibration error is the mean distance from the line, "
        "weighted by images. Published errors are means over the paper's ten data sets; before those after scaling, "
        "temperatures were fitted to test images."
    )
    return Section("calibration", "Calibration", list(_calibration_sentences(page)), plots, note)


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


def _calibration_sentences(page: TaskPage) -> Iterator[str]:
    others = {dataset.name for dataset in page.datasets if dataset.family == OTHER}
    for name, other in product(page.backbones, (False, True)):
        errors = {
            setting: [
                s.value for s in page.scores
                if (s.backbone, task_setting(s)) == (name, setting) and s.domain and (s.domain in others) == other
            ]
            for setting in (ECE, SCALED_ECE)
        }  # fmt: skip
        if errors[ECE]:
            before, after = (100 * sum(of) / len(of) for of in errors.values())
            sets = f"data set{'s' if len(errors[ECE]) > 1 else ''}"
            of = f"{len(errors[ECE])} other {sets}" if other else f"{len(errors[ECE])} of the paper's data sets"
            yield f"{name}: expected calibration error {before:.2f}% over {of}, {after:.2f}% after scaling."
    titles = {dataset.name: dataset.title for dataset in page.datasets}
    yield from temperature_sentences([f"{titles[fit.dataset]} ({fit.backbone})" for fit in page.fits if fit.unbounded])


def temperature_sentences(without: Sequence[str]) -> list[str]:
    """What to make of data sets on which a temperature is the end of its range."""
    if not without:
        return []
    return [
        f"No temperature is best on {', '.join(without)}, where the images it is fitted to are all predicted "
        "correctly, or no better than by chance: scaling says nothing there."
    ]


def correlation_section(page: TaskPage) -> Section | None:
    """Every setting against accuracy on ImageNet, over the first table's models, on logit axes."""
    table = page.correlations[0]
    base = next((average for average in table.averages if average.setting == IMAGENET), None)
    if base is None:
        return None
    known = {pair.second: pair.correlation for pair in table.pairs if pair.first == IMAGENET}
    plots = [
        _scatter(page, base, average, f"{average.title} (r {minus(known[average.setting].pearson.value)})")
        for average in table.averages
        if average.setting in known
    ]
    strongest = max(known, key=lambda name: abs(known[name].pearson.value))
    title = next(average.title for average in table.averages if average.setting == strongest)
    found = known[strongest].pearson
    sentence = (
        f"Over {known[strongest].n} models, accuracy on ImageNet goes most closely with {title}: Pearson’s "
        f"{minus(found.value)} ({minus(found.low)} to {minus(found.high)})."
    )
    note = (
        "Each value is the mean of logits over data sets; accuracy on ImageNet is from the models' own papers. Of "
        "calibration errors less is better, so that a negative coefficient with accuracy is the good one. "
        f"Intervals are by Fisher's z, and of Pearson's, from {LEAST_DRAWN} models on, also over draws of models with "
        "replacement."
    )
    return Section("correlations", "Against ImageNet", [sentence], plots, note)


def _scatter(page: TaskPage, base: Average, average: Average, title: str) -> Plot:
    groups: dict[tuple[str, int], list[str]] = {}
    for name in average.values:
        if name in base.values:
            groups.setdefault(PUBLISHED.get(name, SELF_SUPERVISED), []).append(name)
    series = [
        Series(
            group, [base.values[name] for name in names], [average.values[name] for name in names], colour, group,
            mode="markers", hover=list(names),
        )
        for (group, colour), names in groups.items()
    ]  # fmt: skip
    shared = next((other for other in page.averages if other.setting == average.setting), None)
    top1 = next((other.values for other in page.averages if other.setting == IMAGENET), {})
    if shared is not None and list(shared.datasets) == list(average.datasets):
        for number, name in enumerate(page.backbones):
            if name in shared.values and name in top1:
                series.append(
                    Series(
                        name, [top1[name]], [shared.values[name]], number % COLOURS, strong=True, mode="markers",
                        symbol="star", hover=[name],
                    )
                )  # fmt: skip
    x, y = ([value for line in series for value in getattr(line, axis)] for axis in ("x", "y"))
    return Plot(title, "ImageNet (%)", average.title, series, percent_ticks(x), percent_ticks(y))


def percent_ticks(logits: Sequence[float]) -> Ticks:
    """Round percents within what is shown, at their logits and not too close; its ends where there are no two."""
    low, high = min(logits), max(logits)
    shown: list[tuple[float, str]] = []
    for percent in PERCENTS:
        at = float(logit(percent / 100))
        apart = not shown or at - shown[-1][0] >= (high - low) / MOST_TICKS
        if apart and low - MARGIN <= at <= high + MARGIN:
            shown.append((at, f"{percent:g}"))
    return tuple(shown) if len(shown) > 1 else tuple((at, f"{100 * expit(at):.1f}") for at in sorted({low, high}))
