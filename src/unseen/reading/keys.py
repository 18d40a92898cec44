"""Settings that a user may choose: declared once, as fields of a frozen dataclass with `key`.

From a declaration follow how a value is read from TOML, from Python and from `--set key=value`, how it is written, its
explanation in `unseen show` and in the reference, and the JSON schema for editors.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from math import isfinite
from os import PathLike, fspath
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from unseen.errors import UserError, did_you_mean
from unseen.reading.json_records import NAMES, typed
from unseen.reading.toml_text import parse_toml

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
FEW, MOST_CLOSE = 12, 3
"""Keys that an error lists if none is close to a wrong one, and the largest number of those that are close."""
SCHEMA_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


@dataclass(frozen=True)
class Key:
    """A setting.

    Attributes:
        name: as in files and on the command line: `class-balanced`.
        field: its name in Python: `class_balanced`.
        hint: the type of its value; a sequence is a tuple.
        help: a few words, as shown beside it.
        choices: the allowed words, if there are only a few; None in files for any word.
        least, most: the smallest and the largest allowed number.
        above: a number that is too small, as are all below it.
        path: whether its value may be a path, or name one.
        repeats: whether a list may have a value twice.
    """

    name: str
    field: str
    hint: Any
    default: Any
    help: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    above: float | None = None
    path: bool = False
    repeats: bool = False

    @property
    def kinds(self) -> tuple[Any, ...]:
        """The types of a single value, without that of a missing one: words of a `Literal` as they are."""
        return tuple(dict.fromkeys(_kinds(self.hint)))

    @property
    def listed(self) -> bool:
        """Whether several values can be given."""
        return any(get_origin(each) is tuple for each in _members(self.hint))

    @property
    def words(self) -> tuple[str, ...]:
        """The words that are allowed, beside other values if there are any."""
        return self.choices or tuple(each for each in self.kinds if isinstance(each, str))

    @property
    def type_words(self) -> str:
        """The type in words: `a whole number or "all"`."""
        single = [f'"{each}"' if isinstance(each, str) else NAMES[each] for each in self.kinds if each is not str]
        single += [f'"{word}"' for word in self.choices]
        if str in self.kinds and not self.choices:
            single.append(NAMES[str])
        words = " or ".join(single)
        return f"{words}; or a list" if self.listed else words


def key(
    default: Any,
    help: str,  # noqa: A002
    *,
    choices: Iterable[str] = (),
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    path: bool = False,
    repeats: bool = False,
    hint: Any = None,
    identity: bool = True,
) -> Any:
    """A field of a dataclass that users set.

    Args:
        help, choices, least, most, above, path, repeats: as in `Key`.
        hint: the type of its value in files, if Python takes further types.
        identity: whether it is a part of the identity of jobs; not if it becomes a part of another field before
            anything is computed, or only decides which jobs there are.
    """
    about = {"choices": tuple(choices), "least": least, "most": most, "above": above, "path": path, "repeats": repeats}
    return field(default=default, metadata={"key": help, "about": about, "hint": hint, "identity": identity})


def is_identity(each: "Field[Any]") -> bool:
    """Whether a field is a part of the identity of jobs."""
    return bool(each.metadata.get("identity", True))


def keys_of(cls: type) -> dict[str, Key]:
    """The keys of a dataclass by name, in order."""
    return _keys_of(cls)


@cache
def _keys_of(cls: type) -> dict[str, Key]:
    found = (_key(each, cls) for each in fields(cls) if "key" in each.metadata)
    return {each.name: each for each in found}


def _key(each: "Field[Any]", cls: type) -> Key:
    default = each.default if each.default is not MISSING else None
    hint = each.type if each.metadata["hint"] is None else each.metadata["hint"]
    if isinstance(hint, str):
        hint = eval(hint, vars(import_module(cls.__module__)))  # noqa: S307 (an annotation of our own, in quotes)
    return Key(file_name(each.name), each.name, hint, default, each.metadata["key"], **each.metadata["about"])


def file_name(name: str) -> str:
    """The name of a key in files: with dashes, and without the `_` after a word that Python reserves."""
    return name.rstrip("_").replace("_", "-")


def _members(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in {Union, UnionType} else (hint,)


def _kinds(hint: Any) -> Iterable[Any]:
    for each in _members(hint):
        if get_origin(each) is tuple:
            yield from (kind for kind in _kinds(get_args(each)[0]))
        elif get_origin(each) is Literal:
            yield from get_args(each)
        elif each is not NoneType:
            yield each


def find_key(keys: Mapping[str, Key], name: str, where: str, others: Iterable[str] = ()) -> Key:
    """The key of that name, as in files or in Python; an unknown name is a user's error with the nearest ones.

    Args:
        others: places of further keys to suggest, such as `knn.k`.
    """
    for each in (name, file_name(name)):
        if each in keys:
            return keys[each]
    places = [*keys, *others]
    close = _nearest(file_name(name), places)
    every = f"there are {', '.join(places)}" if len(places) <= FEW else "unseen ls keys lists them"
    hint = f"did you mean {' or '.join(close)}?" if close else every
    raise UserError(f"{where}: no key '{name}'; {hint}")


def _nearest(name: str, places: Iterable[str]) -> list[str]:
    """The nearest of some places such as `knn.k`, by the whole place, its table or its key."""
    by_part: dict[str, list[str]] = {}
    for place in places:
        for part in dict.fromkeys([place, *place.split(".")]):
            by_part.setdefault(part, []).append(place)
    close = get_close_matches(name, by_part, n=MOST_CLOSE)
    return [*dict.fromkeys(place for part in close for place in by_part[part])][:MOST_CLOSE]


def read_value(wanted: Key, value: Any, where: str) -> Any:
    """A value from TOML or Python, checked; a single value stands for a list of one."""
    if value is None:
        if NoneType in _members(wanted.hint):
            return None
        raise UserError(f"{where}: {wanted.name} needs a value: {wanted.type_words}")
    value = fspath(value) if isinstance(value, PathLike) else value
    given = value
    if isinstance(value, list | tuple | range):
        given = [fspath(each) if isinstance(each, PathLike) else each for each in value]
    for hint in _members(wanted.hint):
        if hint is NoneType:
            continue
        several = get_origin(hint) is tuple
        if isinstance(given, list) != several and not several:
            continue
        try:
            found = typed(given if isinstance(given, list) or not several else [given], hint, "")
        except UserError:
            continue
        return _checked(wanted, _as_float(found, wanted.kinds), where)
    raise _wrong(wanted, value, where)


def _as_float(value: Any, kinds: tuple[Any, ...]) -> Any:
    """Whole numbers as floats where only those are meant."""
    if isinstance(value, tuple):
        return tuple(_as_float(each, kinds) for each in value)
    if isinstance(value, int) and not isinstance(value, bool) and float in kinds and int not in kinds:
        return float(value)
    return value


def _checked(wanted: Key, value: Any, where: str) -> Any:
    values = value if isinstance(value, tuple) else (value,)
    for each in values:
        if wanted.choices and isinstance(each, str) and each not in wanted.choices:
            raise _wrong(wanted, each, where)
        if isinstance(each, int | float) and not isinstance(each, bool):
            _check_number(wanted, each, where)
    if isinstance(value, tuple):
        if not value and wanted.default != ():
            raise UserError(f"{where}: {wanted.name} is empty; give at least one")
        if "" in value:
            raise UserError(f"{where}: {wanted.name} has an empty word; leave it out")
        twice = next((each for each in value if value.count(each) > 1), None)
        if twice is not None and not wanted.repeats:
            raise UserError(f"{where}: {wanted.name} has {shown(twice)} twice; give it once")
    return value


def _check_number(wanted: Key, value: float, where: str) -> None:
    if isinstance(value, float) and not isfinite(value):
        raise UserError(f"{where}: {wanted.name} must be a finite number, not {value}")
    if wanted.least is not None and value < wanted.least:
        raise UserError(f"{where}: {wanted.name} must be at least {wanted.least:g}, not {value}")
    if wanted.above is not None and value <= wanted.above:
        raise UserError(f"{where}: {wanted.name} must be greater than {wanted.above:g}, not {value}")
    if wanted.most is not None and value > wanted.most:
        raise UserError(f"{where}: {wanted.name} must be at most {wanted.most:g}, not {value}")


def _wrong(wanted: Key, value: Any, where: str) -> UserError:
    hint = did_you_mean(value, wanted.words) if isinstance(value, str) else ""
    return UserError(f"{where}: {wanted.name} must be {wanted.type_words}, not {shown(value)}{hint}")


def shown(value: Any) -> str:
    """A value in an error."""
    try:
        return toml_value(value)[:60]
    except TypeError:
        return f"{value!r:.60}"


def read_text(wanted: Key, text: str, where: str) -> Any:
    """A value from `--set`: TOML of the right type, or else a bare word, or words separated by commas.

    Without text, a key that may be unset is unset.
    """
    if not text.strip() and NoneType in _members(wanted.hint):
        return None
    value = toml_or_word(text, where)
    if value is not None and not isinstance(value, dict):
        try:
            return read_value(wanted, value, where)
        except UserError:
            if isinstance(value, list) or not (isinstance(value, str) or str in wanted.kinds or wanted.words):
                raise
    if not wanted.listed:
        return read_value(wanted, _word(wanted, text), where)
    words = [_word(wanted, each) for each in split_words(text, where)]
    return read_value(wanted, words if len(words) > 1 else words[0], where)


def toml_or_word(text: str, where: str) -> Any:
    """The value of a text in TOML; None for bare words."""
    try:
        record = parse_toml(f"value = {text}")
    except tomllib.TOMLDecodeError as error:
        if text.lstrip().startswith(("[", "{")):
            reason = str(error).partition(" (at")[0]
            raise UserError(f"{where}: '{text}' is not closed, or not TOML ({reason})") from None
        if text.lstrip().startswith('"') and text.count('"') % 2:
            raise UserError(f"{where} has a double quote that is not closed: '{text}'") from None
        return None
    return record["value"] if len(record) == 1 else None


def key_and_text(word: str, example: str = "seed=1") -> tuple[str, str]:
    """The name of a key and the text of its value, from `--set name=text`."""
    name, equals, text = word.partition("=")
    if not equals or not name.strip():
        raise UserError(f"--set takes KEY=VALUE, such as {example}, not '{word}'")
    return name.strip(), text


def with_texts(settings: T, words: Iterable[str]) -> T:
    """A dataclass of keys with the values of `--set name=text`."""
    known, values = keys_of(type(settings)), dict[str, Any]()
    for name, text in map(key_and_text, words):
        where = f"--set {name}"
        found = find_key(known, name, where)
        if found.field in values:
            raise UserError(f"{where} is given twice; give it once")
        values[found.field] = read_text(found, text, where)
    return replace(settings, **values)


def split_words(text: str, where: str) -> list[str]:
    """The values between the commas of a text; commas within double quotes do not count."""
    import csv

    if text.count('"') % 2:
        raise UserError(f"{where} has a double quote that is not closed: '{text}'")
    try:
        words = [part.strip() for part in next(csv.reader([text], skipinitialspace=True), [])]
    except csv.Error:
        raise UserError(f"{where} is not one line of text: '{text[:40]}'") from None
    if not words or not all(words):
        raise UserError(f"{where} takes values separated by commas, not '{text}'")
    return words


def _word(wanted: Key, text: str) -> Any:
    """A word as the simplest type that the key has."""
    word = text.strip()
    if word in wanted.words:
        return word
    for kind, read in ((bool, {"true": True, "false": False}.__getitem__), (int, int), (float, float)):
        if kind in wanted.kinds:
            try:
                return read(word)
            except (KeyError, ValueError):
                continue
    return word


def toml_value(value: Any) -> str:
    """A value in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(name)} = {toml_value(each)}" for name, each in value.items()) + "}"
    raise TypeError(f"TOML has no {type(value).__name__}")


