"""Stand-ins for packages that a machine for measuring may lack: for tables, pages, commands and files of weights.

They can be imported; whatever is done with them has no effect. So a benchmark of the numerics runs where there are
NumPy, SciPy, PyTorch and Pillow alone.
"""

import sys
from collections.abc import MutableSequence, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from unittest.mock import MagicMock

NOT_MEASURED = (
    "jinja2", "markupsafe", "optuna", "pandas", "plotly", "pyarrow", "rich", "safetensors", "typer", "yaml",
)  # fmt: skip


class _StandIn(ModuleType):
    """A module that has every name."""

    __path__: MutableSequence[str] = []  # noqa: RUF012  (as Python has it)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock()


class _Finder(MetaPathFinder, Loader):
    """Finds stand-ins for packages and all that is in them."""

    def __init__(self, packages: Sequence[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.packages else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def replace() -> None:
    """Put stand-ins in the place of those that are not installed, and say so."""
    absent = [name for name in NOT_MEASURED if find_spec(name) is None]
    if absent:
        print(f"not installed, and not needed: {', '.join(absent)}")
        sys.meta_path.append(_Finder(absent))
