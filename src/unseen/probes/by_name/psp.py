"""The probe `psp`: surface normals by a head on the frozen backbone."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.data.core.dataset import Target
from unseen.probes.dense.protocols import NORMALS, DenseProtocol
from unseen.probes.dense.trained_head import TrainedHead


@dataclass(frozen=True)
class PSP(TrainedHead):
    """A pyramid scene parsing head for surface normals on the last map of the frozen backbone."""

    name: ClassVar[str] = "psp"
    title: ClassVar[str] = "a pyramid pooling head for surface normals on the frozen backbone (Ericsson et al.)"
    citation: ClassVar[str] = "Zhao et al. 2017, Pyramid Scene Parsing Network"
    purpose: ClassVar[str] = "surface normals from a trained head"
    targets: ClassVar[tuple[Target, ...]] = ("normals",)
    metrics: ClassVar[tuple[str, ...]] = ("angle-mean", "angle-median", "within-11.25", "within-22.5", "within-30")
    paper: ClassVar[DenseProtocol] = NORMALS


PROBE = PSP
