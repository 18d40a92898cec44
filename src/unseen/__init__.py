"""unseen: how well a visual representation generalises to concepts, tasks and shifts it has not seen.

Example:
    >>> import unseen
    >>> X_train, y_train, X_test, y_test = unseen.example("l5")
    >>> unseen.probe(X_train, y_train, X_test, y_test, probe="knn").summary()
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from unseen.extras import naming_extras
from unseen.version import __version__

if TYPE_CHECKING:
    from unseen import probes
    from unseen.api.duplicates import duplicates
    from unseen.api.example import example
    from unseen.api.features import extract, load_backbone, open_dataset
    from unseen.api.levels import build_levels, levels, similarity
    from unseen.api.panel import panel
    from unseen.api.papers import leaderboard, published
    from unseen.api.planning import power
    from unseen.api.predictors import predictors
    from unseen.api.probing import probe
    from unseen.api.results import check
    from unseen.api.running import run, study
    from unseen.api.shifts import effective_robustness
    from unseen.report.of_runs import report

__all__ = [
    "__version__",
    "build_levels",
    "check",
    "duplicates",
    "effective_robustness",
    "example",
    "extract",
    "leaderboard",
    "levels",
    "load_backbone",
    "open_dataset",
    "panel",
    "power",
    "predictors",
    "probe",
    "probes",
    "published",
    "report",
    "run",
    "similarity",
    "study",
]

_WHERE = {
    "build_levels": "levels",
    "check": "results",
    "duplicates": "duplicates",
    "effective_robustness": "shifts",
    "example": "example",
    "extract": "features",
    "leaderboard": "papers",
    "levels": "levels",
    "load_backbone": "features",
    "open_dataset": "features",
    "panel": "panel",
    "power": "planning",
    "predictors": "predictors",
    "probe": "probing",
    "published": "papers",
    "run": "running",
    "similarity": "levels",
    "study": "running",
}
"""Function → the module of `unseen.api` that has it, imported when it is asked for: `import unseen` is instant."""


def __getattr__(name: str) -> Any:
    if name == "probes":
        return import_module("unseen.probes")
    if name in _WHERE:
        with naming_extras():
            return getattr(import_module(f"unseen.api.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'unseen' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


class _Package(ModuleType):
    """Keeps `unseen.report` the function: importing the sub-package of that name would put the module in its place."""

    @property
    def report(self) -> Any:
        from unseen.report.of_runs import report

        return report

    @report.setter
    def report(self, package: ModuleType) -> None:
        """Called by the import of the sub-package, which remains in `sys.modules`."""


sys.modules[__name__].__class__ = _Package
