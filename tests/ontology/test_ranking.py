"""Tie orders against real NumPy, and where levels start."""

import os
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.ontology.ranking import decreasing_order, introsort_order, level_starts

# With its vector instructions off, NumPy sorts as it did before 1.25.
PLAIN = {"NPY_DISABLE_CPU_FEATURES": "AVX2 AVX512F AVX512_SKX AVX512_ICL AVX512_SPR X86_V3 X86_V4"}
ARGSORT = """
import sys, numpy
with numpy.load(sys.argv[1]) as file:
    numpy.savez(sys.argv[2], **{name: [numpy.argsort(row) for row in file[name]] for name in file})
"""
LENGTHS = (2, 15, 16, 17, 18, 33, 100, 1000, 5146)
DISTINCT = (1, 3, 40, 10**6)


def rows_to_sort(length: int, distinct: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(length + distinct)
    return rng.integers(0, distinct, (5, length)).astype(np.float64)


@pytest.fixture(scope="module")
def plain_orders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, NDArray[np.int64]]:
    """The orders of NumPy without vector instructions, all from one process."""
    folder = tmp_path_factory.mktemp("orders")
    cases = {f"{length} {distinct}": rows_to_sort(length, distinct) for length in LENGTHS for distinct in DISTINCT}
    np.savez(folder / "rows.npz", **cases)
    command = [sys.executable, "-W", "ignore", "-c", ARGSORT, folder / "rows.npz", folder / "orders.npz"]
    subprocess.run(command, env=os.environ | PLAIN, check=True)
    with np.load(folder / "orders.npz") as file:
        return dict(file)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("distinct", DISTINCT)
def test_introsort_leaves_ties_where_plain_numpy_does(
    plain_orders: dict[str, NDArray[np.int64]], length: int, distinct: int
) -> None:
    expected = plain_orders[f"{length} {distinct}"]
    found = np.stack([introsort_order(row) for row in rows_to_sort(length, distinct)])
    if not (expected == found).all() and not plain_numpy_is_to_be_had():
        pytest.skip("this NumPy cannot be told to sort without vector instructions")
    assert np.array_equal(found, expected)


def plain_numpy_is_to_be_had() -> bool:
    """Whether NumPy on this processor has no vectorised argsort left once the features above are off."""
    code = "from numpy._core._multiarray_umath import __cpu_features__ as f; print([f.get(n) for n in {}])"
    code = code.replace("{}", "('AVX2', 'X86_V3', 'AVX512_SKX', 'ASIMD')")
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=os.environ | PLAIN, check=True, capture_output=True
    )
    return b"True" not in answer.stdout


@settings(deadline=None)
@given(arrays(np.float64, st.integers(0, 200), elements=st.sampled_from([0.0, 0.25, 0.5, 1.0, -2.0, np.inf])))
def test_both_orders_are_decreasing_permutations(values: np.ndarray) -> None:
    for ties in ("stable", "numpy-1.24"):
        order = decreasing_order(values, ties)  # type: ignore[arg-type]
        assert sorted(order.tolist()) == list(range(len(values)))
        assert (np.diff(values[order]) <= 0).all() if np.isfinite(values).all() else True
    stable = decreasing_order(values, "stable").tolist()
    assert stable == sorted(range(len(values)), key=lambda i: -values[i])


def test_not_a_number_cannot_be_ranked() -> None:
    with pytest.raises(UserError, match="not a number"):
        decreasing_order(np.array([0.1, np.nan]), "stable")


def test_published_starts() -> None:
    assert level_starts(5146, 5, 1000, "to-end") == (0, 1036, 2072, 3108, 4146)
    assert level_starts(5754, 5, 1000, "equal-gaps") == (0, 1188, 2376, 3564, 4752)
    assert level_starts(5000, 5, 1000, "contiguous") == (0, 1000, 2000, 3000, 4000)


@given(
    st.integers(1, 9), st.integers(1, 50), st.integers(0, 300), st.sampled_from(["to-end", "equal-gaps", "contiguous"])
)
def test_levels_never_overlap_and_stay_inside(levels: int, size: int, spare: int, spread: str) -> None:
    concepts = levels * size + spare
    starts = level_starts(concepts, levels, size, spread)  # type: ignore[arg-type]
    assert starts[0] == 0
    assert all(b - a >= size for a, b in pairwise(starts))
    assert starts[-1] + size <= concepts
    if spread == "to-end" and levels > 1:
        assert starts[-1] + size == concepts


@pytest.mark.parametrize(("levels", "size"), [(0, 10), (5, 0), (-1, 10)])
def test_levels_of_nothing_are_refused(levels: int, size: int) -> None:
    with pytest.raises(UserError, match="at least 1"):
        level_starts(100, levels, size, "to-end")


def test_too_few_concepts_are_refused() -> None:
    with pytest.raises(UserError, match="99 eligible concepts are too few for 5 levels of 20"):
        level_starts(99, 5, 20, "to-end")
