"""How many examples Hypothesis tries."""

from typing import Any

from hypothesis import settings

USUAL = 100
"""Examples of a test that names no number, in the usual run of the tests."""


def examples(count: int, **options: Any) -> settings:
    """Settings of a test with a number of examples in the usual run, and in the long suite as many times more."""
    return settings(max_examples=count * settings.default.max_examples // USUAL, **options)
