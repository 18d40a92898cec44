"""Every option of every command is a list that is split at commas, a list that is not, or given once."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from scipy import special

from unseen.cli.command import SPLIT_PATHS, WHOLE
from unseen.cli.main import app
from unseen.errors import UserError

Unseen = Callable[..., Any]
SPLIT = {
    "--against", "--alphas", "--backbone", "--category", "--datasets", "--devices", "--explain", "--id", "--network",
    "--log", "--ood", "--probes", "--shots",
}  # fmt: skip
ONCE_IN = {
    "--backbone": {"unseen probe", "unseen duplicates", "unseen shifts finetune"},
    "--data": {"unseen ls", "unseen doctor", "unseen shifts finetune"},
    "--id": {"unseen shifts captions"},
    "--ood": {"unseen shifts pairs"},
    "--shots": {"unseen report", "unseen leaderboard", "unseen panel", "unseen power"},
}
"""Options that are lists in other commands."""


def options(command: Any, path: str = "unseen") -> Iterator[tuple[str, Any, Any]]:
    """All commands with all their options."""
    for name, child in getattr(command, "commands", {}).items():
        yield from options(child, f"{path} {name}")
    if not hasattr(command, "commands"):
        yield from ((path, command, param) for param in command.params if param.param_type_name == "option")


OPTIONS = list(options(typer.main.get_command(app)))


def value_of(param: Any) -> list[str]:
    """Words that a parameter accepts."""
    choices = re.fullmatch(r"\[([\w.+|-]+)\]", param.metavar or "")
    word = choices[1].split("|")[0] if choices and param.metavar != "[N|all]" else "1"
    return [word] * param.nargs if param.nargs > 0 else [word]


def parsed(command: Any, param: Any, *words: str) -> Any:
    """The value of an option after parsing these words; parameters that are required are given as well."""
    for needed in command.params:
        if needed.required and needed is not param:
            words = (*words, *(needed.opts[:1] if needed.param_type_name == "option" else ()), *value_of(needed))
    value = command.make_context("command", list(words)).params[param.name]
    return list(value) if param.multiple else value


@pytest.mark.parametrize(("path", "command", "param"), OPTIONS, ids=[f"{p} {o.opts[0]}" for p, _, o in OPTIONS])
def test_every_option_does_one_of_three_things(path: str, command: Any, param: Any) -> None:
    option, [word] = param.opts[0], set(value_of(param))
    given = [option] if param.is_flag else [option, *value_of(param)]
    if path in ONCE_IN.get(option, ()) or option not in SPLIT | WHOLE:
        with pytest.raises(UserError, match=f"^{option} was given 3 times; give it once$"):
            parsed(command, param, *given * 3)
        parsed(command, param, *given)
        assert not param.multiple
        return
    [first] = parsed(command, param, *given)
    if option in WHOLE:
        values = parsed(command, param, option, "a,b", option, "c", option, '"d,e"')
        assert values == [type(first)(value) for value in ("a,b", "c", '"d,e"')]
        return
    assert parsed(command, param, option, word, option, f"{word}, {word}", f"{option}={word}") == [first] * 4
    for text in (f"{word},", "", " "):
        with pytest.raises(UserError, match=f"^{option} "):
            parsed(command, param, option, text)
    if isinstance(first, str):
        values = parsed(command, param, option, 'a,"b,c",  d e', option, '"f, g"')
        assert values == ["a", "b,c", "d e", "f, g"]


def test_all_three_occur() -> None:
    names = Counter(param.opts[0] for _, _, param in OPTIONS)
    assert set(names) > SPLIT | WHOLE
    assert not SPLIT & WHOLE
    assert SPLIT_PATHS <= SPLIT


def test_help_says_how_lists_are_given() -> None:
    """Once per command for those that are split; beside each one that is not."""
    commands = {path: (command, [o for p, _, o in OPTIONS if p == path and o.multiple]) for path, command, _ in OPTIONS}
    for path, (command, lists) in commands.items():
        split = [param for param in lists if param.opts[0] not in WHOLE]
        assert bool(re.search("commas.*double quotes", command.epilog or "")) == bool(split), path
        assert all(("," in (param.metavar or "")) == (param in split) for param in lists), path
        assert all("repeated" in param.help for param in lists if param not in split), path


@pytest.mark.parametrize("option", sorted(SPLIT_PATHS))
def test_a_path_with_a_comma_must_be_in_double_quotes(
    option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command, param = next((c, o) for p, c, o in OPTIONS if o.opts[0] == option and p not in ONCE_IN.get(option, ()))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a, b,c.toml"
    path.touch()
    for given in (str(path), f"dtd, {path}", f"dtd,{path},pets", f"{path.name},pets"):
        with pytest.raises(UserError, match=re.escape('a, b,c.toml"')):
            parsed(command, param, option, given)
    assert parsed(command, param, option, f'dtd,"{path}"') == ["dtd", str(path)]
    assert parsed(command, param, option, "dtd,pets") == ["dtd", "pets"]


def test_help_comes_before_a_mistake(unseen: Unseen) -> None:
    answer = unseen("shifts", "fit", "t.csv", "--out", "1", "--out", "2", "--help")
    assert (answer.code, "Usage" in answer.out) == (0, True)


def test_a_value_of_several_lines_is_refused(unseen: Unseen) -> None:
    answer = unseen("papers", "tables", "--json", "--json")
    assert (answer.code, answer.err) == (2, "unseen: --json was given 2 times; give it once\n")
    answer = unseen("leaderboard", "--category", "reference\nx,y")
    assert (answer.code, answer.err.count("\n")) == (2, 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Accuracies on `sketch` that follow those on photos and web together, and neither alone."""
    photos, web = np.random.default_rng(0).normal(0.3, 1, (2, 30))
    shares = special.expit(np.column_stack([photos, web, 0.5 * photos + 0.5 * web]))
    rows = [f"m{number}," + ",".join(f"{100 * value:.3f}" for value in row) for number, row in enumerate(shares)]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["model,photos,web,sketch", *rows]))
    return path


