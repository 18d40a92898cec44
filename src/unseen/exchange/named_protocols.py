"""The settings that the name of a protocol stands for, to check those of a results file against them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from unseen.errors import UserError
from unseen.probes.dense.protocols import (
    DETECTION_FINETUNED,
    DETECTION_FROZEN,
    EXTENDED,
    NORMALS,
    SEGMENTATION,
    SHORT,
    DenseProtocol,
)
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.protocol import PROTOCOLS as LOGISTIC
from unseen.probes.saliency.grid import EXACT, Grid
from unseen.probes.saliency.protocol import PAPER as SALIENCY
from unseen.probes.saliency.protocol import SaliencyProtocol
from unseen.runs.setup import ProtocolUsed, Setting

DENSE = {each.name: each for each in (DETECTION_FROZEN, DETECTION_FINETUNED, NORMALS, SEGMENTATION)}
SCALED = frozenset({"steps", "milestones", "warm_up", "sides", "tested", "longest"})
"""The settings in which short forms of dense protocols differ from each other."""


@dataclass(frozen=True)
class Named:
    """The settings of a protocol.

    Attributes:
        free: names of settings that users choose without giving the protocol another name.
        others: further values that a setting may have under the same name.
    """

    settings: Mapping[str, Setting]
    free: frozenset[str] = frozenset()
    others: Mapping[str, tuple[Setting, ...]] | None = None

    def allows(self, name: str, value: Setting) -> bool:
        """Whether a setting may have this value; settings that the protocol does not have may have any."""
        if name in self.free or name not in self.settings:
            return True
        return any(_same(value, allowed) for allowed in self._values(name))

    def _values(self, name: str) -> tuple[Setting, ...]:
        return (self.settings[name], *(self.others or {}).get(name, ()))


def _same(first: Setting, second: Setting) -> bool:
    """Whether two settings are equal; a truth value is no number, although Python counts `True` as 1."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_same, first, second))
    return first == second and isinstance(first, bool) == isinstance(second, bool)


@lru_cache(maxsize=256)  # the records of many files name the same few protocols
def named(probe: str, protocol: str) -> Named | None:
    """The settings of a probe's protocol by its name; None if this installation does not know it.

    Args:
        probe: the name under which runs record the settings.
    """
    if probe == "logistic" and protocol in LOGISTIC:
        return Named(_settings(LOGISTIC[protocol]), others={"round_size": (1,)})  # one trial at a time: --sequential
    if probe == "saliency":
        return _of(_saliency(protocol))
    if probe == "inversion":
        return _of(_inversion(protocol))
    base = protocol.removesuffix(SHORT).removesuffix(EXTENDED)
    if base in DENSE:
        return _of(DENSE[base], SCALED if protocol.endswith(SHORT) else frozenset())
    return _with_torch(probe, protocol) if find_spec("torch") else None


def matching_names(probe: str, settings: Mapping[str, Setting]) -> Iterator[str]:
    """The protocols of the logistic probe that have these settings."""
    for name in LOGISTIC if probe == "logistic" else ():
        known = named(probe, name)
        if known and {*known.settings} <= {*settings} and not any(True for _ in deviations(known, settings)):
            yield name


def deviations(known: Named, settings: Mapping[str, Setting]) -> Iterator[tuple[str, Setting, Setting]]:
    """Settings that a protocol does not allow: name, value, and the value of the protocol."""
    for name, value in settings.items():
        if not known.allows(name, value):
            yield name, value, known.settings[name]


def _with_torch(probe: str, protocol: str) -> Named | None:
    """Protocols that are defined beside code that needs PyTorch."""
    from unseen.probes.many_shot import PROTOCOLS as MANY_SHOT
    from unseen.probes.patches.protocols import PATCH_CONTEXT, PATCH_LINEAR

    if probe == "linear" and protocol in MANY_SHOT:
        return Named(_settings(MANY_SHOT[protocol]), others={"converge": ("all",)})
    patch = {each.name: each for each in (PATCH_LINEAR, PATCH_CONTEXT)}
    return _of(patch.get(protocol), frozenset({"patches"}))


def _saliency(name: str) -> SaliencyProtocol | None:
    if name == SALIENCY:
        return SaliencyProtocol.of(EXACT)
    sizes = re.fullmatch(r"saliency-(\d{1,4})-(\d{1,4})", name)
    try:
        return SaliencyProtocol.of(Grid(int(sizes[1]), int(sizes[2]))) if sizes else None
    except UserError:
        return None


def _inversion(name: str) -> InversionProtocol | None:
    base, sigmoid = name.removesuffix("-sigmoid"), name.endswith("-sigmoid")
    steps = re.fullmatch(r"inversion-(\d{1,9})", base)
    found = InversionProtocol.of(int(steps[1]) if steps and int(steps[1]) else None, sigmoid=sigmoid)
    return found if found.name == name else None


def _of(protocol: DenseProtocol | Any | None, free: frozenset[str] = frozenset()) -> Named | None:
    return None if protocol is None else Named(_settings(protocol), free)


def _settings(protocol: Any) -> Mapping[str, Setting]:
    return ProtocolUsed.of("", protocol).settings
