"""The probe `upernet`: segmentation by a head that is trained together with the backbone."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.data.core.dataset import Target
from unseen.probes.dense.protocols import SEGMENTATION, DenseProtocol
from unseen.probes.dense.trained_head import TrainedHead


@dataclass(frozen=True)
class UPerNet(TrainedHead):
    """UPerNet on four maps of the backbone, which is trained too."""

    name: ClassVar[str] = "upernet"
    title: ClassVar[str] = "UPerNet for segmentation, trained with the whole backbone (Ericsson et al.)"
    citation: ClassVar[str] = "Xiao et al. 2018, Unified Perceptual Parsing for Scene Understanding"
    purpose: ClassVar[str] = "segmentation with everything trained"
    targets: ClassVar[tuple[Target, ...]] = ("map",)
    metrics: ClassVar[tuple[str, ...]] = ("miou", "pixel-accuracy")
    paper: ClassVar[DenseProtocol] = SEGMENTATION


PROBE = UPerNet
