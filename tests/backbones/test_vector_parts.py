"""What the columns of a feature vector are, from what its features say of themselves."""

import pytest

from unseen.backbones.vector_parts import blocks_in, is_several, stored_parts, vector_parts


def columns(*given: object) -> list[tuple[str, str, int, int]]:
    return [(part.block, part.kind, part.start, part.stop) for part in vector_parts(*given)]  # type: ignore[arg-type]


def test_the_last_four_blocks_as_in_dinov2() -> None:
    d = 8
    assert columns("last-4", "cls", 4 * d) == [(f"-{4 - i}", "cls", i * d, (i + 1) * d) for i in range(4)]
    assert columns("last-4", "cls+avg", 5 * d) == [*columns("last-4", "cls", 4 * d), ("-1", "avg", 4 * d, 5 * d)]
    assert columns("last-1", "cls+avg", 2 * d) == [("-1", "cls", 0, d), ("-1", "avg", d, 2 * d)]


def test_blocks_by_name() -> None:
    assert columns("blocks.8+blocks.11", "cls+avg", 9) == [
        ("blocks.8", "cls", 0, 3), ("blocks.11", "cls", 3, 6), ("blocks.11", "avg", 6, 9)
    ]  # fmt: skip
    assert columns("layer3+layer4", "avg", 7, (3, 4)) == [("layer3", "avg", 0, 3), ("layer4", "avg", 3, 7)]
    assert columns("penultimate", "none", 5) == [("penultimate", "none", 0, 5)]
    assert vector_parts("blocks.8", "avg", 5)[0].columns == slice(0, 5)


def test_unknown_parts_are_none() -> None:
    assert columns("layer3+layer4", "avg", 7) == []  # two parts of 7 columns, and no widths
    assert columns("layer3", "patches", 12) == []
    assert stored_parts({}) == stored_parts({"backbone": "mine"}) == stored_parts({"backbone": {"layer": "a"}}) == ()
    known = {"layer": "last-2", "pool": "avg", "dimension": 5, "widths": [2, 3]}
    assert [part.stop for part in stored_parts({"backbone": known})] == [2, 5]


@pytest.mark.parametrize("layer", ["blocks.1", "last-0", "last-", "last4", "all"])
def test_layers_that_are_one_module(layer: str) -> None:
    assert not is_several(layer)
    assert blocks_in(layer) == [layer]
