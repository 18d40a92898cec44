"""Seconds, rates, counts and differences in words."""

import pytest

from unseen.text.words import counted, duration, printable, rate, signed, whole_number


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
    assert counted(2, "data set") == "2 data sets"
    assert [counted(number, "class") for number in (1, 2)] == ["1 class", "2 classes"]


def test_a_duration_has_the_digits_that_matter() -> None:
    assert [duration(seconds) for seconds in (0.04, 9.94, 9.96, 89, 91, 5399, 5400, 39_000)] == [
        "0.0 s", "9.9 s", "10 s", "89 s", "1.5 min", "90 min", "1.5 h", "11 h",
    ]  # fmt: skip


def test_a_difference_has_its_sign_but_for_zero() -> None:
    assert [signed(value) for value in (1.25, -0.5, 0.04, -0.04)] == ["+1.2", "−0.5", "0.0", "0.0"]
    assert signed(-0.04, 2) == "−0.04"


def test_escape_sequences_are_replaced_where_we_print() -> None:
    assert printable("\x1b]0;title\x07 \x9b31m \u202e name\nsecond line") == "�]0;title� �31m � name\nsecond line"
    assert printable("größe 日本 🦊") == "größe 日本 🦊"


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("0", 0), ("²", None), ("٣", None), ("-1", None), ("", None)])
def test_whole_numbers_are_plain_digits(text: str, number: int | None) -> None:
    assert whole_number(text) == number
    assert whole_number("9" * 5000) is None
