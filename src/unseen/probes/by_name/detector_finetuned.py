"""The probe `detector-finetuned`: a detector that is trained together with the backbone."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.data.core.dataset import Target
from unseen.probes.dense.protocols import DETECTION_FINETUNED, DenseProtocol
from unseen.probes.dense.trained_head import TrainedHead
from unseen.probes.patches.patch_probe import METRICS


@dataclass(frozen=True)
class DetectorFinetuned(TrainedHead):
    """Faster R-CNN with a feature pyramid, trained with the backbone, except for its norms."""

    name: ClassVar[str] = "detector-finetuned"
    title: ClassVar[str] = "Faster R-CNN, trained with the whole backbone (Ericsson et al.)"
    citation: ClassVar[str] = (
        "Ren et al. 2015, Faster R-CNN; Lin et al. 2017, Feature Pyramid Networks for Object Detection"
    )
    purpose: ClassVar[str] = "object detection with everything trained"
    targets: ClassVar[tuple[Target, ...]] = ("boxes",)
    metrics: ClassVar[tuple[str, ...]] = METRICS["boxes"]
    paper: ClassVar[DenseProtocol] = DETECTION_FINETUNED


PROBE = DetectorFinetuned
