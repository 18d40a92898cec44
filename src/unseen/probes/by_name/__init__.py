"""Probes by name, one file each: every module here that defines `PROBE` is a probe, found by its name."""

from functools import cache

from unseen.errors import look_up
from unseen.extension.plugins import plugins
from unseen.probes.patches.patch_probe import PatchProbe
from unseen.probes.probe import Probe


@cache
def all_probes() -> dict[str, type[Probe]]:
    """Every probe by name, in alphabetical order."""
    probes: list[type[Probe]] = plugins(__name__, "PROBE")
    return {probe.name: probe for probe in sorted(probes, key=lambda probe: probe.name)}


def feature_probes() -> dict[str, type[Probe]]:
    """The probes for feature vectors."""
    return {name: probe for name, probe in all_probes().items() if probe.input == "vectors"}


def patch_probes() -> dict[str, type[PatchProbe]]:
    """The probes for patch features; those whose numbers depend on a seed, because they are trained, come first."""
    found = [(name, probe) for name, probe in all_probes().items() if issubclass(probe, PatchProbe)]
    return dict(sorted(found, key=lambda each: not each[1].random))


def get_probe(name: str) -> Probe:
    """The probe of that name with its default settings; an unknown name is a user error."""
    return look_up(all_probes(), name, "probe")()
