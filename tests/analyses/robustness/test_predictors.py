"""Which predictor? Against scikit-learn's cross-validation, what is resolved in simulations, and bad tables."""

from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneGroupOut, LeaveOneOut, cross_val_predict

import unseen as package
from unseen.analyses.robustness.groups import AVERAGE
from unseen.analyses.robustness.predictor_columns import NOTHING
from unseen.analyses.robustness.predictor_words import resolved, statements
from unseen.analyses.robustness.table import read_accuracies
from unseen.errors import UserError

TESTBED = Path(__file__).parents[4] / "shared/data/imagenet_testbed_top1.csv"
Unseen = Callable[..., Any]


def a_table(n: int = 48, groups: int = 12, seed: int = 0) -> pd.DataFrame:
    """Two OOD test sets that depend on two ID test sets and on a measure; percent."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % groups
    skill, care = rng.normal(0, 1, n), rng.normal(0, 1, n)
    logits = {"photos": skill, "web": skill + rng.normal(0, 0.3, n)}
    logits["sketch"] = 0.8 * skill - 1 + 0.6 * care + rng.normal(0, 0.1, n)
    logits["art"] = 0.5 * skill + 0.5 * logits["web"] + 0.6 * care + rng.normal(0, 0.1, n)
    accuracy = {name: 100 * special.expit(values) for name, values in logits.items()}
    about = {"model": [f"m{i}" for i in range(n)], "group": [f"g{i}" for i in group], "severity": 4 - care}
    return pd.DataFrame(about | accuracy)


def of(study: Any, ood: str, name: str) -> Any:
    return next(score for score in study.on(ood) if score.candidate.name == name)


@pytest.mark.parametrize(("scale", "held_out"), [("logit", "groups"), ("probit", "groups"), ("logit", "models")])
def test_errors_are_those_of_scikit_learn(scale: Any, held_out: Any) -> None:
    table = a_table()
    table.loc[3, "sketch"] = np.nan
    study = package.predictors(
        table,
        ["photos", "web"],
        ["sketch", "art"],
        measures=["severity"],
        group="group",
        held_out=held_out,
        scale=scale,
    )
    forward, back = {"logit": (special.logit, special.expit), "probit": (special.ndtri, special.ndtr)}[scale]
    columns = {
        "photos": ["photos"], "web": ["web"], "photos + web": ["photos", "web"], "severity": ["severity"],
        "photos + web + severity": ["photos", "web", "severity"], NOTHING: [],
    }  # fmt: skip
    assert [score.candidate.name for score in study.overall] == [*columns]
    for ood in ("sketch", "art"):
        part = table.dropna(subset=[ood])
        y = forward(part[ood].to_numpy() / 100)
        for name, used in columns.items():
            each = [part[one].to_numpy() if one == "severity" else forward(part[one].to_numpy() / 100) for one in used]
            X = np.column_stack(each) if each else np.zeros((len(part), 1))
            groups = part["group"] if held_out == "groups" else part["model"]
            expected = cross_val_predict(LinearRegression(), X, y, groups=groups, cv=LeaveOneGroupOut())
            found = of(study, ood, name)
            assert found.error.value == pytest.approx(100 * np.abs(back(expected) - back(y)).mean())
            assert found.scaled == pytest.approx(np.abs(expected - y).mean())
            assert (found.models, found.groups) == (len(part), 12 if held_out == "groups" else len(part))
    means = [of(study, ood, "severity").error.value for ood in ("sketch", "art")]
    assert of(study, AVERAGE, "severity").error.value == pytest.approx(np.mean(means))


def test_what_helps_is_resolved_and_what_does_not_is_not() -> None:
    study = package.predictors(a_table(), ["photos", "web"], ["sketch", "art"], measures=["severity"], group="group")
    best = of(study, AVERAGE, "photos + web + severity")
    assert resolved(best)
    assert best.difference.interval().high < 0
    assert max(study.best.values()) <= 0.05
    noise = a_table().assign(severity=np.random.default_rng(1).normal(size=48))
    other = package.predictors(noise, "photos", "sketch", measures=["severity"], group="group")
    assert not resolved(of(other, "sketch", "photos + severity"))
    assert resolved(of(other, "sketch", "severity"))
    assert of(other, "sketch", "photos").difference is None
    assert other.statements == statements(other) != []
    assert other._repr_html_().count("<tr") == 5
    assert other.to_frame().shape == (4, 12)


def test_false_alarms_are_rare() -> None:
    """A measure that says nothing is resolved as better in fewer than 5% of 200 tables of ten groups."""
    better = 0
    for seed in range(200):
        noise = a_table(30, 10, seed).assign(severity=np.random.default_rng(seed + 1000).normal(size=30))
        study = package.predictors(noise, "photos", "sketch", measures=["severity"], group="group")
        score = of(study, "sketch", "photos + severity")
        better += resolved(score) and score.difference.value < 0
    assert better <= 10


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (lambda table: table[:2], {}, "at least 4 models"),
        (lambda table: table.assign(group="a"), {"held_out": "groups"}, "one group"),
        (lambda table: table.assign(sketch=50.0), {}, "same accuracy on it"),
        (lambda table: table.assign(photos=50.0), {}, "same accuracy on an ID"),
        (lambda table: table.assign(severity="high"), {"measures": ["severity"]}, "not a number"),
        (lambda table: table, {"measures": ["severities"]}, "did you mean"),
        (lambda table: table.assign(severity=np.inf), {"measures": ["severity"]}, "infinite"),
    ],
    ids=["two models", "one group", "constant", "constant ID", "words", "unknown", "infinite"],
)
def test_bad_tables_are_one_sentence(change: Any, arguments: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        package.predictors(change(a_table()), "photos", "sketch", group="group", **arguments)
    assert "\n" not in str(error.value)


def test_what_cannot_be_compared_is_told() -> None:
    table = a_table().assign(same=1.0, rare=[1.0, 2.0] + 46 * [None], gaps=[None, *range(47)], other=50.0)
    measures = ["same", "rare", "gaps"]
    study = package.predictors(table, "photos", ["sketch", "other"], measures=measures, group="group")
    assert [score.candidate.name for score in study.overall] == ["photos", "gaps", "photos + gaps", NOTHING]
    assert [sentence.split()[0] for sentence in study.notices] == ["same", "rare", "1"]
    assert (study.overall[0].models, [*study.left_out]) == (47, ["other"])
    alone = package.predictors(a_table(), "photos", "sketch")
    assert (alone.held_out, len(alone.notices)) == ("models", 1)
    # Without a group, the others have the same web accuracy.
    twice = a_table().assign(web=lambda table: np.where(table.group == "g0", table.photos, 50.0))
    found = package.predictors(twice, ["photos", "web"], "sketch", group="group")
    assert [score.candidate.name for score in found.overall] == ["photos", NOTHING]
    assert len(found.notices) == 2


@pytest.mark.parametrize("name", ["photos", "sketch", "art"])
def test_test_sets_are_no_measures(name: str) -> None:
    with pytest.raises(UserError, match=f"'{name}'"):
        package.predictors(a_table(), "photos", ["sketch", "art"], measures=[name], group="group")
    with pytest.raises(UserError, match="twice"):
        package.predictors(a_table(), "photos", "sketch", measures=["severity", "severity"], group="group")


def test_the_best_and_the_first_are_compared_in_one_family() -> None:
    """All pairs on average: their p-values against SciPy's t, with Holm's correction in a loop."""
    table = a_table(24, 6)
    study = package.predictors(table, ["photos", "web"], "sketch", measures=["severity"], group="group")
    names = [score.candidate.name for score in study.overall]
    best = min(study.overall, key=lambda score: score.error.value).candidate.name
    first = {score.candidate.name: score.p_holm for score in study.overall}
    assert first[best] == study.best["photos"] if best != "photos" else True
    assert set(study.best) == {*names} - {best}
    raw = [
        2 * stats.t(score.difference.df).sf(abs(score.difference.value / score.difference.error))
        for score in study.overall[1:]
    ]
    pairs = len(names) * (len(names) - 1) // 2
    for score, p in zip(study.overall[1:], raw, strict=True):
        assert p - 1e-12 <= score.p_holm <= min(1, pairs * p) + 1e-12
    # Who predicts best is only said if it is resolved from all others, the first one among them.
    assert any("predicts best" in sentence for sentence in study.statements) == (max(study.best.values()) <= 0.05)


def test_models_that_differ_between_test_sets_are_told() -> None:
    table = a_table()
    table.loc[:11, "art"] = np.nan
    table.loc[47, "sketch"] = 0.0
    study = package.predictors(table, ["photos", "web"], ["sketch", "art"], group="group")
    assert [(of(study, ood, "photos").models, of(study, ood, "photos").most_models) for ood in study.ood_sets] == [
        (47, 47), (36, 36), (36, 47),
    ]  # fmt: skip
    assert [sentence.partition(":")[0] for sentence in study.notices] == ["art", "sketch"]
    assert "36 to 47 models" in study.statements[0]


def test_what_each_comparison_would_resolve_has_its_name() -> None:
    twice = a_table().assign(again=lambda table: table.photos)
    study = package.predictors(twice, ["photos", "again"], "sketch", group="group")
    assert not any("0.00 points (again)" in sentence for sentence in study.statements)
    noise = a_table().assign(severity=np.random.default_rng(1).normal(size=48))
    other = package.predictors(noise, ["photos", "web"], "sketch", measures=["severity"], group="group")
    apart = [score for score in other.overall[1:-1] if not resolved(score)]
    [told] = [sentence for sentence in other.statements if "80%" in sentence]
    assert all(f"{choose(s.difference.detectable() for s in apart):.2f}" in told for choose in (min, max))


def test_groups_that_are_not_given_are_told() -> None:
    for change, told in (({"group": None}, "No groups"), ({"group": "one"}, "one group")):
        study = package.predictors(a_table().assign(one="a"), "photos", "sketch", **change)
        assert [told in sentence for sentence in study.notices] == [True]
    table = a_table()
    table.loc[[3, 9], "group"] = ""
    study = package.predictors(table, "photos", "sketch", group="group")
    assert [sentence.endswith("m3, m9.") for sentence in study.notices] == [True]
    assert study.overall[0].groups == 13


def test_the_command(unseen: Unseen, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    a_table().to_csv(path, index=False)
    chosen = ("shifts", "predictors", path, "--id", "photos", "--ood", "sketch", "--ood", "art")
    answer = unseen(*chosen, "--set", "group=group", "--set", "measures=severity", "--out", tmp_path / "errors.csv")
    assert answer.code == 0
    expected = package.predictors(path, "photos", ["sketch", "art"], group="group", measures=["severity"])
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "errors.csv"), expected.to_frame(), check_dtype=False)
    for more in (("--set", "measures=severities"), ("--set", "hierarchy=wordnet"), ("--set", "held-out=images")):
        bad = unseen(*chosen, *more)
        assert (bad.code, bad.err.count("\n")) == (2, 1)


def test_the_whole_testbed_in_seconds() -> None:
    """338 models, 213 columns, single models held out: every column that has enough of them is compared."""
    if not TESTBED.is_file():
        pytest.skip("needs imagenet_testbed_top1.csv in ../shared/data")
    table = read_accuracies(TESTBED)
    ids = ["val", "val_subsampled_class_1_8"]
    oods = [str(name) for name in table.columns if name not in {"model", *ids}]
    began = process_time()
    study = package.predictors(table, ids, oods, unit="percent")
    assert process_time() - began < 20
    assert len(study.ood_sets) + len(study.left_out) == len(oods) + 1
    part = table[[*ids, "imagenet-sketch"]].replace("", np.nan).astype(float)
    rows = ((part > 0) & (part < 100)).all(axis=1)
    x, _, y = special.logit(part[rows].to_numpy().T / 100)
    expected = cross_val_predict(LinearRegression(), x[:, None], y, cv=LeaveOneOut())
    found = of(study, "imagenet-sketch", "val")
    assert found.error.value == pytest.approx(100 * np.abs(special.expit(expected) - special.expit(y)).mean())
