"""The JSON Schema (2020-12) of a record: what `unseen.reading.json_records.typed` takes, for readers with other tools.

The description of a field is the text beside its type: `name: Annotated[str, "What pages call it."]`.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

_SCALARS = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}


def json_schema(cls: type, identifier: str) -> dict[str, Any]:
    """The schema of a dataclass; other dataclasses in it are definitions."""
    definitions: dict[str, Any] = {}
    _schema(cls, definitions)
    root = definitions.pop(cls.__name__)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": identifier, **root, "$defs": definitions}


def _schema(hint: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return {**_schema(arguments[0], definitions), "description": arguments[1]}
    if is_dataclass(hint) and isinstance(hint, type):
        if hint.__name__ not in definitions:
            definitions[hint.__name__] = {}  # a place in order of appearance
            definitions[hint.__name__] = _object(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if origin in {Union, UnionType}:
        return _one_of([_schema(each, definitions) for each in arguments])
    return _plain(hint, origin, arguments, definitions)


def _plain(hint: Any, origin: Any, arguments: tuple[Any, ...], definitions: dict[str, Any]) -> dict[str, Any]:
    """Of a choice, a list, a mapping or a scalar."""
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin is tuple and arguments[-1] is not ...:
        items = [_schema(each, definitions) for each in arguments]
        return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(arguments[1], definitions)}
    if origin is not None:
        return {"type": "array", "items": _schema(arguments[0], definitions)}
    return {"type": _SCALARS[hint]}


def _one_of(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    """Plain types together in one list of types."""
    if all(each.keys() == {"type"} for each in schemas):
        return {"type": [each["type"] for each in schemas]}
    return {"anyOf": schemas}


def _object(cls: type, definitions: dict[str, Any]) -> dict[str, Any]:
    hints = get_type_hints(cls, include_extras=True)
    return {
        "type": "object",
        "description": (cls.__doc__ or "").strip(),
        "properties": {each.name: _schema(hints[each.name], definitions) for each in fields(cls)},
        "required": [each.name for each in fields(cls)],
        "additionalProperties": False,
    }
