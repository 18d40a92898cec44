"""What differs between two studies, setting by setting."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from unseen.probes.by_name import all_probes
from unseen.reading.keys import toml_value
from unseen.studies.keys import ALL
from unseen.studies.study import BACKBONE, DATA, FILES, Study, probe_keys
from unseen.studies.toml import shipped_studies, shipped_study

UNSET = "unset"
SPOKEN_OF = ("based-on", "title")
"""Keys that only name a study."""
OPEN = ("backbones", BACKBONE, DATA, FILES)
"""Keys and tables that a shipped study leaves to those who run it."""
RESOLVED: Mapping[str, tuple[str, ...]] = {"precision": ('"half"', '"single"'), "decode": ('"cpu"',)}
"""Keys that a run writes as its machine decided them, with the values that an unset key stands for."""


@dataclass(frozen=True)
class SettingDifference:
    """A key with its value in two studies, in TOML."""

    key: str
    first: str
    second: str


def settings_of(study: Study) -> dict[str, str]:
    """Every setting that has a value: its place, such as `knn.k`, and the value in TOML."""
    return {place: toml_value(value) for place, value in _flat(tomllib.loads(study.to_toml()))}


def study_differences(first: Study, second: Study) -> list[SettingDifference]:
    """The settings that differ; a probe that only one of them has is compared with its defaults."""
    one, other = settings_of(first), settings_of(second)
    found = list[SettingDifference]()
    for place in dict.fromkeys([*one, *other]):
        values = [each.get(place) or _default(place) for each in (one, other)]
        if values[0] != values[1]:
            found.append(SettingDifference(place, *values))
    return [each for each in found if each.key not in SPOKEN_OF]


def differences_from_shipped(study: Study) -> list[SettingDifference] | None:
    """How a study differs from the shipped one that it follows; None if it follows none.

    What a shipped study leaves open is no difference: backbones, data sets if it takes all, what the machine decides.
    """
    if study.based_on not in shipped_studies():
        return None
    shipped = shipped_study(study.based_on)
    return [each for each in study_differences(shipped, study) if not _left_open(each, shipped)]


def _left_open(difference: SettingDifference, shipped: Study) -> bool:
    key = difference.key
    if key in OPEN or key.partition(".")[0] in OPEN:
        return True
    if key == "datasets" and shipped.datasets == (ALL,):
        return True
    return difference.first == UNSET and difference.second in RESOLVED.get(key, ())


def _default(place: str) -> str:
    """The default of a probe's key, for a study without that probe."""
    table, _, name = place.partition(".")
    probe = all_probes().get(table)
    known = probe_keys(probe).get(name) if probe and name else None
    return UNSET if known is None or known.default is None else toml_value(known.default)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
