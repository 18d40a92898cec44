"""The first line of a slow command."""

import time

import pytest
from typer.main import get_command

from unseen.cli import starting
from unseen.cli.ls.command import KINDS
from unseen.cli.main import app
from unseen.cli.output import note


def test_a_silent_command_prints_a_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(starting, "SECONDS", 0.01)
    with starting.starting(["run", "cog-v2", "--out", "run"]):
        deadline = time.monotonic() + 10
        while not (said := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.005)
    assert said == f"{starting.SLOW['run']}\n"


@pytest.mark.parametrize("words", [[], ["doctor"], ["shifts", "fit"], ["shifts"], ["run", "--help"]])
def test_quick_commands_print_none(words: list[str]) -> None:
    with starting.starting(words):
        assert not starting._waiting


def test_the_line_is_left_out_after_other_output(capsys: pytest.CaptureFixture[str]) -> None:
    with starting.starting(["shifts", "pool"]):
        [timer] = starting._waiting
        note("12 images")
        assert not starting._waiting
        assert timer.finished.is_set()
    assert capsys.readouterr().err == "12 images\n"


def test_first_lines_come_within_two_seconds_and_name_commands() -> None:
    assert starting.SECONDS < 2
    for name in starting.SLOW:
        first, *rest = name.split()
        command = get_command(app).commands[first]  # type: ignore[attr-defined]
        assert not rest or rest[0] in (KINDS if first == "ls" else command.commands)
