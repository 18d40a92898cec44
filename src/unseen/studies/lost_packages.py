"""Packages that a run used plug-ins of, and that are not installed any more."""

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from unseen.errors import UserError

RECORD = "run.json"


class LostPackageError(UserError):
    """A study needs a package that is not installed."""


def lost_packages(folder: Path) -> list[str]:
    """The packages, with their versions, that the run in a folder used and that are not installed; empty if unknown.

    Only names are read, from a record that may be of any version.
    """
    try:
        record = json.loads((folder / RECORD).read_bytes())
        versions, labels = _table(_table(record, "written"), "versions"), _table(record, "remarks")
    except (OSError, ValueError):
        return []
    used = {name: number for name, number in versions.items() if any(f"from {name} " in label for label in labels)}
    return [f"{name} {number}" for name, number in used.items() if not _is_installed(name)]


def _table(record: Any, name: str) -> dict[str, Any]:
    found = record.get(name) if isinstance(record, dict) else None
    return found if isinstance(found, dict) else {}


def _is_installed(name: str) -> bool:
    try:
        return bool(version(name))
    except (PackageNotFoundError, ValueError):
        return False
