"""The table of a plan, in terminals of any width."""

import pytest

from unseen.cli.output import print_table
from unseen.cli.plan_table import plan_table
from unseen.studies.plan import Cell

VECTORS: dict[str, Cell] = {
    "data set": "digits", "backbone": "timm:resnet50.a1_in1k", "classes": 10, "train": 1151, "extracted": 0.5,
}  # fmt: skip
TRAINING: dict[str, Cell] = {
    "data set": "digits", "backbone": "timm:resnet50.a1_in1k", "probe": "fine-tuned", "seed": 1, "train": 1151,
    "val": 287, "test": 359, "trainings left": 41, "steps left": 205_000, "decoded images": 2_000_000,
}  # fmt: skip
SALIENCY: dict[str, Cell] = {
    "data set": "drawings, 1 image",
    "backbone": "a",
    "probe": "saliency",
    "images": 1,
    "grid": "8/8",
    "images left": 1,
}


def test_parts_of_one_kind_have_a_column_for_each_number() -> None:
    table = plan_table([TRAINING, TRAINING | {"seed": 2}], 1000)
    assert table.columns == list(TRAINING)
    assert table.rows[1][3:] == ["2", "1,151", "287", "359", "41", "205,000", "2.0 MB"]
    assert table.numbers == list(TRAINING)[3:]


@pytest.mark.parametrize(
    "parts", [[VECTORS, TRAINING, SALIENCY], [TRAINING], [{"model": "a", "test set": "b", "x": 1}]]
)
def test_every_number_is_in_the_narrow_table_and_no_heading_is_broken(
    parts: list[dict[str, Cell]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    table = plan_table(parts, 80 if len(parts[0]) > 3 else 3)
    assert table.columns[-1] == "work"
    assert len(table.rows) == len(parts)
    print_table("Plan", table.columns, table.rows, table.numbers)
    said = capsys.readouterr().out
    assert all(len(line) <= 80 for line in said.splitlines())
    assert said.splitlines()[1].split() == [word for column in table.columns for word in column.split()]
    for row, part in zip(table.rows, parts, strict=True):
        assert all(f"{cell:,}" in " ".join(row) for cell in part.values() if isinstance(cell, int) and cell < 1e6)


def test_columns_with_other_names_for_the_same_are_one() -> None:
    table = plan_table([VECTORS, {"domain": "l1", "model": "b", "columns": 2}], 1000)
    assert table.columns == ["data set", "backbone", "work"]
    assert table.rows[1] == ["l1", "b", "columns 2"]
