"""Python files of the user's own: what identifies them, and how their mistakes are told."""

import sys
from pathlib import Path

import pytest

from unseen.errors import UserError
from unseen.extension.own_code import attribute_of, is_own_file, loaded, own_file, own_place, running


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_places() -> None:
    assert own_place("a/b.py") == ("a/b.py", "")
    assert own_place("a/b.py:Name") == ("a/b.py", "Name")
    assert [is_own_file(name) for name in ("b.py", "b.py:x", "timm:resnet50", "knn", "b.pyc")] == [
        True, True, False, False, False,
    ]  # fmt: skip


def test_the_digest_is_of_the_file_and_of_the_modules_it_imports_from_its_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py", "import helper_of_mine\ndef f():\n    from parts.more import x\n    return x\n")
    write(tmp_path / "helper_of_mine.py", "import json, further_of_mine\n")
    write(tmp_path / "further_of_mine.py", "y = 1\n")
    write(tmp_path / "parts/more.py", "x = 3\n")
    write(tmp_path / "unrelated.py", "z = 1\n")
    first = own_file(path)
    assert first.modules == ("further_of_mine.py", "helper_of_mine.py", "parts/more.py")
    write(tmp_path / "unrelated.py", "z = 2\n")
    assert own_file(path) == first
    write(tmp_path / "further_of_mine.py", "y = 2\n")
    assert own_file(path).digest != first.digest


def test_a_file_runs_again_when_it_or_its_modules_change(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py", "from beside_mine import value\n")
    write(tmp_path / "beside_mine.py", "value = 1\n")
    assert attribute_of(own_file(path), ["value"], "value") == 1
    write(tmp_path / "beside_mine.py", "value = 2\n")
    assert attribute_of(own_file(path), ["value"], "value") == 2
    other = write(tmp_path / "other/mine.py", "from beside_mine import value\n")
    write(tmp_path / "other/beside_mine.py", "value = 3\n")
    assert attribute_of(own_file(other), ["value"], "value") == 3
    assert "beside_mine" not in sys.modules


def test_modules_that_are_imported_late_are_the_files_own(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.py", "def f():\n    from late_of_mine import value\n    return value\n")
    write(tmp_path / "late_of_mine.py", "value = 5\n")
    file = own_file(path)
    function = attribute_of(file, ["f"], "function")
    with running(file):
        assert function() == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\nraise ValueError('no')\n", r"mine\.py, line 2: ValueError: no"),
        ("def f(:\n", r"mine\.py, line 1: SyntaxError"),
        ("import failing_beside\n", r"failing_beside\.py, line 2: ZeroDivisionError"),
        ("import sys\nsys.exit('bye')\n", r"mine\.py, line 2: SystemExit: bye"),
    ],
)
def test_mistakes_are_told_with_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path / "failing_beside.py", "x = 0\n1 / x\n")
    with pytest.raises(UserError, match=message):
        loaded(own_file(write(tmp_path / "mine.py", text)))
    with pytest.raises(UserError, match="no such file"):
        own_file(tmp_path / "none.py")


@pytest.mark.parametrize("each", ["not {}", "1 + {}", "-{}", "a.{}"])
def test_code_that_is_nested_too_deeply_gets_one_sentence(tmp_path: Path, each: str) -> None:
    start, end = each.split("{}")
    with pytest.raises(UserError, match="mine.py: .*nested too deeply"):
        own_file(write(tmp_path / "mine.py", f"x = {start * 100_000}a{end * 100_000}\n"))
