"""What `unseen shifts captions` writes and says."""

from pathlib import Path

import pytest

from unseen.cli.shifts.captions import captions
from unseen.errors import UserError


def test_writes_the_test_set_and_says_what_it_covers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"k{i}\t{text}" for i, text in enumerate(["a tench", "two goldfish", "tench or goldfish", "a boat", "a crane"])
    ]
    (tmp_path / "a.tsv").write_text("\n".join(["key\tcaption", *lines, "broken"]) + "\n")
    settings = ["least=1", "held-out=1"]
    captions([tmp_path], id_="key", text="caption", out=tmp_path / "out", settings=settings, workers=1)
    said = capsys.readouterr()
    # Two classes are cranes, so that caption names several, as does the third.
    assert "5 captions: 2 name one class, 2 name several" in said.out
    assert "50.0%" in said.out
    assert "2 of 1,000 classes have at least 1 labelled images; 2 images are held out" in said.out
    assert "1 rows with too many or too few fields" in said.err
    assert "crane" in said.err
    assert (tmp_path / "out" / "remove.csv").read_text() == "id\nk0\nk1\n"
    assert (tmp_path / "out" / "test.csv").read_text() == (
        "id,class,caption\nk0,n01440764,a tench\nk1,n01443537,two goldfish\n"
    )


def test_a_mistake_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("key\tcaption\nk0\ta tench\n")
    with pytest.raises(UserError, match="did you mean caption"):
        captions([tmp_path], id_="key", text="captions", out=tmp_path / "out", workers=1)
    assert not (tmp_path / "out").exists()
