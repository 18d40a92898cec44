"""Executors of jobs, one per file: a module in this package with a function `executor(means)`, known by its name.

The environment variable UNSEEN_EXECUTOR selects one by name.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from unseen.errors import UserError, argument, did_you_mean
from unseen.probes.job import Job
from unseen.runs.execute import Executor, Work, execute, execute_groups
from unseen.runs.executors.grouped import run_groups
from unseen.runs.means import Means

VARIABLE = "UNSEEN_EXECUTOR"


def executor_names() -> list[str]:
    """The names of all executors."""
    return [module.name for module in iter_modules(__path__)]


def choose_executor(means: Means) -> Executor:
    """The requested executor, or the one named by UNSEEN_EXECUTOR, or else the one that fits the hardware."""
    found: Executor = import_module(f"{__name__}.{_name(means)}").executor(means)
    return found


def spread_or(means: Means, otherwise: Executor) -> Executor:
    """The executor of the requested devices or cluster, or `otherwise` if none was requested.

    For work that needs a whole device, such as training, and therefore ignores `workers` and UNSEEN_EXECUTOR.
    """
    return choose_executor(means) if means.spread else otherwise


def execute_whole(
    jobs: Sequence[Job], folder: Path, work: Work, means: Means, shared: Callable[[Job], Hashable]
) -> Iterator[Job]:
    """Like `execute`, for work that needs a whole device and whose groups no executor may split."""
    if not means.spread:
        return execute(jobs, folder, work, run_groups, shared=shared)
    return execute_groups(jobs, folder, work, choose_executor(means), shared)


def check_executor(name: str, source: str = "") -> None:
    """Refuse an unknown executor; `source` says where its name comes from, by default the user's argument."""
    known = executor_names()
    if name not in known:
        hint = did_you_mean(name, known) or f"; choose from {', '.join(known)}"
        raise UserError(f"{source or argument('executor')}: no executor '{name}'{hint}")


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
