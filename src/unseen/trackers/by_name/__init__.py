"""Kinds of trackers by name, one file each: every module here that defines `LOGGER` is one.

Other packages add kinds by entry points in the group `unseen.loggers`.
"""

from functools import cache
from typing import Any

from unseen.errors import UserError
from unseen.extension.entry_points import PlugIn
from unseen.extension.plugins import plugins
from unseen.extension.registry import Registry, checked_name
from unseen.trackers.tracker import Logger


@cache
def all_loggers() -> Registry[Logger]:
    """Every kind of tracker by name: ours in alphabetical order, then those of other packages."""
    found: list[Logger] = plugins(__name__, "LOGGER")
    ours = {logger.name: logger for logger in sorted(found, key=lambda logger: logger.name)}
    return Registry("loggers", "tracker", ours, _checked)


def _checked(plug_in: PlugIn, loaded: Any) -> Logger:
    if not isinstance(loaded, Logger):
        raise UserError(f"{plug_in.value} must be an unseen.trackers.tracker.Logger, not {type(loaded).__name__}")
    checked_name(plug_in, loaded.name)
    return loaded
