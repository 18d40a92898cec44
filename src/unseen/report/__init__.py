"""The pages of results. The package is also the function `unseen.report(runs, "page.html")`."""

import sys
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import ModuleType


class _CallablePackage(ModuleType):
    """Keeps `unseen.report` callable after the package of the same name is imported, as every page does."""

    def __call__(self, runs: str | PathLike[str] | Sequence[str | PathLike[str]], out: str | PathLike[str]) -> Path:
        """See `unseen.report.of_runs.report`."""
        from unseen.report.of_runs import report

        return report(runs, out)


sys.modules[__name__].__class__ = _CallablePackage
