"""The findings of the shifts page: ties, single models, and several ID test sets."""

from dataclasses import replace
from typing import Any

from unseen.analyses.robustness.fitted_model import FittedModel
from unseen.analyses.robustness.group_effects import GroupEffect
from unseen.metrics.paired.estimate import Estimate
from unseen.report.shifts.findings import findings
from unseen.report.shifts.page_data import OodPanel, ShiftPage


def model(name: str, rho: float) -> FittedModel:
    return FittedModel(name, "", True, (0.5, 0.6), 0.5, 0.5 - rho, rho, rho - 0.01, rho + 0.01)


def panel(*points: FittedModel) -> OodPanel:
    single: list[dict[str, Any]] = [{"id": ["a"], "r2": 0.5}, {"id": ["b"], "r2": 0.75}, {"id": ["a", "b"], "r2": 0.9}]
    record = {"coefficients": {"a": 1.0, "b": 1.0}, "r2": 0.9, "n": 9, "leave_one_out_of_id_sets": single}
    return OodPanel("sketch", ("a", "b"), record, points, ())


def page(*points: FittedModel) -> ShiftPage:
    return ShiftPage("t", ("a", "b"), "logit", (), (panel(*points),), (), (), {})


def test_the_fit_and_the_extremes() -> None:
    first, second = findings(page(model("x", 0.02), model("y", -0.03), model("z", 0.0)))
    assert first == (
        "sketch: accuracy on a and b explains 90.0% of the variance over 9 models; alone, a explains 50.0% and b "
        "explains 75.0%."
    )
    assert second == (
        "Effective robustness on sketch goes from −3.00 points (95% interval −4.00 to −2.00) for y to +2.00 points "
        "(95% interval +1.00 to +3.00) for x."
    )


def test_ties_and_single_models() -> None:
    tied = findings(page(model("x", 0.02), model("y", 0.02), model("z", 0.0)))[1]
    assert tied.endswith("for z to +2.00 points for x and y.")
    assert findings(page(model("x", 0.02), model("y", 0.02)))[1].startswith("All models have the same")
    assert findings(page(model("x", 0.02)))[1].startswith("x has an effective robustness of +2.00")


def test_groups_against_the_others_come_first_and_means_are_not_ranked() -> None:
    scores = [{"id_sets": ("a", "b"), "ood": "sketch", "group": name, "mean": 1.0, "average": False} for name in "gh"]
    effects = [
        GroupEffect(("a", "b"), "sketch", name, True, 5, Estimate(value, value, 0.1, 9), p, 0.5, 0.7)
        for name, value, p in (("g", -1.0, 0.01), ("h", 0.1, 1.0))
    ]
    found = findings(replace(page(model("x", 0.02)), group_scores=tuple(scores), group_effects=effects))
    assert "1 of 2 groups is off the line" in found[0]
    assert "g −1.0 (the other groups: ± 0.7)" in found[0]
    assert "1 is resolved" in found[0]
    assert len(found) == 4
    assert len(findings(replace(page(model("x", 0.02)), group_scores=tuple(scores)))) == 2
