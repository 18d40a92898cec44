"""A study as it is measured on a network in training: its probes of feature vectors, on data sets that are open."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from typing import Any

from torch.nn import Identity

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.features.fingerprint import names_and_pixels
from unseen.features.settings import Settings, extraction_settings
from unseen.metrics.catalogue import METRICS, Metric
from unseen.monitoring.images import splits_read
from unseen.runs.notices import Notice
from unseen.runs.shots import refuse_shots
from unseen.studies.given import Given
from unseen.studies.inputs.image_features import expected_features
from unseen.studies.matrix import refuse_shots_of_several, refuse_unused, taken, takes, unfitted
from unseen.studies.opened import StudyData, open_data
from unseen.studies.probes import StudyProbe, StudyProbes, study_probes
from unseen.studies.study import Study
from unseen.studies.watch import Watch
from unseen.text.words import joined
from unseen.trackers.metric_names import metric_name

SOME_DIMENSIONS = 1024
"""Dimensions of features to plan with before the network is known."""


@dataclass(frozen=True, eq=False)
class MeasuredStudy:
    """What is measured at every check.

    Attributes:
        study: without backbones of its own.
        probes: those of feature vectors.
        data: the data sets that at least one of them takes.
        transform: how images are prepared, as the study has it.
    """

    study: Study
    probes: StudyProbes
    data: Sequence[StudyData]
    transform: Transform

    def settings(self, device: str | None = None) -> Settings:
        """How features are extracted: the same as in a run of the study on that device."""
        return extraction_settings(device, self.study.precision, self.study.batch, 0, "fail", exif=self.study.exif)

    def fitted_to(self, data: StudyData) -> list[StudyProbe]:
        """The probes that a data set is for."""
        return [each for each in self.probes.every if takes(each.probe, data)]

    @cached_property
    def metrics(self) -> Mapping[str, Metric]:
        """The metrics of its scores by name."""
        own = [metric for each in self.probes.own for metric in each.declared]
        return {**METRICS, **{each.name: each for each in [*own, *(each.metric for each in self.probes.metrics)]}}

    @cached_property
    def described(self) -> dict[str, Any]:
        """What its scores depend on beside the network, to compare with what a folder has."""
        images = {
            data.name: {
                split: names_and_pixels(*data.images.part(split), [split]) for split in splits_read(data)
            }
            for data in self.data
        }  # fmt: skip
        return {"study": self.study.to_toml(), "transform": asdict(self.transform), "images": images}


def measured_study(study: Study, given: Given, transform: Transform, watch: Watch) -> MeasuredStudy:
    """Open what a study measures; what cannot be measured while a network trains is told, or is an error."""
    plain = replace(study, backbones=(), backbone={})
    if study.on_error == "skip":
        raise UserError("on_error='skip' is for studies that are run; remove damaged images from your data")
    every = study_probes(plain, watch.tell)
    probes = replace(every, every=tuple(every.of("vectors")))
    others = [each.probe for each in every.every if each.probe.input != "vectors"]
    needs = {"patches": "patch features", "outputs": "the outputs of a classifier", "images": "a training of its own"}
    lacking = {need: [each.name for each in others if needs[each.input] == need] for need in needs.values()}
    lost = joined([_lost(names, need) for need, names in lacking.items() if names])
    if not probes.every:
        raise UserError(f"{lost}; while a network trains, only probes of feature vectors are fitted (unseen ls probes)")
    if lost:
        watch.tell(f"Left out while the network trains: {lost}, and not one feature vector per image.")
    opened = open_data(plain, given.places, probes.wanted, watch, given=given.datasets)
    fitted = [each.probe for each in probes.every]
    refuse_unused(fitted, opened)
    refuse_shots_of_several(probes.every, opened)
    notices: list[Notice] = [*opened.absent, *opened.notices, *unfitted(fitted, opened)]
    for notice in notices:
        watch.tell(notice.sentence)
    if study.preprocessing == "published":
        transform = replace(transform, resize=transform.size, interpolation="bicubic", squash=False)
    found = MeasuredStudy(plain, probes, taken(fitted, opened), transform)
    _refuse_same_name([each.name for each in found.data], lambda name: metric_name(name, "probe", "metric"))
    _refuse_same_name([each.probe.name for each in probes.every], lambda name: metric_name("data", name, "metric"))
    found.settings()  # refuses a precision that this machine does not have
    for notice in dict.fromkeys(_of_shots(found)):
        watch.tell(notice.sentence)
    return found


def _refuse_same_name(names: Sequence[str], of: Callable[[str], str]) -> None:
    """Refuse two whose names differ only in hyphens, dots and underscores: their scores would be one curve."""
    known: dict[str, str] = {}
    for name in names:
        other = known.setdefault(of(name), name)
        if other != name:
            raise UserError(f"{other} and {name} have the same name in curves and trackers; rename one")


def _lost(names: Sequence[str], need: str) -> str:
    return f"{joined(names)} {'needs' if len(names) == 1 else 'need'} {need}"


def _of_shots(study: MeasuredStudy) -> Iterator[Notice]:
    """Notices about numbers of shots that data sets have too few samples for; an error if no probe can be fitted."""
    spec = Spec("network", "", "output", "none", SOME_DIMENSIONS, 0, study.transform)
    known = Backbone(spec, Identity())
    pairs = [(expected_features(data, known), each) for data in study.data for each in study.fitted_to(data)]
    for vectors, each in pairs:
        yield from each.shot_notices(vectors, vectors.named_dataset)
    if not any(True for vectors, each in pairs for _ in each.vector_jobs(vectors)):
        lacking = [
            (partial(each.probe.total_shortage, vectors.counts), vectors.named_dataset)
            for vectors, each in pairs
            if vectors.counts is not None
        ]
        refuse_shots([*dict.fromkeys(number for _, each in pairs for number in each.numbers)], lacking)


def transform_of(given: "Transform | int") -> Transform:
    """How images are prepared: a size stands for the shortest side, a centre crop, and ImageNet's normalisation."""
    if isinstance(given, Transform):
        return given
    if not isinstance(given, int) or isinstance(given, bool):
        raise UserError(f"transform must be a size in pixels or a Transform, not {given!r:.60}")
    if given < 1:
        raise UserError(f"transform: image size must be at least 1, not {given}")
    return Transform(given, given)
