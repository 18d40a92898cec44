"""Comparisons of documented output."""

import pytest
from documented import same_output


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a 0.441\n  b", "a  0.440 b\n", True),
        ("a 0.441", "a 0.5", False),
        ("rank 1", "rank 2", False),
        ("a 0.441", "b 0.441", False),
        ("1.5 2.5", "1.5", False),
        ("−0.60 L5", "−0.61 L5", True),
        ("−0.60", "0.60", False),
    ],
)
def test_same_output(shown: str, printed: str, *, same: bool) -> None:
    assert same_output(shown, printed) == same
