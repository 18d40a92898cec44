"""Panels on the results of 48 small networks, as in benchmarks/README.md."""

import re

import numpy as np
import pytest

from panels import POOL, read_pool
from unseen.analyses.panels.held_out import error_on_other_kinds, evaluate

README = POOL.with_name("README.md")


def test_the_table_of_the_readme_is_that_of_the_pool() -> None:
    levels, families, names = read_pool(POOL)
    assert len(names) == 48
    section = README.read_text(encoding="utf-8").partition("## Panels")[2]
    rows = {
        (cells[0], int(cells[1])): [float(number.replace("−", "-")) for number in re.findall(r"−?\d+\.\d+", line)]
        for line in section.splitlines()
        if len(cells := [cell.strip() for cell in line.split("|")[1:-1]]) == 7 and cells[0] in levels
    }
    assert len(rows) == 15
    for name, accuracy in levels.items():
        found = evaluate(accuracy, np.ones(45), 10)
        parts = (found.error, found.random, found.difference)
        numbers = [100 * number for each in parts for number in (each.value, each.low, each.high)]
        others = error_on_other_kinds(accuracy, np.ones(45), 10, families)
        assert others is not None
        assert rows[name, 10] == pytest.approx([*numbers, 100 * others], abs=0.006)
        assert found.beats_random
