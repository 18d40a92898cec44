"""What differs between two studies, setting by setting."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unseen.probes.by_name import all_probes
from unseen.reading.keys import toml_value
from unseen.studies.keys import ALL
from unseen.studies.probes import same_shots, shot_words, with_usual_settings
from unseen.studies.study import BACKBONE, DATA, FILES, Study, probe_keys, probe_table
from unseen.studies.toml import shipped_studies, shipped_study

UNSET, ABSENT = "unset", "not in this study"
SPOKEN_OF = ("based-on", "title")
"""Keys that only name a study."""
OPEN = ("backbones", BACKBONE, DATA, FILES)
"""Keys and tables that a shipped study leaves to those who run it."""
RESOLVED: Mapping[str, tuple[str, ...]] = {
    "precision": ('"half"', '"single"'), "decode": ('"cpu"',), "kmeans.half": ("true", "false"),
    **dict.fromkeys(("logistic.products", "pca.products"), ('"float16"', '"float32"')),
}  # fmt: skip
"""Keys that a run writes as its machine decided them, with the values that an unset key stands for."""


@dataclass(frozen=True)
class SettingDifference:
    """A key with its value in two studies, in TOML."""

    key: str
    first: str
    second: str


def settings_of(study: Study) -> dict[str, str]:
    """Every setting that has a value: its place, such as `knn.k`, and the value in TOML."""
    return {place: toml_value(value) for place, value in setting_values(study).items()}


def setting_values(study: Study) -> dict[str, Any]:
    """Every setting that has a value: its place, such as `knn.k`, and the value."""
    return values_in_toml(study.to_toml())


def values_in_toml(text: str) -> dict[str, Any]:
    """The values in a TOML file by their places."""
    return dict(_flat(tomllib.loads(text)))


def study_differences(first: Study, second: Study) -> list[SettingDifference]:
    """The settings that differ; of a probe that only one of them has, those that differ from its defaults.

    Values that a run wrote for unset keys are no difference.
    """
    one, other = (settings_of(with_usual_settings(each)) for each in (first, second))
    absent = [
        {*map(probe_table, a.probes)} - {*map(probe_table, b.probes)} for a, b in ((second, first), (first, second))
    ]
    agreed, found = same_shots(first, second), list[SettingDifference]()
    for place in dict.fromkeys([*one, *other]):
        missing = [place.partition(".")[0] in tables for tables in absent]
        values = [
            settings.get(place) or (_default(place) if gone else UNSET)
            for settings, gone in zip((one, other), missing, strict=True)
        ]
        if values[0] == values[1] or place in SPOKEN_OF or (UNSET in values and _left_to_run(place, values, agreed)):
            continue
        shown = [ABSENT if gone else value for gone, value in zip(missing, values, strict=True)]
        found.append(SettingDifference(place, *shown))
    return found


def _left_to_run(place: str, values: Sequence[str], agreed: bool) -> bool:
    """Whether a value may be what a run wrote for the unset key of the other study.

    Args:
        agreed: whether the probes of both take the same numbers of samples.
    """
    if place == "shots" or place.endswith(".shots"):
        return agreed
    return any(each in RESOLVED.get(place, ()) for each in values)


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
    return key == "datasets" and shipped.datasets == (ALL,)


def _default(place: str) -> str:
    """What the key of a probe stands for in a study that has none, to compare it with a study without that probe."""
    table, _, name = place.partition(".")
    probe = all_probes().get(table)
    known = probe_keys(probe).get(name) if probe else None
    if probe is None or known is None:
        return UNSET
    value = shot_words(probe.default_shots) if name == "shots" else probe().usual().get(known.field, known.default)
    return UNSET if value is None else toml_value(ALL if value == (ALL,) else value)


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
