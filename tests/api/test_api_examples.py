"""The examples in the docstrings of the public functions give what they show."""

import doctest

import pytest

import unseen


@pytest.mark.parametrize(
    "name", ["levels", "build_levels", "similarity", "published", "leaderboard", "effective_robustness"]
)
def test_example(name: str) -> None:
    [example] = doctest.DocTestFinder(recurse=False).find(getattr(unseen, name), name, globs={"unseen": unseen})
    assert any(step.want for step in example.examples)
    assert doctest.DocTestRunner().run(example).failed == 0
