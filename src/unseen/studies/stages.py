"""The stages of a study: its cells by what their probes need, with the data sets and backbones that these use."""

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.data.core.dataset import Dataset
from unseen.device import default_device_type
from unseen.errors import UserError, option
from unseen.features.settings import Settings
from unseen.probes.single_images import SingleImageProbe
from unseen.runs.means import Means
from unseen.runs.parts import WHOLE, Part
from unseen.studies.backbones import StudyBackbones
from unseen.studies.finder import study_settings
from unseen.studies.given import FeatureFiles, Given
from unseen.studies.inputs.folder_features import FolderFeatures
from unseen.studies.inputs.image_features import ImageFeatures
from unseen.studies.inputs.stage import Stage
from unseen.studies.inputs.vector_features import FileFeatures
from unseen.studies.inputs.vectors import VectorStage
from unseen.studies.keys import StudyKeys
from unseen.studies.matrix import as_test_set, refuse_shots_of_several, refuse_unused, taken, unfitted
from unseen.studies.opened import OpenedData, StudyData, open_data
from unseen.studies.places import LPIPS
from unseen.studies.probes import StudyProbe, StudyProbes, study_probes
from unseen.studies.study import Study
from unseen.studies.watch import Watch

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone

IMAGE_INPUTS = ("patches", "images", "outputs")
"""Inputs of probes that need images, even if there are features."""


@dataclass(frozen=True, eq=False)
class OpenedStudy:
    """A study with its data sets, probes and backbones.

    Attributes:
        means: the hardware that it runs on.
        part: the part of a job array that features are extracted for.
    """

    study: Study
    given: Given
    probes: StudyProbes
    opened: OpenedData
    backbones: StudyBackbones
    means: Means
    watch: Watch
    part: Part = WHOLE

    @cached_property
    def settings(self) -> Settings:
        """The settings of its extractions."""
        return study_settings(self.study, self.means, self.part)

    @cached_property
    def stages(self) -> list[Stage]:
        """The inputs of its probes."""
        if isinstance(self.given.features, FeatureFiles):
            return [self._of_files(self.given.features)]
        return [*self._vectors(), *self._patches(), *self._trainings(), *self._single_images(), *self._outputs()]

    def _of(self, *inputs: str) -> tuple[list[StudyProbe], list[StudyData]]:
        """The probes of some inputs, and the data sets that they are fitted to."""
        probes = self.probes.of(*inputs)
        return probes, taken([each.probe for each in probes], self.opened)

    def _of_files(self, files: FeatureFiles) -> Stage:
        [data] = self.opened.data
        source = FileFeatures(files.backbone, data, files.places, self.watch.tell)
        return VectorStage(self.probes, source, study=self.study, opened=self.opened)

    def _vectors(self) -> Iterator[Stage]:
        probes, data = self._of("vectors")
        if not probes or not data:
            return
        own = replace(self.probes, every=tuple(probes))
        opened = replace(self.opened, data=data)
        features = self.given.features
        source: ImageFeatures | FolderFeatures
        if isinstance(features, Path):
            source = FolderFeatures(self.study, opened, features, self.backbones.names, self.watch.tell)
        else:
            source = ImageFeatures(self.study, opened, self._of_whole_images(probes[0]), self.settings)
        yield VectorStage(own, source, study=self.study, opened=opened, top1=self.backbones.top1)

    def _of_whole_images(self, probe: StudyProbe) -> "list[Backbone]":
        """The backbones with one vector per image; one that was loaded with patches in Python is refused."""
        for each in self.backbones.vectors:
            if each.spec.pool == "patches":
                raise UserError(
                    f"{each.label}: was loaded with patches, but {probe.probe.name} needs one vector per image; load "
                    "it without patches"
                )
        return self.backbones.vectors

    def _patches(self) -> Iterator[Stage]:
        probes, data = self._of("patches")
        if probes and data:
            from unseen.studies.inputs.patch_stages import patch_stages

            yield from patch_stages(self.study, probes, self.opened, data, self.backbones, self.settings)

    def _trainings(self) -> Iterator[Stage]:
        """Classes are learned with the preprocessing of the study, boxes and maps with each backbone's own."""
        probes = [each for each in self.probes.of("images") if not each.probe.unlabelled]
        if not probes:
            return
        from unseen.studies.inputs.images import TrainingStage

        data = taken([each.probe for each in probes], self.opened)
        for dense in (False, True):
            chosen = [each for each in data if each.dataset.dense == dense]
            if chosen:
                networks = self.backbones.networks if dense else self.backbones.published_networks
                yield TrainingStage(
                    probes, chosen, networks, not self.probes.of("vectors"), study=self.study, opened=self.opened,
                    top1=self.backbones.top1,
                )  # fmt: skip

    def _single_images(self) -> Iterator[Stage]:
        probes = [each for each in self.probes.of("images") if each.probe.unlabelled]
        if not probes:
            return
        from unseen.studies.inputs.image_sets import image_sets
        from unseen.studies.inputs.single_images import SingleImageStage, perceptual_networks

        sets = image_sets(self.opened, self.study.examples)
        for each in probes:
            probe = each.probe
            assert isinstance(probe, SingleImageProbe)
            backbones = self.backbones.published_patches if probe.patches else self.backbones.vectors
            settings = replace(self.settings, workers=0, part=WHOLE)
            if not probe.half and settings.precision == "half":
                settings = replace(settings, precision="single")
            trunks, absent = (
                perceptual_networks(self.given.places.path(LPIPS), settings.device) if probe.reconstructs else ({}, [])
            )
            yield SingleImageStage(
                probe, each.seeds, sets, backbones, settings, trunks, absent, study=self.study, opened=self.opened,
                top1=self.backbones.top1,
            )  # fmt: skip

    def _outputs(self) -> Iterator[Stage]:
        probes, data = self._of("outputs")
        if not probes or not data:
            return
        from unseen.ontology.class_mapping import choose_mapping
        from unseen.studies.inputs.outputs import OutputStage

        mapping = None if self.study.mapping is None else choose_mapping(self.study.mapping).of
        yield OutputStage(
            self.backbones.plans, data, [as_test_set(each) for each in data], replace(self.settings, part=WHOLE),
            self.study.classes, mapping, study=self.study, opened=self.opened,
        )  # fmt: skip


