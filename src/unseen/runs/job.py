"""The key of a job: a hash of its content."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from unseen.probes.job import UNDESCRIBED


def describe(job: Any) -> dict[str, Any]:
    """A job as JSON: the name of its class and its fields, and the same for dataclasses inside it.

    Fields that only contain paths (`UNDESCRIBED`) are omitted.
    """
    if not is_dataclass(job) or isinstance(job, type):
        raise TypeError(f"a job must be a frozen dataclass, not {type(job).__name__}")
    return {"job": type(job).__name__, **_plain(job)}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: _plain(getattr(value, each.name)) for each in fields(value) if not each.metadata.get(UNDESCRIBED)
        }
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in value.items()} if isinstance(value, Mapping) else value


def job_key(job: Any) -> str:
    """The first 32 hexadecimal digits of the SHA-256 of a job's description, which only equal jobs share."""
    return description_key(describe(job))


def description_key(description: dict[str, Any]) -> str:
    """The key of a job from its description, before or after a round trip through JSON."""
    text = json.dumps(description, sort_keys=True, allow_nan=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]
