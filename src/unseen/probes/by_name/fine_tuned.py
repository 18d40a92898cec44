"""The probe `fine-tuned`: the whole backbone trained on the images of a domain or a data set."""

from dataclasses import dataclass
from typing import ClassVar

from unseen.probes.finetuning import jobs
from unseen.probes.finetuning.jobs import FinetuneJob as FinetuneJob  # noqa: PLC0414 - kinds of jobs are found here
from unseen.probes.finetuning.jobs import FinetuneTaskJob as FinetuneTaskJob  # noqa: PLC0414
from unseen.probes.probe import Input, Probe


@dataclass(frozen=True)
class FineTuned(Probe):
    """A backbone with a new linear layer, trained entirely by SGD; see `unseen.probes.finetuning`."""

    name: ClassVar[str] = jobs.NAME
    title: ClassVar[str] = "the whole backbone trained"
    input: ClassVar[Input] = "images"
    random: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5", "mean-per-class", "map-11-point", "ece", "scaled-ece")
    commands: ClassVar[tuple[str, ...]] = ("unseen concepts --finetune", "unseen tasks --finetune")


PROBE = FineTuned