def open_study(study: Study, given: Given, means: Means, watch: Watch, part: Part = WHOLE) -> OpenedStudy:
    """Open the data sets of a study; mistakes that need no data are found before."""
    probes = study_probes(study, watch.tell)
    for sentence in _unused(study, probes):
        watch.tell(sentence)
    features = given.features
    if features is not None:
        _refuse_without_images(probes)
    backbones = StudyBackbones(
        study, given.backbones, default_device_type(), watch.tell, given.allow_code, named=features is not None
    )
    if isinstance(features, FeatureFiles):
        title = "your data" if features.dataset == features.backbone else features.dataset
        opened = OpenedData([StudyData(Dataset(features.dataset, title, 0), is_file=True)])
        return OpenedStudy(study, given, probes, opened, backbones, means, watch, part)
    if features is None:
        _ = backbones.entries  # refuses a study without backbones
    opened = open_data(study, given.places, probes.wanted, watch, given=given.datasets, features=features)
    every = [each.probe for each in probes.every]
    refuse_unused(every, opened)
    refuse_shots_of_several(probes.every, opened)
    opened = replace(opened, notices=[*opened.notices, *unfitted(every, opened)])
    return OpenedStudy(study, given, probes, opened, backbones, means, watch, part)


def _unused(study: Study, probes: StudyProbes) -> Iterator[str]:
    """Sentences about keys that were changed and that none of the probes reads."""
    needing = {"patches": "patches" in probes.wanted.inputs, "examples": "none" in probes.wanted.targets}
    needing |= dict.fromkeys(("classes", "mapping", "complete"), "outputs" in probes.wanted.inputs)
    names = ", ".join(each.probe.name for each in probes.every)
    for each in fields(StudyKeys):
        if not needing.get(each.name, True) and getattr(study, each.name) != each.default:
            yield f"The key {each.name} is not used: no probe of the study ({names}) needs it."
    for of in probes.every:
        if of.shots and not any(map(of.probe.takes_shots, of.shots)):
            yield f"The key shots is not used by {of.probe.name}, which takes no such number of training samples."


def _refuse_without_images(probes: StudyProbes) -> None:
    needing = next(iter(probes.of(*IMAGE_INPUTS)), None)
    if needing is not None:
        raise UserError(
            f"{needing.probe.name} needs images and a backbone, not features; give images ({option('data')}), or leave "
            "it out"
        )
