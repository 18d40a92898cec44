"""Groups of options that several commands share: each is a dataclass whose fields are options."""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command for Typer, in which each dataclass parameter is replaced by its fields.

    A field is annotated like a parameter of a command, and has a default.
    """
    groups: dict[str, type] = {}
    flat: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        if is_dataclass(kind := parameter.annotation) and isinstance(kind, type):
            groups[parameter.name] = kind
            hints = get_type_hints(kind, include_extras=True)
            flat += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
                for field in fields(kind)
            ]
        else:
            flat.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**options: Any) -> None:
        grouped = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        return command(**options, **grouped)

    run.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run
