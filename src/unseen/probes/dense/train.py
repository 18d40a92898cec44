"""Training a dense predictor by SGD for a number of steps, resumable to the same weights.

Everything random in a step (the batch, its sizes, dropout, which anchors are drawn) is a function of the seed and of
the step's number, so a run that continues from a checkpoint sees what an unbroken one would have seen. On one CPU
thread the weights are then equal to the bit; a GPU adds some sums in an order of its own.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unseen.errors import UserError
from unseen.probes.dense.protocols import DenseProtocol
from unseen.probes.finetuning.training_state import TrainingState

Batches = Callable[[int], Iterator[Any]]
"""The batches from a step on, in order."""
Loss = Callable[[nn.Module, Any, torch.device], Tensor]
"""Of a batch."""
SAVE_SECONDS = 30.0
"""Between checkpoints at least: one of a detector is 200 MB, which can take a disk longer than the steps before it."""
NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)


@dataclass(frozen=True)
class Trained:
    """How a training went; the network itself was changed in place.

    Attributes:
        losses: mean of each stretch of steps from one check to the next, of the finite ones.
        finished: False where the last loss before a check was not finite: training diverged and ended there.
        skipped: steps whose loss was not finite, which left the weights as they were.
    """

    losses: tuple[float, ...]
    finished: bool
    skipped: int = 0


def train_dense(
    model: nn.Module,
    batches: Batches,
    loss: Loss,
    protocol: DenseProtocol,
    *,
    device: torch.device,
    seed: int = 0,
    every: int = 500,
    checkpoint: Path | None = None,
    identity: str = "",
    watch: Callable[[int], None] = lambda _: None,
) -> Trained:
    """Train what is trainable of a network, from its checkpoint on where there is one.

    On a GPU products are in float16 and weights in float32, with the loss scaled so that small gradients survive.

    Args:
        model: changed in place, and left on the device in evaluation mode.
        every: steps between checks: the loss is looked at, and all that decides the rest is saved to `checkpoint`, if
            it was not saved a moment ago.
        identity: what is trained and on what, beyond the protocol and the seed; a checkpoint of another is refused.
        watch: called with the number of steps done, at every check.
    """
    on_gpu = device.type == "cuda"
    model.to(device).train()
    optimizer = _sgd(model, protocol)
    scaler = torch.amp.GradScaler(device.type, enabled=on_gpu)
    what = {"protocol": asdict(protocol), "seed": seed, "every": every, "identity": identity}
    state = TrainingState(model, optimizer, scaler, json.dumps(what, sort_keys=True))
    step, losses, skipped = state.load(checkpoint, device) if checkpoint else (0, [], 0)
    coming, finished, saved = batches(step), True, time.monotonic()
    with torch.random.fork_rng(devices=[device] if on_gpu else []):
        while finished and step < protocol.steps:
            stretch = range(step, min(step + every, protocol.steps))
            found = [_step(model, optimizer, scaler, loss, next(coming), protocol, number, seed) for number in stretch]
            values = torch.stack(found).cpu()
            sound = values[values.isfinite()]
            losses.append(float(sound.mean()) if len(sound) else float("nan"))
            skipped += len(values) - len(sound)
            step, finished = stretch.stop, isfinite(float(values[-1]))
            watch(step)
            if checkpoint and finished and time.monotonic() - saved >= SAVE_SECONDS:
                state.save(checkpoint, step, losses, skipped)
                saved = time.monotonic()
    optimizer.zero_grad(set_to_none=True)
    model.eval()
    return Trained(tuple(losses), finished, skipped)


def _step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    loss: Loss,
    batch: Any,
    protocol: DenseProtocol,
    number: int,
    seed: int,
) -> Tensor:
    """One update; returns the loss before it. The scaler passes over an update whose gradients are not finite."""
    torch.manual_seed((seed << 32) + number)  # after the batch, as making it may draw from the same numbers
    for group in optimizer.param_groups:
        group["lr"] = protocol.rate_at(number)
    device = next(model.parameters()).device
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device.type, dtype=torch.float16, enabled=scaler.is_enabled()):
        value = loss(model, batch, device)
    if not scaler.is_enabled() and not bool(value.isfinite()):
        return value.detach().float()
    scaler.scale(value).backward()  # type: ignore[no-untyped-call]
    scaler.step(optimizer)
    scaler.update()
    return value.detach().float()


def _sgd(model: nn.Module, protocol: DenseProtocol) -> torch.optim.SGD:
    """The optimizer, with weight decay on what the protocol says."""
    decayed, free = list[nn.Parameter](), list[nn.Parameter]()
    for module in model.modules():
        norm = isinstance(module, NORMS)
        for name, each in module.named_parameters(recurse=False):
            spared = (norm and protocol.decayed != "all") or (name == "bias" and protocol.decayed == "weights")
            if each.requires_grad:
                (free if spared else decayed).append(each)
    groups = [{"params": decayed, "weight_decay": protocol.decay}, {"params": free, "weight_decay": 0.0}]
    if not decayed and not free:
        raise UserError("this network has no parameters to train")
    return torch.optim.SGD([group for group in groups if group["params"]], lr=protocol.rate, momentum=protocol.momentum)
