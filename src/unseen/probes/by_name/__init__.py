"""Probes by name, one file each: a module here that defines `PROBE` is a probe, known by its name."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from unseen.errors import UserError, did_you_mean
from unseen.probes.probe import Probe


@cache
def all_probes() -> dict[str, type[Probe]]:
    """Every probe by name, in alphabetical order."""
    found: list[type[Probe]] = [import_module(f"{__name__}.{module.name}").PROBE for module in iter_modules(__path__)]
    return {probe.name: probe for probe in sorted(found, key=lambda probe: probe.name)}


def get_probe(name: str) -> Probe:
    """The probe of that name with its default settings; an unknown one is a user's error."""
    known = all_probes()
    if name not in known:
        raise UserError(f"no probe '{name}'{did_you_mean(name, known) or '; there are ' + ', '.join(known)}")
    return known[name]()
