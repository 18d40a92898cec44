"""The probe `detector-frozen`: a detector on a backbone that is frozen but for its last stage."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.data.core.dataset import Target
from unseen.probes.dense.protocols import DETECTION_FROZEN, DenseProtocol
from unseen.probes.dense.trained_head import TrainedHead
from unseen.probes.patches.patch_probe import METRICS


@dataclass(frozen=True)
class DetectorFrozen(TrainedHead):
    """Faster R-CNN with a feature pyramid; of the backbone, only the last stage is trained."""

    name: ClassVar[str] = "detector-frozen"
    title: ClassVar[str] = "Faster R-CNN on a backbone of which the last stage is trained (Ericsson et al.)"
    citation: ClassVar[str] = (
        "Ren et al. 2015, Faster R-CNN; Lin et al. 2017, Feature Pyramid Networks for Object Detection"
    )
    purpose: ClassVar[str] = "object detection on a mostly frozen backbone"
    targets: ClassVar[tuple[Target, ...]] = ("boxes",)
    metrics: ClassVar[tuple[str, ...]] = METRICS["boxes"]
    paper: ClassVar[DenseProtocol] = DETECTION_FROZEN


PROBE = DetectorFrozen
