"""Choosing rows by a text: what it means, and that a mistake in it is found at its place."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.analyses.robustness.row_filter import row_filter
from unseen.errors import UserError

COLUMNS = ["model", "group", "val", "training data", "in"]
ROWS = [
    {"model": "a", "group": "baseline", "val": "70.0", "training data": "ImageNet 1k", "in": "1"},
    {"model": "b", "group": "clip", "val": "4", "training data": "web", "in": "0"},
    {"model": "c", "group": "", "val": "", "training data": "web", "in": "x"},
]


@pytest.mark.parametrize(
    ("text", "models"),
    [
        ("group == baseline", "a"),
        ("group != baseline", "bc"),
        ("group in {baseline, clip}", "ab"),
        ("group not in {clip}", "ac"),
        ("not group in {clip}", "ac"),
        ("val >= 5", "a"),
        ("val<5", "b"),
        ("val == 70", "a"),
        ("val in {4.0, 70}", "ab"),
        ("'training data' == \"ImageNet 1k\"", "a"),
        ("'in' == 1", "a"),
        ("group == baseline or group == clip and val > 50", "a"),
        ("(group == baseline or group == clip) and val <= 50", "b"),
        ("not (val > 5 or model == c)", "b"),
        ("group == ''", "c"),
        ("not not model == c", "c"),
        ("model in {a,b,}", None),
    ],
)
def test_means_what_it_says(text: str, models: str | None) -> None:
    if models is None:
        with pytest.raises(UserError, match="expected a value"):
            row_filter(text, COLUMNS)
        return
    test = row_filter(text, COLUMNS)
    assert "".join(row["model"] for row in ROWS if test(row)) == models


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", 1, "expected the name of a column, not the end"),
        ("grup == x", 1, "no column 'grup' in the table; did you mean group?"),
        ("group", 6, "expected a comparison"),
        ("group = x", 7, "'=' has no meaning here"),
        ("group == ", 10, "expected a value, not the end"),
        ("group in baseline", 10, "expected '{', not 'baseline'"),
        ("group in {a b}", 13, "expected ',' or '}', not 'b'"),
        ("group == a b", 12, "expected the end, `and` or `or`, not 'b'"),
        ("(group == a", 12, "expected ')', not the end"),
        ("val > high", 7, "expected a number after >, not 'high'"),
        ("group == 'a", 10, "a quote that is not closed"),
        ("group == a and and", 16, "expected the name of a column, not 'and'"),
        ("__import__('os').system('x')", 1, "no column '__import__'"),
    ],
)
def test_mistakes_have_a_place(text: str, place: int, message: str) -> None:
    with pytest.raises(UserError, match=rf"character {place}: {re.escape(message)}"):
        row_filter(text, COLUMNS)


def test_brackets_without_end_are_refused_not_followed() -> None:
    with pytest.raises(UserError, match="at most 50 brackets"):
        row_filter("(" * 5000 + "val > 1" + ")" * 5000, COLUMNS)
    with pytest.raises(UserError, match="at most 50 brackets"):
        row_filter("not " * 5000 + "val > 1", COLUMNS)


@given(st.text(alphabet="group val=<>!{}(),'\"andorti5.", max_size=40))
def test_any_text_is_understood_or_refused(text: str) -> None:
    try:
        test = row_filter(text, COLUMNS)
    except UserError:
        return
    assert [test(row) in (True, False) for row in ROWS] == [True] * 3
