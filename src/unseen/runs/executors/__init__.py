"""Where jobs run, one file each: a module here with a function `executor(means)` is an executor, known by its name.

The environment variable UNSEEN_EXECUTOR asks for one by name.
"""

import os
from importlib import import_module
from pkgutil import iter_modules

from unseen.errors import UserError, did_you_mean
from unseen.runs.execute import Executor, Means

VARIABLE = "UNSEEN_EXECUTOR"


def choose_executor(means: Means) -> Executor:
    """The executor that UNSEEN_EXECUTOR names, or else the one that suits what there is."""
    name = os.environ.get(VARIABLE) or ("grouped" if means.gpu else "processes" if means.workers > 1 else "here")
    known = [module.name for module in iter_modules(__path__)]
    if name not in known:
        hint = did_you_mean(name, known) or f"; there are {', '.join(known)}"
        raise UserError(f"{VARIABLE}: no executor '{name}'{hint}")
    found: Executor = import_module(f"{__name__}.{name}").executor(means)
    return found
