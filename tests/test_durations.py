"""Seconds, rates and counts in words."""

import pytest

from unseen.words import counted, rate


@pytest.mark.parametrize(
    ("per_second", "words"),
    [
        (1234.4, "1,234 a second"),
        (3.21, "3.2 a second"),
        (0.96, "1.0 a second"),
        (0.2, "12.0 a minute"),
        (0.01, "36.0 an hour"),
    ],
)
def test_a_rate_is_never_rounded_to_nothing(per_second: float, words: str) -> None:
    assert rate(per_second) == words


def test_one_is_singular() -> None:
    assert [counted(number, "core") for number in (1, 2, 1200)] == ["1 core", "2 cores", "1,200 cores"]
    assert counted(2, "setting of shots") == "2 settings of shots"
    assert rate(2, "steps") == "2.0 steps a second"
