"""Where jobs run, one file each: a module here with a function `executor(means)` is an executor, known by its name.

The environment variable UNSEEN_EXECUTOR asks for one by name.
"""

import os
from importlib import import_module
from pkgutil import iter_modules

from unseen.errors import UserError, did_you_mean
from unseen.runs.execute import Executor
from unseen.runs.means import Means

VARIABLE = "UNSEEN_EXECUTOR"


def executor_names() -> list[str]:
    """The executors that there are."""
    return [module.name for module in iter_modules(__path__)]


def choose_executor(means: Means) -> Executor:
    """The executor that was asked for or that UNSEEN_EXECUTOR names, or else the one that suits what there is."""
    found: Executor = import_module(f"{__name__}.{_name(means)}").executor(means)
    return found


def spread_or(means: Means, otherwise: Executor) -> Executor:
    """The executor of the devices or the cluster that were asked for; `otherwise` where none was.

    For work that drives a device alone, such as a training, and so takes no notice of processes and UNSEEN_EXECUTOR.
    """
    return choose_executor(means) if means.spread else otherwise


def check_executor(name: str, source: str = "--executor") -> None:
    """Refuse a name that no executor has."""
    known = executor_names()
    if name not in known:
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise UserError(f"{source}: no executor '{name}'{hint}")


def _name(means: Means) -> str:
    if means.executor:
        return means.executor
    asked = os.environ.get(VARIABLE)
    if asked:
        check_executor(asked, VARIABLE)
        return asked
    if means.devices:
        return "devices"
    return "grouped" if means.gpu else "processes" if means.workers > 1 else "here"
