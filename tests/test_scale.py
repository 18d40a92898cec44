"""The page on cost says what its script counts from the measured rates."""

import pytest

from scale import BEGIN, END, PAGE, Rates, extraction_seconds, facts, images, probing_seconds, rates, tables

RATE = Rates(model=60.0, decode=0.016, forward=0.0005)


def test_the_page_has_the_tables_of_the_script() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.partition(BEGIN)[2].partition(END)[0].strip() == tables(), "run benchmarks/scale.py --write"
    for what, value in facts().items():
        assert value in text, what


def test_the_slower_of_decoding_and_computing_counts() -> None:
    # 16 cores decode an image in 1 ms; a GPU takes half of that for one backbone, and 4 ms for eight.
    assert extraction_seconds(1, 1, RATE) == pytest.approx(images() * 0.001)
    assert extraction_seconds(8, 1, RATE) == pytest.approx(images() * 0.004)
    assert extraction_seconds(9, 2, RATE) == pytest.approx(images() * 0.005 / 2)


def test_groups_are_whole() -> None:
    assert probing_seconds(1, 1, RATE) == pytest.approx(3600)
    assert probing_seconds(1, 64, RATE) == pytest.approx(600)
    assert probing_seconds(2, 8, RATE) == pytest.approx(2 * 600)


def test_rates_are_those_of_the_benchmarks() -> None:
    found = rates()
    assert 30 < found.model < 90
    assert 1e-5 < found.forward < found.decode < 0.02
