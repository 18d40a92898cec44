"""The probe `fine-tuned`: the whole backbone trained on the images of a domain or a data set."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.images.dataset import Target
from unseen.probes.finetuning.grid import ERICSSON_2021, FinetuneGrid
from unseen.probes.finetuning.protocol import FinetuneProtocol
from unseen.probes.probe import Input, Probe


@dataclass(frozen=True)
class FineTuned(Probe):
    """A backbone with a new linear layer, trained entirely by SGD; see `unseen.probes.finetuning`.

    Args:
        protocol: a grid of settings of which the best on validation images is taken, or one setting.
    """

    name: ClassVar[str] = "fine-tuned"
    title: ClassVar[str] = "the whole backbone trained"
    input: ClassVar[Input] = "images"
    targets: ClassVar[tuple[Target, ...]] = ("class", "classes")
    random: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5", "mean-per-class", "map-11-point", "ece", "scaled-ece")
    commands: ClassVar[tuple[str, ...]] = ("unseen concepts --finetune", "unseen tasks --finetune")
    protocol: FinetuneGrid | FinetuneProtocol = ERICSSON_2021

    @property
    def protocol_name(self) -> str:
        return self.protocol.name


PROBE = FineTuned
