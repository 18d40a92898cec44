"""The JSON schema of study files, with which editors complete and check them as they are written.

It comes from the declarations that files are read by. The site has it as `study.schema.json`.
"""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, get_args, get_type_hints

from unseen.data.own.own_data import SPLIT_KEYS, OwnData, SplitTable
from unseen.reading.keys import SCHEMA_TYPES, Key, keys_of, schema_of
from unseen.studies.keys import BackboneKeys, StudyKeys
from unseen.studies.study import BACKBONE, DATA, FILES, probe_keys

NAME = "study.schema.json"
DRAFT = "https://json-schema.org/draft/2020-12/schema"


def study_schema() -> dict[str, Any]:
    """The schema of the file of a study, with every key that the installed probes have."""
    from unseen.probes.by_name import all_probes

    tables = {
        BACKBONE: _backbones(),
        DATA: {"description": "your own data sets", "type": "object", "additionalProperties": _own_data()},
        FILES: _described("hashes of files", {"type": "object", "additionalProperties": {"type": "string"}}),
    }
    probes = {name: _described(probe.title, _object(probe_keys(probe))) for name, probe in sorted(all_probes().items())}
    return {
        "$schema": DRAFT,
        "$id": NAME,
        "title": "A study of unseen",
        "type": "object",
        "properties": {**_properties(keys_of(StudyKeys)), **tables, **probes},
        "additionalProperties": _described("settings of a probe of your own", {"type": "object"}),
    }


def _backbones() -> dict[str, Any]:
    """The keys for all backbones, and a table for each backbone with a name."""
    keys = keys_of(BackboneKeys)
    common = {name: each for name, each in keys.items() if name != "id"}
    named = _described("a backbone", _object(keys))
    return _described("how backbones are loaded", {**_object(common), "additionalProperties": named})


def _object(keys: Mapping[str, Key]) -> dict[str, Any]:
    return {"type": "object", "properties": _properties(keys), "additionalProperties": False}


def _properties(keys: Mapping[str, Key]) -> dict[str, Any]:
    return {name: _with_default(each) for name, each in keys.items()}


def _with_default(each: Key) -> dict[str, Any]:
    default = list(each.default) if isinstance(each.default, tuple) else each.default
    return schema_of(each) if default is None else {**schema_of(each), "default": default}


def _described(text: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"description": text, **schema}


def _own_data() -> dict[str, Any]:
    """The keys of a data set's own file; a text for a split is the place of its images."""
    split = {"anyOf": [{"type": "string"}, _record(SplitTable)]}
    record = _record(OwnData)
    return {**record, "properties": {**record["properties"], **dict.fromkeys(SPLIT_KEYS, split)}}


def _record(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {
        "type": "object",
        "properties": {each.name: _plain(hints[each.name]) for each in fields(cls)},
        "additionalProperties": False,
    }


def _plain(hint: Any) -> dict[str, Any]:
    """Of a field of a record: a type, allowed words, or a text or a list of texts."""
    options = get_args(hint) or (hint,)
    if all(isinstance(each, str) for each in options):
        return {"enum": list(options)}
    kinds = {SCHEMA_TYPES[each] for each in options if each in SCHEMA_TYPES}
    listed = any(get_args(each)[:1] == (str,) for each in options)
    texts = [{"type": "array", "items": {"type": "string"}}] if listed else []
    found: list[dict[str, Any]] = [*({"type": kind} for kind in sorted(kinds)), *texts]
    return found[0] if len(found) == 1 else {"anyOf": found}
