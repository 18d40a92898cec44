"""The probes of a study, fitted to features of a network in training."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import isfinite

import numpy as np
import torch

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.metrics.paired.crossed import crossed
from unseen.monitoring.measured_study import MeasuredStudy
from unseen.monitoring.scores import Failure, StepScore
from unseen.probes.job import Fit, Job
from unseen.probes.probe import ProbeData
from unseen.probes.protocol import Setting
from unseen.probes.units import CORRECT, SMALL
from unseen.probes.vectors import probe_data
from unseen.runs.execute import groups_of
from unseen.runs.own_metric import measured
from unseen.runs.work import but_setting
from unseen.studies.inputs.image_features import expected_features
from unseen.studies.opened import StudyData
from unseen.studies.probes import StudyProbe

Result = StepScore | Failure
ROUNDING = 1e-9


def fitted(
    study: MeasuredStudy, data: StudyData, backbone: Backbone, features: Mapping[str, Features], step: int, device: str
) -> Iterator[Result]:
    """The scores of all probes on a data set; a probe that fails is named, and the others are fitted.

    Args:
        features: of each split.
    """
    vectors = expected_features(data, backbone)

    @cache
    def given(joined: bool) -> ProbeData:
        found = probe_data(features, vectors.reads, data.name, joined=joined)
        return replace(found, device=device)

    for each in study.fitted_to(data):
        try:
            for group in groups_of([*each.vector_jobs(vectors)], but_setting):
                yield from _scores(study, each, given(group[0].fitted.validation == "joins"), group, data, step)
        except Exception as error:
            yield Failure(step, reason(error), data.name, each.probe.name)


def _scores(
    study: MeasuredStudy, probe: StudyProbe, data: ProbeData, jobs: Sequence[Job], of: StudyData, step: int
) -> Iterator[StepScore]:
    """The scores of jobs that differ only in shots and seed."""
    chosen = jobs[0].fitted
    settings = [job.setting for job in jobs]
    started = time.perf_counter()
    fits = dict[Setting, Fit]()
    for fit in chosen.fit(data, settings):
        now = time.perf_counter()
        fits.setdefault(Setting(fit.shots, fit.seed), fit)
        for place, (metric, value) in enumerate(fit.values):
            yield _score(study, of.name, step, fit, place, (metric, value), now - started)
        started = time.perf_counter()
    for each in study.probes.metrics if probe.probe.scored else ():
        for setting in settings:
            for found in measured(each, chosen, data, setting, fits[setting].details):
                if found.value is not None:
                    fit = Fit(found.variant, setting.shots, setting.seed)
                    pair = (each.metric.name, found.value)
                    yield _score(study, of.name, step, fit, 1, pair, time.perf_counter() - started)
                started = time.perf_counter()


def _score(
    study: MeasuredStudy, dataset: str, step: int, fit: Fit, place: int, pair: tuple[str, float], seconds: float
) -> StepScore:
    """One score with its interval; a value that is not possible is an error."""
    metric, value = pair[0], float(pair[1])
    if not isfinite(value) or not study.metrics[metric].allows(value, ROUNDING):
        raise UserError(f"{metric} is {value:g}, which is no valid value; are the features of the network sound?")
    found = StepScore(step, dataset, fit.variant, metric, value, fit.shots, fit.seed, seconds=seconds, first=place == 0)
    if place > 0:
        return found
    low = high = None
    small = fit.units is not None and fit.units.kind in SMALL
    units = {**fit.units.in_details, **fit.units.in_result} if fit.units is not None and small else {}
    if fit.interval is not None:
        low, high = value - fit.interval, value + fit.interval
    elif fit.units is not None and fit.units.kind == "images" and len(hits := fit.units.arrays[CORRECT]) > 1:
        interval = crossed(np.asarray(hits, np.float64)[None]).interval()
        # Of other metrics, such as the mean over classes, the hits are not the values.
        if abs(interval.value - value) < ROUNDING:
            low, high = max(interval.low, 0.0), min(interval.high, 1.0)
    return replace(found, low=low, high=high, units=units)


def reason(error: BaseException) -> str:
    """An error in a few words: a user's error as it is, another one with its type and its first line."""
    first = " ".join(str(error).strip().partition("\n")[0].split())
    if isinstance(error, UserError):
        return first
    if isinstance(error, torch.cuda.OutOfMemoryError):
        return "GPU memory ran out; give a smaller batch (batch) or fewer images (limit) in the study"
    return f"{type(error).__name__}{': ' if first else ''}{first[:300]}"
