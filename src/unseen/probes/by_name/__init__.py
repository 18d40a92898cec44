"""Probes by name, one file each: every module here that defines `PROBE` is a probe, found by its name.

Other packages add probes by entry points in the group `unseen.probes`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from unseen.errors import look_up
from unseen.extension.entry_points import PlugIn
from unseen.extension.plugins import plugins
from unseen.extension.registry import Registry
from unseen.probes.job import Job
from unseen.probes.patches.patch_probe import PatchProbe
from unseen.probes.probe import Probe


@cache
def all_probes() -> Registry[type[Probe]]:
    """Every probe by name: ours in alphabetical order, then those of other packages."""
    probes: list[type[Probe]] = plugins(__name__, "PROBE")
    ours = {probe.name: probe for probe in sorted(probes, key=lambda probe: probe.name)}

    def checked(plug_in: PlugIn, loaded: Any) -> type[Probe]:
        from unseen.probes.own import check_added

        return check_added(plug_in, loaded, ours)

    return Registry("probes", "probe", ours, checked)


def with_code(jobs: Iterable[Job]) -> Iterator[Job]:
    """Jobs with what identifies the code of probes that other packages add; those of ours stay as they are."""
    for job in jobs:
        plug_in = all_probes().plug_in(job.probe)
        yield job if plug_in is None or job.code else replace(job, code=plug_in.code.digest)


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
