"""Studies as TOML: reading a file, and writing one with every setting and, for people, what each key means."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from types import ModuleType
from typing import Any

from unseen.errors import UserError, look_up
from unseen.extension.entry_points import PlugIn
from unseen.extension.own_code import is_own_file
from unseen.extension.registry import Registry
from unseen.probes.by_name import all_probes
from unseen.reading.guard import read_bounded
from unseen.reading.keys import Key, keys_of, toml_key, toml_value
from unseen.reading.toml_records import MOST_BYTES
from unseen.reading.toml_text import parse_toml
from unseen.studies.keys import ALL, BackboneKeys, StudyKeys
from unseen.studies.lost_packages import LostPackageError, lost_packages
from unseen.studies.paths import is_there, with_paths
from unseen.studies.study import BACKBONE, DATA, FILES, Study, changed, probe_class, probe_keys, probe_table
from unseen.text.words import joined

SUFFIX = ".toml"
TWICE = re.compile(r"Cannot declare (?P<names>\(.+\)) twice \(at line (?P<line>\d+)")
"""What `tomllib` says about two tables of one name."""
WIDTH, MOST_WIDTH = 56, 120
"""Columns before a comment, and the most columns with it: a longer comment has the line before."""


@cache
def study_texts() -> Registry[str]:
    """The text of every study with a name: ours in alphabetical order, then those of other packages."""
    folder = files("unseen.studies.shipped")
    found = sorted((each for each in folder.iterdir() if each.name.endswith(SUFFIX)), key=lambda each: each.name)
    ours = {each.name.removesuffix(SUFFIX): each.read_text("utf-8") for each in found}
    return Registry("studies", "study", ours, _text_of)


def _text_of(plug_in: PlugIn, package: Any) -> str:
    """The text of a study in a package that a plug-in names, if it can be read as a study."""
    if not isinstance(package, ModuleType):
        raise UserError(f"{plug_in.value} must be a package with the file {plug_in.name}{SUFFIX}, without an attribute")
    place = files(package).joinpath(f"{plug_in.name}{SUFFIX}")
    if not place.is_file():
        raise UserError(f"{plug_in.value} has no file {plug_in.name}{SUFFIX}")
    text = place.read_text("utf-8")
    study_of(text, plug_in.name, plug_in.origin)
    return text


def shipped_studies() -> list[str]:
    """The names of the studies that come with this package or with another one, ours first in alphabetical order."""
    return study_texts().names()


def shipped_study(name: str) -> Study:
    """A study that comes with this package or with another one."""
    return replace(study_of(look_up(study_texts(), name, "study"), name, name), based_on=name)


def find_study(word: str) -> Study:
    """A study by its name, or by the path of its file; the folder of a run stands for the study in it."""
    path = Path(word)
    if word in shipped_studies():
        return shipped_study(word)
    if path.is_dir() and (path / f"study{SUFFIX}").is_file():
        path = path / f"study{SUFFIX}"
    if path.is_file() or path.suffix.lower() == SUFFIX:
        return read_study(path)
    if path.is_dir():
        from unseen.runs.record import MONITOR

        if (path / MONITOR).is_file():
            raise UserError(f"{word}: the folder of an unseen.Monitor; give the study that the monitor was made with")
        raise UserError(f"{word}: a folder without a study.toml; give the file of a study, or the folder of a run")
    return shipped_study(word)


def read_study(path: Path) -> Study:
    """The study in a file; relative paths in it are looked up beside it."""
    if not path.is_file():
        raise UserError(f"{path}: no such file; unseen show {shipped_studies()[0]} > {path} starts one")
    try:
        text = read_bounded(path, MOST_BYTES).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read as text ({error})") from None
    try:
        study = study_of(text, path.stem, str(path))
    except UserError:
        lost = lost_packages(path.parent)
        if not lost:
            raise
        there = "a package that is" if len(lost) == 1 else "packages that are"
        raise LostPackageError(f"{path} needs {there} not installed; install {joined(lost)}") from None
    return beside(study, path.parent)


def study_of(text: str, name: str, where: str) -> Study:
    """The study that a text describes."""
    try:
        record = parse_toml(text)
    except tomllib.TOMLDecodeError as error:
        twice = TWICE.match(str(error))
        if twice:
            name, line = ".".join(ast.literal_eval(twice["names"])), twice["line"]
            raise UserError(f"{where}, line {line}: [{name}] is there twice; put its keys into one table") from None
        raise UserError(f"{where}: not TOML: {error}") from None
    return changed(Study(name=name), record, where)


def beside(study: Study, folder: Path) -> Study:
    """The study with paths that are relative to a folder, where such files exist there."""

    def placed(_: str, text: str) -> str:
        place = folder / Path(text).expanduser()
        return str(place) if is_there(place) else text

    files = {placed(FILES, path): digest for path, digest in study.files.items()}
    return replace(with_paths(study, placed), files=files)


def written(study: Study, *, comments: bool = False) -> str:
    """A study as TOML."""
    return "\n".join(_lines(study, comments)) + "\n"


def _lines(study: Study, comments: bool) -> Iterator[str]:
    for each in keys_of(StudyKeys).values():
        yield _line(each, getattr(study, each.field), comments)
    common = {name: value for name, value in study.backbone.items() if not isinstance(value, Mapping)}
    yield ""
    yield f"[{BACKBONE}]"
    yield from _table(keys_of(BackboneKeys), common, comments, without=("id",))
    for name, table in study.named_backbones.items():
        yield ""
        yield f"[{BACKBONE}.{toml_key(name)}]"
        yield from _table(keys_of(BackboneKeys), {"id": None, **table}, comments, only=table)
    for word in study.probes:
        name = probe_table(word)
        if is_own_file(word):
            values = study.settings.get(name, {})
            known = {each: Key(each, each, str, None, "") for each in values}
        else:
            known, values = probe_keys(probe_class(word)), study.settings.get(name, {})
        if known:
            yield ""
            yield f"[{toml_key(name)}]"
            yield from _table(known, values, comments)
    for name, table in study.data.items():
        yield ""
        yield f"[{DATA}.{toml_key(name)}]"
        yield from (f"{toml_key(key)} = {toml_value(value)}" for key, value in table.items())
    if study.files:
        yield ""
        yield f"[{FILES}]" + ("  # SHA-256 of each file, which must not have changed" if comments else "")
        yield from (f"{toml_key(path)} = {toml_value(digest)}" for path, digest in study.files.items())


def _table(
    known: Mapping[str, Key],
    values: Mapping[str, Any],
    comments: bool,
    *,
    without: tuple[str, ...] = (),
    only: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    for name, each in known.items():
        if name in without or (only is not None and each.field not in only):
            continue
        given = values.get(each.field, values.get(name, each.default))
        yield _line(each, given, comments)


def _line(each: Key, value: Any, comments: bool) -> str:
    """A key with its value; a key without a value is a comment."""
    single = value[0] if isinstance(value, tuple) and value == (ALL,) else value
    line = f"{toml_key(each.name)} = {toml_value(single)}" if value is not None else f"# {toml_key(each.name)} ="
    if not comments or not each.help:
        return line
    commented = f"{line:{WIDTH}}  # {each.help}"
    return commented if len(commented) <= MOST_WIDTH else f"# {each.help}\n{_folded(each, line, single)}"


def _folded(each: Key, line: str, value: Any) -> str:
    """A line, or several for a long list of words, which may be broken at every space."""
    if len(line) <= MOST_WIDTH or not isinstance(value, tuple) or any(" " in str(word) for word in value):
        return line
    text = ", ".join(map(toml_value, value))
    items = wrap(text, MOST_WIDTH - 3, break_long_words=False, break_on_hyphens=False)
    return "\n".join([f"{toml_key(each.name)} = [", *(f"  {part}" for part in items[:-1]), f"  {items[-1]},", "]"])


def study_keys() -> Iterator[tuple[str, Key]]:
    """Every key of a study with its place in the file, such as `knn.k`, for `unseen ls keys` and the reference."""
    yield from ((each.name, each) for each in keys_of(StudyKeys).values())
    yield from ((f"{BACKBONE}.{each.name}", each) for each in keys_of(BackboneKeys).values())
    for name, probe in all_probes().items():
        yield from ((f"{name}.{each.name}", each) for each in probe_keys(probe).values())
