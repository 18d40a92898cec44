"""The paths in a study: its keys that take them, ids of backbones that contain them, and its tables of data sets."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unseen.data.own.own_data import FILE_KEYS, PATH_KEYS
from unseen.data.registry import DATASETS
from unseen.extension.own_code import is_own_file, own_place
from unseen.reading.keys import keys_of
from unseen.studies.keys import ALL, BackboneKeys, StudyKeys
from unseen.studies.study import DATA, Study

Change = Callable[[str, str], str]
"""From the field of a key, or `data` for the table of a data set, and a path to the path that takes its place."""
ARCHITECTURES = ("timm", "torchvision")
"""Sources of backbones whose names are no paths."""
TABLE = ".csv"
"""Ending of a table of models among the backbones of a study."""


def with_paths(study: Study, change: Change) -> Study:
    """The study with other paths; names of data sets, probes and so on stay."""
    named = {"datasets": {ALL, *DATASETS, *study.data}, "backbones": {*study.named_backbones}}

    def changed(field: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(changed(field, each) for each in value)
        if not isinstance(value, str) or value in named.get(field, ()):
            return value
        before, place, after = _parts(field, value)
        return f"{before}{change(field, place)}{after}" if place else value

    def of_keys(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
        known = {each.field: each for each in keys_of(cls).values()}
        return {
            name: of_keys(cls, value)
            if isinstance(value, Mapping)
            else changed(name, value)
            if known[name].path
            else value
            for name, value in values.items()
        }

    def of_data(table: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: of_data(value)
            if isinstance(value, Mapping)
            else change(DATA, value)
            if isinstance(value, str) and _may_be_path(name, value)
            else value
            for name, value in table.items()
        }

    values = of_keys(StudyKeys, {each.field: getattr(study, each.field) for each in keys_of(StudyKeys).values()})
    return replace(
        study,
        **values,
        backbone=of_keys(BackboneKeys, study.backbone),
        data={name: of_data(table) for name, table in study.data.items()},
    )


def _parts(field: str, text: str) -> tuple[str, str, str]:
    """What is before a path in a text, the path, and what is after it; an empty path if there is none."""
    if is_own_file(text):
        place, attribute = own_place(text)
        return "", place, attribute and f":{attribute}"
    if field in {"backbones", "id"}:
        return _parts_of_id(text)
    takes = field == "datasets" or (field not in {"probes", "metrics"} and _looks_like_path(text))
    return "", text if takes else "", ""


def _parts_of_id(text: str) -> tuple[str, str, str]:
    source, colon, rest = text.partition(":")
    start, at, file = text.partition("@")
    if at:
        return f"{start}@", file, ""
    if source == "hub":
        place, _, model = rest.rpartition(":")
        return "hub:", place, f":{model}"
    if colon:
        return f"{source}:", "" if source in ARCHITECTURES else rest, ""
    return "", text if text.lower().endswith(TABLE) else "", ""


def _may_be_path(name: str, text: str) -> bool:
    """Whether the value of a key in the table of a data set may be a path; some keys take names too."""
    key = name.replace("-", "_")
    return bool(text) and (key in PATH_KEYS or (key in FILE_KEYS and _looks_like_path(text)))


def _looks_like_path(text: str) -> bool:
    return "/" in text or "." in text


def is_there(path: Path) -> bool:
    """Whether a path exists; of a pattern such as `shards-{00..19}.tar`, whether its folder does."""
    return path.exists() or (any(each in path.name for each in "*?{[") and path.parent.is_dir())
