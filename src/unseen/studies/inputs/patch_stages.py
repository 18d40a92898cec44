"""The inputs of probes of patch features: data sets with label maps, and data sets of classes."""

from collections.abc import Iterator, Sequence

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError
from unseen.features.settings import Settings
from unseen.probes.patches.class_probe import ClassPatchProbe
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
    backbones: Sequence[Backbone],
    settings: Settings,
) -> Iterator[Stage]:
    """One stage for the probes of label maps and one for those of classes, each with the data sets that it takes.

    Args:
        backbones: loaded for all positions.
    """
    dense, pooled = (
        [each for each in probes if isinstance(each.probe, ClassPatchProbe) == of_classes]
        for of_classes in (False, True)
    )
    if pooled and not dense and study.patches != "all":
        raise UserError(
            f"patches={study.patches}: {pooled[0].probe.name} pools all patches of an image, and a number of patches "
            "is for data sets with label maps; leave it out"
        )
    for stage, every in ((PatchStage, dense), (ClassPatchStage, pooled)):
        chosen = [each for each in data if any(takes(of.probe, each) for of in every)]
        if chosen:
            yield stage(every, chosen, backbones, settings, study=study, opened=opened)
