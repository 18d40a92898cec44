"""Discovery of plug-ins: the modules of a package that define one are found, without a list of them."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def plugins(package: str, attribute: str) -> list[Any]:
    """The `attribute` of each module of a package that defines it, by order of module names; others are helpers."""
    paths = import_module(package).__path__
    modules = [import_module(f"{package}.{module.name}") for module in iter_modules(paths)]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]
