"""The demos as studies: their features extracted, and their jobs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from unseen.demo.drawings import demo_levels
from unseen.demo.form import Form
from unseen.demo.study import demo_run_data, estimate_demo, extract_missing, missing_features, plan_demo
from unseen.ontology.levels import Levels
from unseen.probes.job import Job
from unseen.runs.data import RunData
from unseen.runs.record import LEVELS
from unseen.studies.features import FEATURES
from unseen.studies.prepared import prepared_probes
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.study import Prepared, Watch
from unseen.text.words import counted, duration

EXTRACTED = "sets of features extracted"


def prepare_demo(folder: Path, form: Form, workers: int, watch: Watch) -> Prepared:
    """The demo's own backbones on embedded drawings."""
    features = folder / FEATURES
    left = len(missing_features(features))
    if left:
        watch.tell(_time(estimate_demo(form, folder, workers), workers))
    for _ in watch.track(extract_missing(features, workers=workers), EXTRACTED, left):
        pass
    return _prepared(form, *plan_demo(form, features), demo_run_data(form), demo_levels().levels)


def prepare_given(backbones: Sequence[str], folder: Path, form: Form, workers: int, watch: Watch) -> Prepared:
    """Backbones trained on ImageNet-1K, given by id, on drawings of concepts they have and have not seen."""
    from unseen.demo.imagenet_levels import imagenet_levels
    from unseen.demo.imagenet_study import (
        estimate_imagenet,
        extract_missing,
        find_backbone,
        imagenet_run_data,
        missing_features,
        plan_imagenet,
        with_pixels,
    )

    features, specs = folder / FEATURES, []
    for name in with_pixels(list(backbones)):
        loaded = find_backbone(name)
        specs.append(loaded.spec)
        for sentence in loaded.notes:
            watch.tell(sentence)
    left = missing_features(features, specs)
    if left:
        watch.tell(_time(estimate_imagenet(form, folder, specs, left, workers), workers))
    for _ in watch.track(extract_missing(features, left, workers=workers), EXTRACTED, len(left)):
        pass
    planned = plan_imagenet(form, features, specs)
    return _prepared(form, *planned, imagenet_run_data(form, specs), imagenet_levels().levels)


def _prepared(
    form: Form, jobs: Sequence[Job], pairs: Sequence[ProbedFeatures], data: RunData, levels: Levels
) -> Prepared:
    data = replace(data, scored=[pair.scored(form.protocol.name, "given") for pair in pairs])
    return prepared_probes(data, jobs, pairs, write_beside=lambda folder: levels.write(folder / LEVELS), replaces=True)


def _time(seconds: float, workers: int) -> str:
    return f"About {duration(seconds)} in all on {counted(workers, 'core')}: first features, then probes."
