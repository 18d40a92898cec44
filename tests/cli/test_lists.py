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

from unseen.cli.command import SPLIT_PATHS
from unseen.cli.main import app
from unseen.errors import UserError

Unseen = Callable[..., Any]
SPLIT = {
    "--alphas", "--backbone", "--category", "--classes", "--datasets", "--devices", "--domains", "--exclude-subtree",
    "--explain", "--extended", "--id", "--imagenet-top1", "--min-id", "--name", "--network", "--normalize", "--only",
    "--ood", "--probe", "--probes", "--rates", "--ratios", "--shares", "--shots", "--sizes",
}  # fmt: skip
WHOLE = {"--data", "--id-for", "--metric", "--test-set", "--where", "--without"}
ONCE_IN = {
    "--backbone": {"unseen probe", "unseen shifts finetune"},
    "--classes": {"unseen shifts pool"},
    "--data": {"unseen shifts finetune"},
    "--id": {"unseen shifts captions"},
    "--ood": {"unseen shifts pairs"},
    "--probe": {"unseen probe"},
    "--shots": {"unseen report", "unseen leaderboard"},
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
        assert not re.search("commas|repeat|Several", param.help)
        return
    [first] = parsed(command, param, *given)
    assert "repeat" in param.help
    if option in WHOLE:
        assert "never split at commas" in param.help
        values = parsed(command, param, option, "a,b", option, "c", option, '"d,e"')
        assert values == [type(first)(value) for value in ("a,b", "c", '"d,e"')]
        return
    assert "double quotes protect a comma" in param.help
    assert parsed(command, param, option, word, option, f"{word}, {word}", f"{option}={word}") == [first] * 4
    for text in (f"{word},", "", " "):
        with pytest.raises(UserError, match=f"^{option} "):
            parsed(command, param, option, text)
    if isinstance(first, str) and not param.metavar.startswith("[imagenet"):
        values = parsed(command, param, option, 'a,"b,c",  d e', option, '"f, g"')
        assert values == ["a", "b,c", "d e", "f, g"]


def test_all_three_occur() -> None:
    names = Counter(param.opts[0] for _, _, param in OPTIONS)
    assert set(names) > SPLIT | WHOLE
    assert len(OPTIONS) > 300


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
    answer = unseen("shifts", "fit", "t.csv", "--seed", "1", "--seed", "2", "--help")
    assert (answer.code, "Usage" in answer.out) == (0, True)


def test_options_without_a_value_may_be_repeated_with_one() -> None:
    [(_, command, param)] = [each for each in OPTIONS if each[2].opts == ["--extended"]]
    assert parsed(command, param, "--extended", "--extended", "pca,knn") == ["all", "pca", "knn"]


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
    words = ("--id", "photos", "--ood", "sketch", "--seed", 1, "--seed", 2)
    answer = unseen("shifts", "fit", table, *words, "--out", out)
    assert (answer.code, answer.err) == (2, "unseen: --seed was given 2 times; give it once\n")
    assert not out.exists()


def test_lists_of_python_are_those_of_commas() -> None:
    from unseen.runs.machine import parse_devices
    from unseen.runs.shots import parse_shots, shots_in_python
    from unseen.studies.concepts.chosen import chosen_domains, chosen_probes

    assert chosen_domains(["l1", "l5"], ["in1k", "l1", "l5"]) == chosen_domains("l5,l1", ["in1k", "l1", "l5"])
    assert chosen_probes(["knn", "pca"]) == chosen_probes("pca,knn") == ("knn", "pca")
    assert shots_in_python([1, "8", None]) == parse_shots("1,8,all") == parse_shots(["1", "8,all"]) == (1, 8, None)
    assert parse_devices(["cpu", "cpu"]) == parse_devices("cpu,cpu") == ("cpu", "cpu")
