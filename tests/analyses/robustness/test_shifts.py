"""The study of shifts: from tables to fits, scores and groups, against plain NumPy; bad tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import special

from unseen.analyses.robustness.fits import LeftOut
from unseen.analyses.robustness.groups import AVERAGE, group_scores
from unseen.analyses.robustness.notes import notes
from unseen.analyses.robustness.table import read_accuracies, shift_table
from unseen.api.shifts import effective_robustness
from unseen.errors import UserError
from unseen.metrics.accuracy_scales import PROBIT
from unseen.metrics.robustness import Method, fit_logits

TESTBED = Path(__file__).parents[4] / "shared/data/imagenet_testbed_top1.csv"
QUICK: dict[str, Any] = {"settings": {"resamples": 50}}


def a_table(n: int = 24, seed: int = 0) -> pd.DataFrame:
    """Models of two training sets, each better on its own ID set; OOD sets depend on both. Percent."""
    rng = np.random.default_rng(seed)
    group = np.array(["photos", "web"])[np.arange(n) % 2]
    skill = rng.normal(0, 1, n)
    logits = {"photos": skill + (group == "photos"), "web": skill + (group == "web")}
    logits["sketch"] = 0.5 * logits["photos"] + 0.5 * logits["web"] - 0.5 + rng.normal(0, 0.05, n)
    logits["art"] = 0.2 * logits["photos"] + 0.6 * logits["web"] + rng.normal(0, 0.05, n)
    accuracy = {name: 100 * special.expit(values) for name, values in logits.items()}
    return pd.DataFrame({"model": [f"m{i}" for i in range(n)], "group": group, **accuracy})


def plain_rho(table: pd.DataFrame, ids: list[str], ood: str, inside: Any) -> np.ndarray:
    """ρ in points, in five lines."""
    x, y = special.logit(table[ids].to_numpy() / 100), table[ood].to_numpy() / 100
    design = np.column_stack([x, np.ones(len(y))])
    coefficients = np.linalg.lstsq(design[inside], special.logit(y[inside]), rcond=None)[0]
    return 100 * (y - special.expit(design @ coefficients))


def test_fits_scores_and_intervals() -> None:
    table = a_table()
    study = effective_robustness(table, id=["photos", "web"], ood="sketch", group="group", **QUICK)
    (fit,) = study.fits
    expected = plain_rho(table, ["photos", "web"], "sketch", np.full(24, True))
    assert [score.model for score in fit.scores] == list(table.model)
    assert np.allclose([100 * score.rho for score in fit.scores], expected)
    assert fit.fit.mae == pytest.approx(np.abs(expected).mean())
    assert all(score.low <= score.high for score in fit.scores)
    assert (fit.intervals[0] <= fit.fit.coefficients).all()
    assert (fit.fit.coefficients <= fit.intervals[1]).all()
    assert fit.comparisons[0].fit.names == ("photos", "web")
    assert {other.fit.method.name for other in fit.alternatives} == {
        "logit, Huber", "probit, least squares", "probit, Huber",
    }  # fmt: skip


def test_single_id_misleads_and_multi_id_repairs_it() -> None:
    """What the paper is about, where it holds by construction."""
    table = a_table(60)
    study = effective_robustness(table, id=["photos", "web"], ood=["sketch", "art"], group="group", **QUICK)
    mean = {
        (score.id_sets, score.group): score.mean for score in group_scores(study) if score.ood == AVERAGE
    }  # fmt: skip
    assert mean[("photos",), "web"] > 3
    assert mean[("web",), "web"] < -1
    assert abs(mean[("photos", "web"), "web"]) < 0.3


@pytest.mark.parametrize("fit_on", ["group in {photos}", lambda t: t.group == "photos"])
def test_models_outside_the_fit_are_only_scored(fit_on: Any) -> None:
    table = a_table()
    study = effective_robustness(table, id="web", ood="sketch", group="group", fit_on=fit_on, **QUICK)
    inside = (table.group == "photos").to_numpy()
    expected = plain_rho(table, ["web"], "sketch", inside)
    (fit,) = study.fits
    assert fit.fit.n == 12
    assert [score.in_fit for score in fit.scores] == list(inside)
    assert np.allclose([100 * score.rho for score in fit.scores], expected)
    scored = next(score for score in group_scores(study) if not score.in_fit)
    assert (scored.group, scored.models) == ("web", 12)
    assert scored.mean == pytest.approx(expected[~inside].mean())
    assert scored.deviation == pytest.approx(expected[~inside].std(ddof=1))
    assert scored.mae == pytest.approx(np.abs(expected[~inside]).mean())


def test_averages_are_over_ood_sets_then_models() -> None:
    table = a_table()
    table.loc[3, "art"] = np.nan
    study = effective_robustness(table, id=["photos", "web"], ood=["sketch", "art"], group="group", **QUICK)
    kept = table.art.notna().to_numpy()
    sketch = plain_rho(table, ["photos", "web"], "sketch", np.full(24, True))
    art = np.full(24, np.nan)
    art[kept] = plain_rho(table[kept], ["photos", "web"], "art", np.full(23, True))
    web = (table.group == "web").to_numpy()
    both = np.column_stack([sketch, art])[web & kept].mean(axis=1)
    found = next(
        score for score in group_scores(study)
        if (score.id_sets, score.ood, score.group) == (("photos", "web"), AVERAGE, "web")
    )  # fmt: skip
    assert found.models == 11
    assert (found.mean, found.deviation) == (pytest.approx(both.mean()), pytest.approx(both.std(ddof=1)))
    assert found.mae == pytest.approx(np.abs(np.column_stack([sketch, art])[web & kept]).mean())


def test_percent_fractions_and_text_give_the_same() -> None:
    table = a_table()
    fractions = table.assign(**{name: table[name] / 100 for name in ("photos", "web", "sketch")})
    text = table.astype(str)
    studies = [
        effective_robustness(made, id=["photos", "web"], ood="sketch", **QUICK) for made in (table, fractions, text)
    ]
    assert [study.table.unit for study in studies] == ["percent", "fraction", "percent"]
    first = [score.rho for score in studies[0].fits[0].scores]
    for study in studies[1:]:
        assert np.allclose([score.rho for score in study.fits[0].scores], first)


def test_accuracies_of_exactly_0_and_100() -> None:
    table = a_table()
    table.loc[0, "sketch"], table.loc[1, "photos"] = 0.0, 100.0
    (fit,) = effective_robustness(table, id="photos", ood="sketch", **QUICK).fits
    assert {model: why.text for model, why in fit.left_out.items()} == {
        "m0": "exactly 0% on sketch, of unknown size", "m1": "exactly 100% on photos, of unknown size",
    }  # fmt: skip
    sized = {"sketch": 199, "photos": 999}
    (fit,) = effective_robustness(table, id="photos", ood="sketch", sizes=sized, **QUICK).fits
    assert fit.left_out == {}
    assert fit.scores[0].accuracy == pytest.approx(0.5 / 200)
    assert fit.scores[1].id_accuracy == (pytest.approx(999.5 / 1000),)


def test_minimum_gaps_and_another_method() -> None:
    table = a_table()
    table.loc[2, "web"] = np.nan
    low = table.photos.min()
    (fit,) = effective_robustness(
        table,
        id=["photos", "web"],
        ood="sketch",
        minimum={"photos": low + 0.001},
        settings={"method": Method(PROBIT), "resamples": 50},
    ).fits
    worst = table.model[table.photos.idxmin()]
    assert fit.left_out == {
        "m2": LeftOut("gap", "no accuracy on web"),
        worst: LeftOut("below", "below the minimum on photos"),
    }
    assert fit.fit.method.scale is PROBIT
    with pytest.raises(UserError, match="'phots', which is not in this fit.*did you mean photos"):
        effective_robustness(table, id="photos", ood="sketch", sizes={"phots": 5})
    with pytest.raises(UserError, match="'sketch' is OOD"):
        effective_robustness(table, id="photos", ood="sketch", minimum={"sketch": 5})


def test_who_is_left_out_is_said_by_name() -> None:
    table = a_table()
    table.loc[[2, 5], "web"], table.loc[5, "sketch"] = np.nan, 0.0
    study = effective_robustness(table, id=["photos", "web"], ood=["sketch", "art"], **QUICK)
    assert study.fits[0].left_out == dict.fromkeys(("m2", "m5"), LeftOut("gap", "no accuracy on web"))
    told = notes(study)
    assert [sentence.split(":")[0] for sentence in told] == ["sketch and art"]
    assert all("2 models" in sentence and ": m2, m5." in sentence for sentence in told)


@pytest.mark.parametrize(
    ("n", "ids", "few"), [(4, 2, True), (19, 2, True), (20, 2, False), (9, 1, True), (10, 1, False)]
)
def test_few_models_for_the_coefficients_are_said(n: int, ids: int, few: bool) -> None:
    table = a_table(n)
    names = ["photos", "web"][:ids]
    study = effective_robustness(table, id=names, ood="sketch", **QUICK)
    fit = study.fits[0].fit
    assert (fit.few_models, fit.degrees_of_freedom) == (few, n - ids - 1)
    assert fit.adjusted_r2 == pytest.approx(1 - (1 - fit.r2) * (n - 1) / (n - ids - 1))
    assert any("degree" in sentence for sentence in notes(study)) == few


def test_r2_by_chance_is_that_of_random_id_accuracies() -> None:
    rng = np.random.default_rng(0)
    fits = [fit_logits(rng.uniform(0.1, 0.9, (8, 2)), rng.uniform(0.1, 0.9, 8)) for _ in range(400)]
    assert np.mean([fit.r2 for fit in fits]) == pytest.approx(fits[0].chance_r2, abs=0.04)
    assert np.mean([fit.adjusted_r2 for fit in fits if fit.adjusted_r2 is not None]) == pytest.approx(0, abs=0.06)


def test_sizes_widen_intervals() -> None:
    table = a_table()
    plain, noisy = (
        effective_robustness(table, id="photos", ood="sketch", sizes=sizes).fits[0] for sizes in ({}, {"sketch": 300})
    )
    widths = [np.mean([score.high - score.low for score in fit.scores]) for fit in (plain, noisy)]
    assert widths[1] > widths[0]
    assert [score.rho for score in plain.scores] == [score.rho for score in noisy.scores]


def test_groups_are_held_out_where_the_rest_is_enough() -> None:
    table = a_table()
    (fit,) = effective_robustness(table, id="photos", ood="sketch", group="group", **QUICK).fits
    own, other = (plain_rho(table, ["photos"], "sketch", table.group == name) for name in ("web", "photos"))
    errors = np.where(table.group == "photos", np.abs(own), np.abs(other))
    assert fit.by_group[0].held_out == pytest.approx(errors.mean())
    assert fit.by_group[0].held_out > fit.held_out.held_out
    lonely = table.assign(group=["one"] * 23 + ["two"])
    (fit,) = effective_robustness(lonely, id="photos", ood="sketch", group="group", **QUICK).fits
    assert fit.by_group == ()


NATURAL = {
    "ImageNet-V2, matched frequency": ("imagenetv2-matched-frequency-format-val", "val"),
    "ImageNet-V2, threshold 0.7": ("imagenetv2-threshold-0.7-format-val", "val"),
    "ImageNet-V2, top images": ("imagenetv2-top-images-format-val", "val"),
    "ImageNet-Sketch": ("imagenet-sketch", "val"),
    "ImageNet-R": ("imagenet-r", "val-on-imagenet-r-classes"),
    "ObjectNet": ("objectnet-1.0-beta", "val-on-objectnet-classes"),
    "ImageNet-Vid-Robust, pm-0": ("imagenet-vid-robust_pm0", "val-on-vid-robust-classes"),
    "ImageNet-Vid-Robust, pm-10": ("imagenet-vid-robust_pm10", "val-on-vid-robust-classes"),
    "YTBB-Robust, pm-0": ("ytbb-robust_pm0", "val-on-ytbb-robust-classes"),
    "YTBB-Robust, pm-10": ("ytbb-robust_pm10", "val-on-ytbb-robust-classes"),
    "ImageNet-A": ("imagenet-a", "val-on-imagenet-a-classes"),
}


def printed_fits() -> dict[str, list[str]]:
    """The table of the docs: test set → what is printed of its ID set and its fit."""
    text = (Path(__file__).parents[3] / "docs/shifts.md").read_text().split("## A real table")[1]
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return {name: cells for name, *cells in lines[2:]}


def test_the_docs_print_the_figures_of_the_testbed() -> None:
    """To the last digit, from least squares of NumPy and a refit without each model in turn."""
    if not TESTBED.is_file():
        pytest.skip("needs imagenet_testbed_top1.csv in ../shared/data")
    table, printed = pd.read_csv(TESTBED), printed_fits()
    assert set(printed) == set(NATURAL)
    for name, (on, *cells) in printed.items():
        ood, id_set = NATURAL[name]
        assert (on == "val") == (id_set == "val")
        part = table[[id_set, ood]].dropna()
        part = part[(part > 0).all(axis=1)]
        x, y = special.logit(part.to_numpy().T / 100)
        design = np.column_stack([x, np.ones(len(x))])
        plane = np.linalg.lstsq(design, y, rcond=None)[0]
        r2 = 1 - ((y - design @ plane) ** 2).sum() / ((y - y.mean()) ** 2).sum()
        rest = [np.arange(len(x)) != row for row in range(len(x))]
        held_out = [design[~rows] @ np.linalg.lstsq(design[rows], y[rows], rcond=None)[0] for rows in rest]
        truth = special.expit(y)
        errors = [100 * np.abs(truth - special.expit(guess)).mean() for guess in (design @ plane, np.ravel(held_out))]
        found = [len(part), *plane, r2, *errors]
        digits = [len(cell.partition(".")[2]) for cell in cells]
        assert [f"{value:.{n}f}" for value, n in zip(found, digits, strict=True)] == [
            cell.replace("−", "-") for cell in cells
        ], name


def test_natural_shifts_of_the_testbed() -> None:
    """Each against the validation images of its own classes, in one study."""
    if not TESTBED.is_file():
        pytest.skip("needs imagenet_testbed_top1.csv in ../shared/data")
    table = pd.read_csv(TESTBED)
    study = effective_robustness(read_accuracies(TESTBED), id=dict(NATURAL.values()), unit="percent", **QUICK)
    assert study.table.id_sets == ("val",)
    for fit, (ood, on) in zip(study.fits, NATURAL.values(), strict=True):
        part = table[[on, ood]].dropna()
        part = part[(part > 0).all(axis=1)]
        expected = plain_rho(part, [on], ood, np.full(len(part), True))
        assert fit.ood == ood
        assert fit.fit.n == len(part) > 300
        assert fit.fit.mae == pytest.approx(np.abs(expected).mean())
        assert fit.held_out.held_out > fit.fit.mae


def test_id_sets_of_each_ood_set() -> None:
    """Every fit is that of its own columns alone, and averages go over all of them."""
    table = a_table().assign(
        **{"photos-on-art-classes": a_table(seed=1).photos, "web-on-art-classes": a_table(seed=2).web}
    )
    own = {"sketch": ["photos", "web"], "art": ["photos-on-art-classes", "web-on-art-classes"]}
    study = effective_robustness(table, id=own, group="group", sizes={"web-on-art-classes": 900}, **QUICK)
    assert study.table.id_sets == ("photos", "web")
    rho = {ood: plain_rho(table, ids, ood, np.full(24, True)) for ood, ids in own.items()}
    for fit in study.fits:
        assert fit.fit.names == ("photos", "web")
        assert np.allclose([100 * score.rho for score in fit.scores], rho[fit.ood])
    mean = study.groups().set_index(["id", "ood", "group"])["mean"]
    web = (table.group == "web").to_numpy()
    assert mean["photos + web", AVERAGE, "web"] == pytest.approx(np.mean([of[web].mean() for of in rho.values()]))
    alone = plain_rho(table, ["photos-on-art-classes"], "art", np.full(24, True))
    assert mean["photos", "art", "web"] == pytest.approx(alone[web].mean())


@pytest.mark.parametrize(
    ("own", "ood", "message"),
    [
        ({"sketch": ["photos", "web"], "art": "web"}, None, "equally many for each OOD"),
        ({"sketch": "photos", "art": "sketch"}, None, "'sketch' is named twice"),
        ({"sketch": "photos"}, ["sketch", "art"], "'art' has no ID test set"),
        ({"sketch": "photos", "aft": "web"}, ["sketch", "art"], "'aft', which is not an OOD test set; did you"),
        ({"sketch": "photo"}, None, "no column 'photo'; did you mean photos"),
    ],
)  # fmt: skip
def test_bad_id_sets_of_ood_sets(own: dict[str, Any], ood: list[str] | None, message: str) -> None:
    with pytest.raises(UserError, match=message):
        effective_robustness(a_table(), id=own, ood=ood, **QUICK)


def test_averages_are_those_of_the_papers_tables() -> None:
    """Tables 2, 4 and 6 of Shi et al.: with all models on all OOD sets, the average is that of the printed means."""
    printed = {
        -1.57: [-1.23, -2.80, -1.25, -0.99], 0.07: [-0.19, -0.41, 0.14, 0.74], 2.59: [1.69, 3.44, 1.90, 3.32],
        2.58: [1.05, 3.91, 2.77], 5.98: [3.95, 8.98, 5.32, 5.68],
    }  # fmt: skip
    assert all(np.mean(means) == pytest.approx(average, abs=0.01) for average, means in printed.items())
    study = effective_robustness(a_table(), id=["photos", "web"], ood=["sketch", "art"], group="group", **QUICK)
    for (_, _), rows in study.groups().groupby(["id", "group"]):
        by_ood = rows.set_index("ood")
        single = by_ood.drop(AVERAGE)
        assert by_ood.loc[AVERAGE, "mean"] == pytest.approx(single["mean"].mean())
        assert by_ood.loc[AVERAGE, "mae"] == pytest.approx(single["mae"].mean())


def cell(row: int, column: str, value: object) -> pd.DataFrame:
    table = a_table().astype(object)
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (a_table(), {"id": "photo"}, "no column 'photo'; did you mean photos"),
        (a_table(), {"ood": ["sketch", "arts"]}, "no column 'arts'; did you mean art"),
        (a_table(), {"group": "grp"}, "no column 'grp'; did you mean group"),
        (a_table(), {"model": "name"}, "no column 'name'"),
        (a_table(), {"id": ["photos", "sketch"]}, "'sketch' is named twice"),
        (a_table(), {"id": []}, "at least one ID test set"),
        (cell(4, "photos", "n.a."), {}, "'n.a.' of model 'm4' in column 'photos' is not a number"),
        (cell(4, "photos", 104.5), {}, "104.5 of model 'm4' in column 'photos' is not an accuracy from 0 to 100"),
        (cell(4, "photos", -1), {}, "-1 of model 'm4' in column 'photos' is not an accuracy"),
        (cell(4, "photos", "inf"), {}, "inf of model 'm4'"),
        (cell(4, "model", "m9"), {}, "model 'm9' is in rows 5 and 10"),
        (cell(4, "model", ""), {}, "row 5 of the table has no model name"),
        (a_table().assign(photos=50.0), {}, "sketch: all 24 models have the same accuracy on photos"),
        (a_table().assign(sketch=50.0), {}, "sketch: all 24 models have the same accuracy on the OOD"),
        (a_table().assign(photos=np.nan), {}, "no model has an accuracy in column 'photos'"),
        (a_table(2), {}, "needs at least 3 models with accuracies on photos, sketch, and there are 2"),
        (a_table(), {"fit_on": "group == nobody"}, "no model of the table is selected"),
        (a_table(), {"fit_on": lambda t: t.photos}, "one boolean per row, not float64"),
        (a_table().assign(sketch=lambda t: t.sketch / 100), {}, "'photos' is in percent but no accuracy on 'sketch'"),
        (a_table(), {"unit": "fraction"}, "is not an accuracy from 0 to 1"),
        (a_table(), {"settings": {"sed": 1}}, "no setting 'sed'; did you mean seed"),
    ],
)
def test_bad_tables_are_one_sentence(table: pd.DataFrame, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        effective_robustness(table, **{"id": "photos", "ood": "sketch", **QUICK} | options)
    assert "\n" not in str(error.value)


def test_tiny_percentages_are_told_by_their_unit() -> None:
    table = a_table().assign(sketch=lambda t: t.sketch / 100)
    assert shift_table(table, ["photos"], ["sketch"], unit="percent").accuracy["sketch"].max() < 0.01


def test_a_file_without_models_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("model,val\n")
    with pytest.raises(UserError, match="a header but no models"):
        read_accuracies(path)
