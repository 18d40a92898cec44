"""The findings of a fit of effective robustness, in sentences."""

from collections.abc import Iterator, Sequence

from unseen.report.shifts.page_data import OodPanel, ShiftPage
from unseen.studies.shifts.fitted_model import FittedModel
from unseen.words import joined, signed

MOST_NAMED = 3
"""OOD test sets, or columns of accuracies, that have a sentence of their own."""


def findings(page: ShiftPage) -> list[str]:
    """How well ID accuracy predicts OOD accuracy, and which models are above and below the prediction."""
    if not page.panels:
        return list(_best_accuracies(page))
    sentences = [sentence for panel in page.panels[:MOST_NAMED] for sentence in (_fit(panel), extremes(panel))]
    if len(page.panels) > MOST_NAMED:
        sentences.append(f"The tables below have {len(page.panels) - MOST_NAMED} more OOD test sets.")
    return [*filter(None, sentences), *_groups(page)]


def _fit(panel: OodPanel) -> str:
    """R² of the fit to all ID sets and, with several, that of the best single one on the same models."""
    record = panel.record
    names = list(record["coefficients"])
    single = [found for found in record["leave_one_out_of_id_sets"] if len(found["id"]) == 1]
    alone = ""
    if len(names) > 1 and single:
        best = max(single, key=lambda found: float(found["r2"]))
        alone = f"; the best single ID test set, {best['id'][0]}, explains {_share(best['r2'])}"
    return (
        f"{panel.name}: accuracy on {joined(names)} explains {_share(record['r2'])} of the variance over {record['n']} "
        f"models{alone}."
    )


def extremes(panel: OodPanel) -> str:
    """The models with the highest and the lowest effective robustness, and whether these differ from 0."""
    if not panel.points:
        return ""
    if len(panel.points) == 1:
        (only,) = panel.points
        return f"{only.model} has an effective robustness of {_rho(only)} on {panel.name}."
    highest, lowest = (choose(panel.points, key=lambda point: point.rho) for choose in (max, min))
    if _points(highest.rho) == _points(lowest.rho):
        return f"All models have the same effective robustness on {panel.name}: {_points(highest.rho)} points."
    (high, most), (low, least) = (_tied(panel.points, point) for point in (highest, lowest))
    return f"{high} the highest effective robustness on {panel.name}, {most}; {low} the lowest, {least}."


def _tied(points: Sequence[FittedModel], extreme: FittedModel) -> tuple[str, str]:
    """The model of an extreme value with its interval, or all models that share the value as printed."""
    models = [point.model for point in points if _points(point.rho) == _points(extreme.rho)]
    if len(models) > 1:
        return f"{joined(models)} share", f"{_points(extreme.rho)} points"
    return f"{extreme.model} has", _rho(extreme)


def _groups(page: ShiftPage) -> Iterator[str]:
    """Mean effective robustness of each group under all ID sets, over all OOD sets if there are several."""
    several = len(page.panels) > 1
    scores = [
        score
        for score in page.group_scores
        if score["average"] == several and len(score["id_sets"]) == len(page.id_sets)
    ]
    if len(scores) < 2:
        return
    means = [f"{score['group']} {signed(score['mean'], 2)}" for score in sorted(scores, key=lambda s: -s["mean"])]
    over = "all OOD test sets" if several else page.panels[0].name
    yield f"Mean effective robustness by group on {over}, in points: {', '.join(means)}."


def _best_accuracies(page: ShiftPage) -> Iterator[str]:
    """The most accurate model on each of the first test sets, for runs without a fit."""
    runs = page.accuracies
    if runs is None:
        return
    for name in list(runs.columns)[:MOST_NAMED]:
        scores = {score.backbone: score.value for score in runs.data.scores if score.domain == name}
        if not scores:
            continue
        best = max(scores.values())
        models = joined([model for model, value in scores.items() if value == best])
        most = "has an accuracy of" if len(scores) == 1 else "has the highest accuracy,"
        yield f"{name}: {models} {most} {100 * best:.2f}%."


def _share(r2: float) -> str:
    return f"{100 * r2:.1f}%"


def _points(share: float) -> str:
    return signed(100 * share, 2)


def _rho(point: FittedModel) -> str:
    return f"{_points(point.rho)} points (interval {_points(point.low)} to {_points(point.high)})"
