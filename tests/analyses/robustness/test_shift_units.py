"""Percent or fractions: every mixture is refused, and what is one unit is read as it is."""

import numpy as np
import pandas as pd
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.analyses.robustness.table import shift_table
from unseen.errors import UserError

FRACTIONS = st.floats(0.02, 1, allow_nan=False)
ROWS = st.lists(st.tuples(FRACTIONS, FRACTIONS), min_size=4, max_size=12)


def table(accuracies: np.ndarray) -> pd.DataFrame:
    names = [f"m{i}" for i in range(len(accuracies))]
    return pd.DataFrame({"model": names, "val": accuracies[:, 0], "art": accuracies[:, 1]})


def read(made: pd.DataFrame, **options: str) -> np.ndarray:
    checked = shift_table(made, ["val"], ["art"], **options)  # type: ignore[arg-type]
    return np.column_stack([checked.accuracy["val"], checked.accuracy["art"]])


@examples(40)
@given(ROWS)
def test_one_unit_is_detected(rows: list[tuple[float, float]]) -> None:
    fractions = np.array(rows)
    assert np.allclose(read(table(fractions)), fractions)
    assert np.allclose(read(table(100 * fractions)), fractions)


@examples(60)
@given(ROWS, st.data())
def test_rows_of_both_units_are_refused_by_name(rows: list[tuple[float, float]], data: st.DataObject) -> None:
    fractions = np.array(rows)
    n = len(rows)
    chosen = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1, max_size=n - 1)))
    mixed = 100 * fractions
    mixed[chosen] /= 100
    odd = chosen if len(chosen) <= n - len(chosen) else sorted(set(range(n)) - set(chosen))
    with pytest.raises(UserError, match="unit=.percent.") as error:
        read(table(mixed))
    assert f"{len(odd)} of {n} models" in str(error.value)
    assert f"(m{odd[0]}" in str(error.value)
    assert np.allclose(read(table(mixed), unit="percent"), mixed / 100)
    with pytest.raises(UserError, match="is not an accuracy from 0 to 1"):
        read(table(mixed), unit="fraction")


def test_gaps_and_zeros_have_no_unit() -> None:
    rows = np.array([[60.0, 40.0], [70.0, 0.4], [0.0, 0.0], [np.nan, np.nan], [0.5, 2.0]])
    assert np.allclose(read(table(rows)), rows / 100, equal_nan=True)


def test_weak_models_are_read_where_the_unit_is_said() -> None:
    rows = np.array([[60.0, 40.0], [0.8, 0.7], [70.0, 50.0]])
    with pytest.raises(UserError, match=r"1 of 3 models .*\(m1\)"):
        read(table(rows))
    assert read(table(rows), unit="percent")[1] == pytest.approx([0.008, 0.007])


def test_a_model_or_a_group_may_be_called_na() -> None:
    made = table(np.array([[60.0, 40.0], [70.0, 50.0], [65.0, 45.0]])).assign(group=["NA", "none", None])
    made["model"] = ["NA", "None", "nan"]
    checked = shift_table(made, ["val"], ["art"], group="group", fit_on="model == NA or group == none")
    assert checked.models == ("NA", "None", "nan")
    assert checked.groups == ("NA", "none", "none")
    assert checked.in_fit.tolist() == [True, True, False]
    made.loc[1, "model"] = np.nan
    with pytest.raises(UserError, match="row 2 of the table has no model name"):
        shift_table(made, ["val"], ["art"])
