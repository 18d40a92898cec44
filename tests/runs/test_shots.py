"""Shots and seeds as users say them."""

from typing import Any

import numpy as np
import pytest

from unseen.runs.shots import shots_in_python


@pytest.mark.parametrize(
    ("shots", "expected"),
    [
        ("all", (None,)), (["all"], (None,)), (None, (None,)), (8, (8,)), ("1,all", (1, None)),
        ([1, "8", np.int64(8), None, "all"], (1, 8, None)),
    ],
)  # fmt: skip
def test_shots_in_python_are_those_of_the_command(shots: Any, expected: tuple[int | None, ...]) -> None:
    assert shots_in_python(shots) == expected
