"""The inputs of probes of patch features: data sets with label maps, and data sets of classes."""

from collections.abc import Iterator, Sequence

from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.probes.patches.class_probe import ClassPatchProbe
from unseen.studies.backbones import StudyBackbones
from unseen.studies.inputs.class_patches import ClassPatchStage
from unseen.studies.inputs.patches import PatchStage
from unseen.studies.inputs.stage import Stage
from unseen.studies.matrix import takes
from unseen.studies.opened import OpenedData, StudyData
from unseen.studies.probes import StudyProbe
from unseen.studies.study import Study


def patch_stages(
    study: Study,
    probes: Sequence[StudyProbe],
    opened: OpenedData,
    data: Sequence[StudyData],
    backbones: StudyBackbones,
    settings: Settings,
) -> Iterator[Stage]:
    """One stage for the probes of label maps and one for those of classes, each with the data sets that it takes.

    Maps need whole images, squashed to a square; classes have the preprocessing of the study, as other probes of them.
    """
    dense, pooled = (
        [each for each in probes if isinstance(each.probe, ClassPatchProbe) == pools] for pools in (False, True)
    )
    if pooled and not dense and study.patches != "all":
        raise UserError(
            f"patches={study.patches}: {pooled[0].probe.name} pools all patches of an image, and a number of patches "
            "is for data sets with label maps; leave it out"
        )
    for_maps = [each for each in data if any(takes(of.probe, each) for of in dense)]
    if for_maps:
        yield PatchStage(dense, for_maps, backbones.patches, settings, study=study, opened=opened)
    of_classes = [each for each in data if any(takes(of.probe, each) for of in pooled)]
    if of_classes:
        yield ClassPatchStage(pooled, of_classes, backbones.published_patches, settings, study=study, opened=opened)
