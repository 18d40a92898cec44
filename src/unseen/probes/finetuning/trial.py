"""A trial of a grid: the network trained with one setting, and scored on validation images."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from unseen.data.core.dataset import Target
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.job import Fit
from unseen.probes.probe import Input, Probe
from unseen.probes.protocol import Setting

if TYPE_CHECKING:
    from unseen.probes.image_cell import ImageCell

TRIAL_REVISION = 2
"""Increased when a training of a grid gives other numbers for the same input."""


@dataclass(frozen=True)
class Trial(Probe):
    """One setting of a grid; it is not a probe by itself, as it says nothing about test images."""

    name: ClassVar[str] = "fine-tuned-trial"
    title: ClassVar[str] = "one setting of fine-tuning"
    input: ClassVar[Input] = "images"
    targets: ClassVar[tuple[Target, ...]] = ("class", "classes")
    random: ClassVar[bool] = True
    protocol: FinetuneProtocol

    def fit(self, cell: "ImageCell", settings: Sequence[Setting]) -> Iterator[Fit]:  # type: ignore[override]
        from unseen.probes.finetuning.search import trial_fit

        for setting in settings:
            yield trial_fit(cell, cell.jobs[setting], self.protocol)
