"""The plug-ins of other packages that a study uses, in the record of its run."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from unseen.data.registry import DATASETS
from unseen.extension.entry_points import PlugIn
from unseen.extension.registry import Registry
from unseen.metrics.by_name import score_metrics
from unseen.probes.by_name import all_probes
from unseen.runs.data import RunData
from unseen.studies.stages import OpenedStudy
from unseen.studies.toml import study_texts
from unseen.trackers.by_name import all_loggers

WORDS = {
    "studies": "study", "probes": "probe", "metrics": "metric", "datasets": "data set", "backbones": "backbones of",
    "loggers": "tracker",
}  # fmt: skip


def with_plug_ins(run: RunData, opened: OpenedStudy, loggers: Sequence[str]) -> RunData:
    """The record of a part of a run, with the packages that are used in it: their versions, and a line on each.

    Args:
        loggers: words such as `tensorboard` or `wandb:my-project`.
    """
    used = [*dict.fromkeys([*used_plug_ins(opened), *_among(all_loggers(), *(word.split(":")[0] for word in loggers))])]
    lines = dict[str, str]()
    for each in used:
        label, text = f"from {each.origin}", f"{WORDS[each.kind]} {each.name}"
        lines[label] = f"{lines[label]}, {text}" if label in lines else text
    packages = {each.package: each.version for each in used}
    return replace(run, remarks={**run.remarks, **lines}, packages=packages)


def used_plug_ins(opened: OpenedStudy) -> Iterator[PlugIn]:
    """The plug-ins of a study, its probes, metrics and data sets, and of the sources of its backbones."""
    study = opened.study
    sources = list[str]()
    if opened.given.features is None:
        sources = [each.id.partition(":")[0] for each in opened.backbones.entries]
    yield from _among(study_texts(), study.based_on)
    yield from _among(all_probes(), *study.probes)
    yield from _among(score_metrics(), *study.metrics)
    yield from _among(DATASETS, *(each.name for each in opened.opened.data if not each.word and not each.is_domain))
    if sources:
        from unseen.backbones.load import SOURCES

        yield from _among(SOURCES, *sources)


def _among(registry: Registry[Any], *names: str) -> Iterator[PlugIn]:
    yield from filter(None, map(registry.plug_in, names))
