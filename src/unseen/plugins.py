"""Things that are added by a file: a package's modules that define one are found, and no list of them is kept."""

from importlib import import_module
from pkgutil import iter_modules
from typing import Any


def plugins(package: str, attribute: str) -> list[Any]:
    """What the modules of a package call `attribute`, in the order of their names; modules without it are helpers."""
    paths = import_module(package).__path__
    modules = [import_module(f"{package}.{module.name}") for module in iter_modules(paths)]
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]
