"""The probe `fine-tuned`: the whole backbone trained on the images of a domain or a data set."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from unseen.data.core.dataset import Target
from unseen.errors import UserError, look_up
from unseen.probes.finetuning.grid import BATCH, SETTINGS, STEPS, FinetuneGrid, finetune_grid
from unseen.probes.finetuning.protocol import REFERENCE as REFERENCE_NAME
from unseen.probes.finetuning.protocol import FinetuneProtocol, reference_protocol
from unseen.probes.finetuning.trial import TRIAL_REVISION, Trial, TunedNetwork
from unseen.probes.job import Fit, Held, Job
from unseen.reading.keys import key

if TYPE_CHECKING:
    from unseen.probes.image_cell import ImageCell, ImageInputs

REFERENCE_REVISION = 3
"""Increased when a training with one setting gives other numbers for the same input; of a grid, `TRIAL_REVISION` is."""
GRID, REFERENCE = "ericsson-2021", "reference"
REFERENCE_BATCH = 256


@dataclass(frozen=True)
class ReferenceUsed:
    """What is recorded of a reference; the number of its steps follows from the data set."""

    name: str
    epochs: int
    batch: int
    rate: float
    arithmetic: str


@dataclass(frozen=True)
class FineTuned(TunedNetwork):
    """A backbone with a new linear layer, trained entirely by SGD; see `unseen.probes.finetuning`.

    With the protocol of Ericsson et al. (2021), each setting of a grid is a job of its own, and the final job needs all
    of them: it trains the best setting again, on training and validation images, and scores it on test images. As a
    `reference` for frozen features (ImageNet-CoG, supplementary C.2), one setting is trained on the training images;
    the paper does not say how it fine-tuned, so these settings are our choice.
    """

    name: ClassVar[str] = "fine-tuned"
    title: ClassVar[str] = "the whole backbone trained"
    purpose: ClassVar[str] = "what a backbone reaches once it is trained too"
    targets: ClassVar[tuple[Target, ...]] = ("class", "classes")
    takes_gaps: ClassVar[bool] = True
    validation: ClassVar[Literal["chooses", "joins"]] = "chooses"
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5", "mean-per-class", "map-11-point", "ece", "scaled-ece")
    protocol: str | FinetuneGrid | FinetuneProtocol = key(
        GRID, "a grid chosen on validation images, or one fixed setting", choices=(GRID, REFERENCE), hint=str
    )
    trials: int = key(SETTINGS, "settings to try, of the grid of 40", least=1, most=SETTINGS, identity=False)
    steps: int = key(STEPS, "training steps of each setting of the grid", least=1, most=STEPS, identity=False)
    batch: int | None = key(
        None, f"images per step; unset: {BATCH}, as a reference {REFERENCE_BATCH}", least=1, identity=False
    )
    epochs: int = key(30, "epochs of the reference", least=1, identity=False)
    rate: float = key(0.01, "initial learning rate of the reference, then a cosine", above=0, identity=False)

    def __post_init__(self) -> None:
        if isinstance(self.protocol, str):
            look_up(dict.fromkeys((GRID, REFERENCE)), self.protocol, "protocol", " of the probe fine-tuned")
            if self.protocol == GRID:
                _ = self.grid  # refuses impossible numbers before any work

    @property
    def protocol_name(self) -> str:
        if isinstance(self.protocol, str):
            return REFERENCE_NAME if self.is_reference else self.grid.name
        return self.protocol.name

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        return {"batch": REFERENCE_BATCH if self.is_reference else BATCH}

    def takes_target(self, target: Target) -> bool:
        """A reference takes one class per image, as in ImageNet-CoG."""
        return target in self.targets and not (self.is_reference and target == "classes")

    @property
    def is_reference(self) -> bool:
        """Whether it is one setting, without validation images."""
        return isinstance(self.protocol, FinetuneProtocol) or self.protocol == REFERENCE

    @property
    def needed_splits(self) -> tuple[str, ...]:
        """The splits that a data set must have."""
        return ("train", "test") if self.is_reference else ("train", "val", "test")

    @property
    def decodes(self) -> bool:
        return not self.is_reference

    def image_remarks(self, inputs: "ImageInputs") -> Iterator[tuple[str, dict[str, Any]]]:
        if not self.is_reference and self.grid.short:
            yield "told", {"text": self.grid.short}

    def used(self, inputs: "ImageInputs") -> "FinetuneGrid | ReferenceUsed":
        if not self.is_reference:
            return self.grid
        batch = self.batch or REFERENCE_BATCH
        return ReferenceUsed(self.protocol_name, self.epochs, batch, self.rate, inputs.arithmetic)

    @property
    def grid(self) -> FinetuneGrid:
        """The settings to try."""
        if isinstance(self.protocol, FinetuneGrid):
            return self.protocol
        return finetune_grid(trials=self.trials, steps=self.steps, batch=self.batch or BATCH)

    def on(self, inputs: "ImageInputs") -> "FineTuned":
        if isinstance(self.protocol, FinetuneGrid | FinetuneProtocol):
            return self
        if self.protocol == GRID:
            return FineTuned(self.grid)
        images, batch = inputs.rows["train"], self.batch or REFERENCE_BATCH
        return FineTuned(reference_protocol(images, epochs=self.epochs, batch=batch, rate=self.rate))

    def job(self, inputs: "ImageInputs", seed: int) -> Job:
        backbone, probe, how = inputs.backbone, self.on(inputs), inputs.arithmetic
        if not self.is_reference and not any(True for _ in backbone.module.parameters()):
            raise UserError(f"{backbone.spec.id}: has no trainable parameters, so it cannot be fine-tuned")
        made = (backbone.label, inputs.dataset.name, inputs.reads, probe.described, None, seed)
        if isinstance(probe.protocol, FinetuneProtocol):
            return Job(self.name, REFERENCE_REVISION, *made, arithmetic=how, make=Held(probe))
        trials = tuple(Trial(each).job(inputs, seed) for each in probe.grid.settings)
        return Job(self.name, TRIAL_REVISION, *made, inputs.dataset.metric, how, needs=trials, make=Held(probe))

    def trained(self, cell: "ImageCell", job: Job) -> Fit:
        from unseen.probes.finetuning.reference import reference_fit
        from unseen.probes.finetuning.search import final_fit

        if isinstance(self.protocol, FinetuneProtocol):
            return reference_fit(cell, job, self.protocol)
        return final_fit(cell, job, self.grid)


PROBE = FineTuned