def _quoted(text: str) -> str:
    """A basic string: JSON's escapes are TOML's, except that of DEL, which JSON leaves as it is."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(name: str) -> str:
    """The name of a key in TOML, in quotes if it needs them."""
    bare = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if bare else _quoted(name)


def schema_of(each: Key) -> dict[str, Any]:
    """The JSON schema of a key's value."""
    options: list[dict[str, Any]] = []
    for kind in dict.fromkeys(type(each) if isinstance(each, str) else each for each in each.kinds):
        found: dict[str, Any] = {"type": SCHEMA_TYPES[kind]}
        if kind is str and each.words and str not in each.kinds:
            found["enum"] = list(each.words)
        elif kind is str and each.choices:
            found["enum"] = list(each.choices)
        if kind in {int, float} and each.least is not None:
            found["minimum"] = each.least
        if kind in {int, float} and each.above is not None:
            found["exclusiveMinimum"] = each.above
        if kind in {int, float} and each.most is not None:
            found["maximum"] = each.most
        if kind is str and each.listed and not each.words:
            found["minLength"] = 1
        options.append(found)
    one = options[0] if len(options) == 1 else {"anyOf": options}
    several = {"type": "array", "items": one, **({} if each.repeats else {"uniqueItems": True})}
    value = {"anyOf": [one, several]} if each.listed else one
    return {"description": each.help, **value}
