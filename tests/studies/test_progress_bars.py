"""Bars of long calls: on a terminal, and nowhere else."""

import logging
import sys

import pytest
import rich.console

from unseen.features.progress import Progress
from unseen.studies.progress_bars import Bars, bars


def use(watch: Bars) -> list[int]:
    watch.extracting("l1", "train")(Progress(1, 2, 1.0, 0.0))
    watch.stepping("l1", 5)(5)
    return list(watch.track(iter([1, 2]), "jobs", 2))


def test_items_pass_and_nothing_is_shown_in_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    with bars() as watch:
        assert use(watch) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_bars_on_a_terminal_go_away(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rich.console.Console, "is_terminal", property(lambda _: True))
    with bars() as watch:
        assert use(watch) == [1, 2]
    with bars(show=False) as silent:
        assert use(silent) == [1, 2]
    assert "l1, train: images" in capsys.readouterr().err


def test_a_notebook_without_widgets_gets_no_warnings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with bars() as watch:
        assert use(watch) == [1, 2]
    assert capsys.readouterr() == ("", "")


def test_remarks_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), bars() as watch:
        watch.tell("2 damaged images were left out")
    assert caplog.messages == ["2 damaged images were left out"]
