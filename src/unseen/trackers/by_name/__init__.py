"""Kinds of trackers by name, one file each: every module here that defines `LOGGER` is one."""

from functools import cache

from unseen.extension.plugins import plugins
from unseen.trackers.tracker import Logger


@cache
def all_loggers() -> dict[str, Logger]:
    """Every kind of tracker by name, in alphabetical order."""
    found: list[Logger] = plugins(__name__, "LOGGER")
    return {logger.name: logger for logger in sorted(found, key=lambda logger: logger.name)}