@pytest.mark.parametrize("ids", [["--id", "photos,web"], ["--id", "photos", "--id", "web"]])
def test_a_fit_uses_every_id_set(unseen: Unseen, table: Path, ids: list[str]) -> None:
    answer = unseen("shifts", "fit", table, *ids, "--ood", "sketch", "--out", table.parent / "out")
    assert answer.code == 0, answer.err
    fit = json.loads((table.parent / "out" / "fit.json").read_text())["ood"]["sketch"]
    assert list(fit["coefficients"]) == ["photos", "web"]
    assert fit["r2"] == pytest.approx(1, abs=1e-4)


def test_a_second_value_is_refused_and_nothing_written(unseen: Unseen, table: Path) -> None:
    out = table.parent / "out"
    words = ("--id", "photos", "--ood", "sketch", "--out", out)
    twice = {
        ("--out", out): "--out was given 2 times; give it once",
        ("--set", "seed=1", "--set", "seed=2"): "--set seed is given twice; give it once",
    }
    for more, sentence in twice.items():
        answer = unseen("shifts", "fit", table, *words, *more)
        assert (answer.code, answer.err) == (2, f"unseen: {sentence}\n")
        assert not out.exists()


def test_lists_of_python_are_those_of_commas() -> None:
    from unseen.api.running import study
    from unseen.cli.study_options import Changes
    from unseen.runs.machine import parse_devices

    named = study("cog-v2", datasets=["in1k", "l5"], probes=["knn", "pca"], shots=[1, 8, "all"])
    assert Changes(datasets=["in1k", "l5"], probes=["knn", "pca"], shots=["1", "8", "all"]).of(study("cog-v2")) == named
    assert study("cog-v2", shots="all").shots == ("all",)
    assert parse_devices(["cpu", "cpu"]) == parse_devices("cpu,cpu") == ("cpu", "cpu")
