"""Probes by name, one file each: every module here that defines `PROBE` is a probe, found by its name.

The job classes that such a module defines or imports are found by their class names.
"""

from functools import cache
from importlib import import_module

from unseen.errors import look_up
from unseen.plugins import plugins
from unseen.probes.job import Job
from unseen.probes.probe import Probe, ProbeJob


@cache
def all_probes() -> dict[str, type[Probe]]:
    """Every probe by name, in alphabetical order."""
    probes: list[type[Probe]] = plugins(__name__, "PROBE")
    return {probe.name: probe for probe in sorted(probes, key=lambda probe: probe.name)}


def feature_probes() -> dict[str, type[Probe]]:
    """The probes for feature vectors."""
    return {name: probe for name, probe in all_probes().items() if probe.input == "vectors"}


def get_probe(name: str) -> Probe:
    """The probe of that name with its default settings; an unknown name is a user error."""
    return look_up(all_probes(), name, "probe")()


def probe_of_job(job: object) -> str:
    """The name of the probe that a job fits; that of the job's class if it belongs to none."""
    own = getattr(job, "name", None)
    modules = {name: vars(import_module(probe.__module__)) for name, probe in all_probes().items()}
    found = [name for name, contents in modules.items() if contents.get(type(job).__name__) is type(job)]
    return own if isinstance(own, str) else next(iter(found), type(job).__name__)


@cache
def job_kinds() -> dict[str, type[Job]]:
    """Every job class by name."""
    from unseen.probes.own import OwnProbeJob
    from unseen.probes.own_task import OwnProbeTaskJob

    modules = [import_module(probe.__module__) for probe in all_probes().values()]
    classes = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    kinds = (ProbeJob, OwnProbeJob, OwnProbeTaskJob, *classes)
    return {each.__name__: each for each in kinds if issubclass(each, Job) and each is not Job}
