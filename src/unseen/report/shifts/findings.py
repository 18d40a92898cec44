"""The findings of a fit of effective robustness, in sentences."""

from collections.abc import Iterator, Sequence

from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.report.shifts.page_data import OodPanel, ShiftPage
from unseen.report.shifts.sections.group_effects import statements
from unseen.text.words import joined, signed

MOST_NAMED = 3
"""OOD test sets, or columns of accuracies, that have a sentence of their own."""


def findings(page: ShiftPage) -> list[str]:
    """Which groups are off the line, how well ID accuracy predicts OOD accuracy, and the range of models around it."""
    if not page.panels:
        return list(_accuracies(page))
    sentences = [
        sentence for panel in page.panels[:MOST_NAMED] for sentence in (_fit(panel), extremes(panel, page.level))
    ]
    if len(page.panels) > MOST_NAMED:
        sentences.append(f"The tables below have {len(page.panels) - MOST_NAMED} more OOD test sets.")
    return [*_groups(page), *filter(None, sentences)]


def _fit(panel: OodPanel) -> str:
    """R² of the fit to all ID sets and, with several, those of single ones on the same models."""
    record = panel.record
    names = list(record["coefficients"])
    single = {found["id"][0]: found["r2"] for found in record["leave_one_out_of_id_sets"] if len(found["id"]) == 1}
    alone = ""
    if len(names) > 1 and 0 < len(single) <= MOST_NAMED:
        alone = f"; alone, {joined([f'{name} explains {_share(r2)}' for name, r2 in single.items()])}"
    elif len(names) > 1 and single:
        alone = f"; single ID test sets explain {_share(min(single.values()))} to {_share(max(single.values()))}"
    return (
        f"{panel.name}: accuracy on {joined(names)} explains {_share(record['r2'])} of the variance over {record['n']} "
        f"models{alone}."
    )


def extremes(panel: OodPanel, level: float = 0.95) -> str:
    """The range of effective robustness over models, with the intervals of both ends."""
    if not panel.points:
        return ""
    if len(panel.points) == 1:
        (only,) = panel.points
        return f"{only.model} has an effective robustness of {_rho(only, level)} on {panel.name}."
    highest, lowest = (choose(panel.points, key=lambda point: point.rho) for choose in (max, min))
    if _points(highest.rho) == _points(lowest.rho):
        return f"All models have the same effective robustness on {panel.name}: {_points(highest.rho)} points."
    low, high = (_end(panel.points, point, level) for point in (lowest, highest))
    return f"Effective robustness on {panel.name} goes from {low} to {high}."


def _end(points: Sequence[FittedModel], extreme: FittedModel, level: float) -> str:
    """An extreme value with its interval and model, or with all models that share the value as printed."""
    models = [point.model for point in points if _points(point.rho) == _points(extreme.rho)]
    if len(models) > 1:
        return f"{_points(extreme.rho)} points for {joined(models)}"
    return f"{_rho(extreme, level)} for {extreme.model}"


def _groups(page: ShiftPage) -> Iterator[str]:
    """Which groups are off the line of the others under all ID test sets, if that could be asked."""
    yield from statements([each for each in page.group_effects if each.id_sets == page.id_sets])


def _accuracies(page: ShiftPage) -> Iterator[str]:
    """The accuracies on each of the first test sets, and a clear leader, for runs without a fit."""
    runs = page.accuracies
    if runs is None:
        return
    for name in list(runs.columns)[:MOST_NAMED]:
        scores = runs.accuracies(name)
        if not scores:
            continue
        low, high = (f"{100 * value:.2f}%" for value in (min(scores.values()), max(scores.values())))
        if len(scores) == 1:
            yield f"{name}: {joined(list(scores))} has an accuracy of {high}."
        elif low == high:
            yield f"{name}: all models have an accuracy of {high}."
        elif leader := runs.leader(name):
            yield f"{name}: {leader} has the highest accuracy, {high}, beyond chance; the lowest is {low}."
        else:
            yield f"{name}: accuracies go from {low} to {high}, and no model is ahead of all others beyond chance."


def _share(r2: float) -> str:
    return f"{100 * r2:.1f}%"


def _points(share: float) -> str:
    return signed(100 * share, 2)


def _rho(point: FittedModel, level: float) -> str:
    return f"{_points(point.rho)} points ({level:.0%} interval {_points(point.low)} to {_points(point.high)})"
