"""What a monitor measures, in `monitor.json` of its folder: what another training in this folder must share."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.files import write_text
from unseen.monitoring.records import SCORES
from unseen.reading.json_records import read_json, typed
from unseen.runs.record import MONITOR, RUN
from unseen.trackers.journal import TRACKERS
from unseen.version import __version__

FORMAT = 1
FEATURES = "features"
OTHER = "give another folder (out=)"


def refuse_other_folder(folder: Path) -> None:
    """Refuse a folder that is one of a run, or has scores that no monitor has written; nothing is removed from it."""
    if (folder / RUN).exists():
        raise UserError(f"{folder}: is the folder of a run; {OTHER}")
    if (folder / SCORES).exists() and not is_of_monitor(folder):
        raise UserError(f"{folder}: has a {SCORES} that no monitor has written; {OTHER}")
    if (folder / MONITOR).exists() and not is_of_monitor(folder):
        raise UserError(f"{folder}: has a {MONITOR} that no monitor has written; {OTHER}")


def is_of_monitor(folder: Path) -> bool:
    """Whether a folder is that of a monitor."""
    path = folder / MONITOR
    return path.is_file() and {"format", "study", "transform", "images"} <= read_json(path, OTHER).keys()


def keep_same(folder: Path, described: Mapping[str, Any], *, scored: bool) -> None:
    """Write what a monitor measures, or refuse a folder whose scores are of something else.

    Args:
        described: what decides; the record also has the date and the version that began it.
        scored: whether the folder has scores; otherwise something else may begin in it.
    """
    path = folder / MONITOR
    record = {"format": FORMAT, **described}
    if path.is_file() and scored:
        before = read_json(path, OTHER)
        present = json.loads(json.dumps(record))
        changed = [words for name, words in WORDS.items() if not _is_same(name, before, present)]
        if changed:
            raise UserError(
                f"{folder}: has the scores of a monitor with {changed[0]}; {OTHER}, or replace=True to start anew"
            )
        return
    now = datetime.now(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
    write_text(path, json.dumps({**record, "began": now, "version": __version__}, indent=1))


def _is_same(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether a folder was begun with the same, as far as it can be known."""
    if name == FEATURES and (name not in before or _python(before) != _python(now)):
        return name not in before or isinstance(before[name], dict) == isinstance(now[name], dict)
    return bool(before.get(name) == now[name])


def _python(record: Mapping[str, Any]) -> str | None:
    """The version of Python that a function was compiled by, with which its hash changes."""
    return record[FEATURES].get("python") if isinstance(record[FEATURES], dict) else None


WORDS = {
    "format": "another format of its file",
    "study": "another study",
    "transform": "another transform of images",
    "images": "other images",
    FEATURES: f"other features ({FEATURES}=)",
}


@dataclass(frozen=True)
class Described:
    """What a folder has scores of, as far as a page shows it.

    Attributes:
        images: data set → split → hash.
        study: in TOML.
        features: as `described_features` gives them.
        began: when the first monitor of the folder was made, in ISO 8601; empty in records without it.
    """

    transform: Transform
    images: Mapping[str, Mapping[str, str]]
    study: str
    features: str | Mapping[str, str] | None = None
    began: str = ""
    version: str = ""


def described(folder: Path) -> Described | None:
    """What a folder has scores of; None if it does not say so."""
    path = folder / MONITOR
    if not path.is_file():
        return None
    record = read_json(path)
    known = {each.name: record[each.name] for each in fields(Described) if each.name in record}
    found: Described = typed(known, Described, str(path), defaults=True)
    return found


def start_anew(folder: Path) -> None:
    """Remove what a monitor has written; decoded images and the files of trackers stay."""
    if is_of_monitor(folder):
        for path in (folder / SCORES, *(folder / TRACKERS).glob("*.jsonl"), folder / MONITOR):
            path.unlink(missing_ok=True)
