"""Labels of retrieval benchmarks: what they say comes back, and what makes no sense is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.data.core.ranking import CODES, NOTHING, RELATIONS, image_label, query_label, relations
from unseen.errors import UserError


@given(
    st.lists(st.lists(st.integers(0, 3), min_size=4, max_size=4), min_size=1, max_size=20), st.permutations(range(4))
)
def test_relations_come_back_in_the_order_of_the_queries(codes: list[list[int]], order: list[int]) -> None:
    labels = [
        image_label({name: [q for q, code in enumerate(row) if code == CODES[name]] for name in RELATIONS})
        for row in codes
    ]
    found = relations(labels, [query_label(number) for number in order], "here")
    np.testing.assert_array_equal(found, np.array(codes)[:, order])


def test_labels_read_as_they_are_documented() -> None:
    assert image_label({"junk": [5], "easy": [7, 3], "hard": [12]}) == "easy:3,7+hard:12+junk:5"
    assert image_label({}) == NOTHING == "none"
    # A part of the queries, as in a quick look: relations to others are dropped.
    assert relations(["easy:0,9+junk:1", "none"], ["query:9"], "here").tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("database", "queries"),
    [
        (["none"], ["query:1", "query:1"]),
        (["none"], ["cat"]),
        (["none"], ["query:01"]),
        (["none"], ["query:"]),
        (["cat"], ["query:0"]),
        (["easy"], ["query:0"]),
        (["easy:"], ["query:0"]),
        (["easy:0+none"], ["query:0"]),
        (["easy:0,0"], ["query:0"]),
        (["easy:0+junk:0"], ["query:0"]),
        (["soft:0"], ["query:0"]),
        (["easy:-1"], ["query:0"]),
    ],
)
def test_labels_that_make_no_sense_are_refused(database: list[str], queries: list[str]) -> None:
    with pytest.raises(UserError, match=r"^here: "):
        relations(database, queries, "here")
