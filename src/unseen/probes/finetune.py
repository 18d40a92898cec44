"""Fine-tuning a whole network by SGD for a number of steps, resumable to the same weights.

Everything random in a step (dropout, the batch, its augmentation) is a function of the seed and of the step's number,
so a run that goes on from a checkpoint sees what an unbroken one would have seen. On one CPU thread the weights are
then equal to the bit; a GPU adds some sums in an order of its own.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from math import cos, isfinite, pi
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.probes.augment import Augment

FORMAT = 1
Batches = Callable[[int], Iterator[tuple[Tensor, Tensor]]]
"""The batches from a step on, in order: inputs (b, …) and class indices (b,), on any device."""


@dataclass(frozen=True)
class FinetuneProtocol:
    """What is done to a network; everything here can change a number.

    Attributes:
        rate: the greatest learning rate; it grows to it over `warmup` steps and falls to 0 along half a cosine.
        decay: times a parameter, is added to its gradient; of all parameters alike.
        augment: what is done to training images (`unseen.probes.augment`).
    """

    name: str
    steps: int
    batch: int
    rate: float
    decay: float
    momentum: float = 0.9
    nesterov: bool = True
    warmup: int = 0
    augment: Augment = "crop+flip"

    def rate_at(self, step: int) -> float:
        """The learning rate of a step, the first of which is 0."""
        if step < self.warmup:
            return self.rate * (step + 1) / self.warmup
        return self.rate * 0.5 * (1 + cos(pi * (step - self.warmup) / (self.steps - self.warmup)))


@dataclass(frozen=True)
class Finetuned:
    """How a training went; the network itself was changed in place.

    Attributes:
        losses: mean cross-entropy of each stretch of steps from one check to the next.
        finished: False where a loss was not finite: training diverged and ended there.
    """

    losses: tuple[float, ...]
    finished: bool


def with_head(backbone: nn.Module, dimension: int, classes: int, *, seed: int) -> nn.Module:
    """A backbone and a new linear layer on its features, all of it trainable."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        head = nn.Linear(dimension, classes)
    return nn.Sequential(backbone, head).requires_grad_(True)


def finetune(
    model: nn.Module,
    batches: Batches,
    protocol: FinetuneProtocol,
    *,
    device: torch.device,
    seed: int = 0,
    every: int = 500,
    checkpoint: Path | None = None,
    identity: str = "",
    watch: Callable[[int], None] = lambda _: None,
) -> Finetuned:
    """Train a network on the mean cross-entropy of each batch, from its checkpoint on where there is one.

    On a GPU products are in float16 and weights in float32, with the loss scaled so that small gradients survive.

    Args:
        model: changed in place, and left on the device in evaluation mode.
        every: steps between checks: the loss is looked at, and all that decides the rest is saved to `checkpoint`.
        identity: what is trained and on what, beyond the protocol and the seed; a checkpoint of another is refused.
        watch: called with the number of steps done, at every check.
    """
    _refuse_nonsense(protocol, model, every)
    model.to(device).train()
    optimiser = torch.optim.SGD(
        [parameter for parameter in model.parameters() if parameter.requires_grad],
        lr=protocol.rate,
        momentum=protocol.momentum,
        weight_decay=protocol.decay,
        nesterov=protocol.nesterov and protocol.momentum > 0,
    )
    scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")
    what = {"protocol": asdict(protocol), "seed": seed, "every": every, "identity": identity}
    state = _State(model, optimiser, scaler, json.dumps(what, sort_keys=True))
    step, losses = state.load(checkpoint, device) if checkpoint else (0, [])
    coming = batches(step)
    with torch.random.fork_rng():
        while step < protocol.steps:
            stretch = range(step, min(step + every, protocol.steps))
            total = torch.zeros((), device=device)
            for number in stretch:
                torch.manual_seed((seed << 32) + number)
                inputs, labels = next(coming)
                for group in optimiser.param_groups:
                    group["lr"] = protocol.rate_at(number)
                total += _step(model, optimiser, scaler, inputs.to(device), labels.to(device))
            losses.append(float(total) / len(stretch))
            step = stretch.stop
            watch(step)
            if not isfinite(losses[-1]):
                break
            if checkpoint:
                state.save(checkpoint, step, losses)
    model.eval()
    return Finetuned(tuple(losses), finished=isfinite(losses[-1]))


def _step(
    model: nn.Module, optimiser: torch.optim.Optimizer, scaler: torch.amp.GradScaler, inputs: Tensor, labels: Tensor
) -> Tensor:
    """One update; returns the loss before it, without waiting for the device."""
    optimiser.zero_grad(set_to_none=True)
    with torch.autocast(inputs.device.type, dtype=torch.float16, enabled=scaler.is_enabled()):
        loss = cross_entropy(model(inputs), labels)
    scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
    scaler.step(optimiser)
    scaler.update()
    return loss.detach().float()


@torch.inference_mode()
def predict(model: nn.Module, inputs: Iterable[Tensor], *, device: torch.device) -> Tensor:
    """(n, c) scores of all inputs in order, in float32 on the host; the model is left in evaluation mode."""
    model.to(device).eval()
    scores = []
    for block in inputs:
        with torch.autocast(device.type, dtype=torch.float16, enabled=device.type == "cuda"):
            scores.append(model(block.to(device)).float().cpu())
    if not scores:
        raise UserError("there are no images to test on")
    return torch.cat(scores)


@dataclass(frozen=True, eq=False)
class _State:
    """All that decides the rest of a training."""

    model: nn.Module
    optimiser: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    identity: str

    def save(self, path: Path, step: int, losses: list[float]) -> None:
        record = {
            "format": FORMAT,
            "identity": self.identity,
            "step": step,
            "losses": losses,
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "scaler": self.scaler.state_dict(),
        }
        with atomic_write(path) as file:
            torch.save(record, file)

    def load(self, path: Path, device: torch.device) -> tuple[int, list[float]]:
        """The step to go on from and the losses so far: 0 and none where there is no checkpoint."""
        if not path.exists():
            return 0, []
        try:
            record: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
            found, step, losses = record["identity"], int(record["step"]), list(record["losses"])
            if record["format"] == FORMAT and found == self.identity:
                self.model.load_state_dict(record["model"])
                self.optimiser.load_state_dict(record["optimiser"])
                self.scaler.load_state_dict(record["scaler"])
                return step, losses
        except Exception as error:  # a damaged file fails in many ways
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise UserError(f"{path}: damaged checkpoint ({reason}); delete it to start again") from None
        raise UserError(f"{path}: a checkpoint of another fine-tuning; delete it, or keep this one elsewhere")


def _refuse_nonsense(protocol: FinetuneProtocol, model: nn.Module, every: int) -> None:
    if min(protocol.steps, protocol.batch, every) < 1 or not 0 <= protocol.warmup < protocol.steps:
        raise UserError(
            f"fine-tuning needs at least one step and one image a step, and fewer steps of warm-up than steps, "
            f"not {protocol.steps} steps of {protocol.batch} with {protocol.warmup} of warm-up"
        )
    if protocol.rate <= 0 or protocol.decay < 0 or not 0 <= protocol.momentum < 1:
        raise UserError(
            f"fine-tuning needs a positive rate, a decay of at least 0 and a momentum below 1, "
            f"not {protocol.rate}, {protocol.decay} and {protocol.momentum}"
        )
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise UserError("this network has no parameters to train, so it cannot be fine-tuned")
