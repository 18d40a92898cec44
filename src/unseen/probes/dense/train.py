"""Training a dense predictor by SGD for a number of steps, resumable to the same weights.

Everything random in a step (the batch, its sizes, dropout, sampled anchors) is a function of the seed and the step
number, so a run resumed from a checkpoint sees the same data as an uninterrupted one. On one CPU thread the weights are
then bit-identical; on a GPU the order of some sums varies.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unseen.errors import UserError
from unseen.probes.dense.protocols import DenseProtocol
from unseen.probes.finetuning.soundness import end_to_end, finite_tensors, restore_unless_finite
from unseen.probes.finetuning.training_state import TrainingState

Batches = Callable[[int], Iterator[Any]]
"""The batches from a step on, in order."""
Loss = Callable[[nn.Module, Any, torch.device], Tensor]
"""Loss of a batch."""
SAVE_SECONDS = 30.0
"""Minimum seconds between checkpoints: one of a detector is 200 MB, and writing it can take longer than the steps."""
STUCK = 10
"""Losses in a row that are not finite from which on a training has diverged; fewer are steps that were skipped."""
NORMS = (nn.modules.batchnorm._BatchNorm, nn.LayerNorm, nn.GroupNorm)


@dataclass(frozen=True)
class Trained:
    """Result of a training; the network itself was modified in place.

    Attributes:
        losses: mean of the finite losses between one check and the next, if there are any.
        finished: False if training diverged: the last `STUCK` losses before a check, or all, were not finite, and
            training stopped there; or the weights or running statistics were not finite at its end.
        skipped: steps with a non-finite loss, which left weights and running statistics unchanged.
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
    """Train the trainable parameters of a network, starting from its checkpoint if there is one.

    On a GPU, products are in float16 and weights in float32, with the loss scaled so that small gradients survive.

    Args:
        model: modified in place, and left on the device in evaluation mode.
        every: steps between checks: the loss is examined, and the training state is saved to `checkpoint`, unless it
            was saved recently.
        identity: identifies the network and the data, beyond the protocol and the seed; other checkpoints are refused.
        watch: called with the number of steps done, at every check.
    """
    on_gpu = device.type == "cuda"
    model.to(device).train()
    finite = finite_tensors(model)
    optimizer = _sgd(model, protocol)
    scaler = torch.amp.GradScaler(device.type, enabled=on_gpu)
    what = {"protocol": asdict(protocol), "seed": seed, "every": every, "identity": identity}
    state = TrainingState(model, optimizer, scaler, json.dumps(what, sort_keys=True))
    step, losses, skipped = state.load(checkpoint, device) if checkpoint else (0, [], 0)
    statistics = end_to_end(model.buffers())
    update = partial(_step, model, optimizer, scaler, statistics, loss, protocol, seed)
    coming, finished, stuck, saved = batches(step), True, 0, time.monotonic()
    with torch.random.fork_rng(devices=[device] if on_gpu else []):
        while finished and step < protocol.steps:
            stretch = range(step, min(step + every, protocol.steps))
            values = torch.stack([update(next(coming), number) for number in stretch]).cpu()
            sound = torch.where(values.isfinite())[0].tolist()
            losses += [float(values[sound].mean())] if sound else []
            skipped += len(values) - len(sound)
            stuck = len(values) - 1 - sound[-1] if sound else stuck + len(values)
            step, finished = stretch.stop, stuck < min(STUCK, protocol.steps)
            watch(step)
            if checkpoint and not stuck and time.monotonic() - saved >= SAVE_SECONDS:
                state.save(checkpoint, step, losses, skipped)
                saved = time.monotonic()
    optimizer.zero_grad(set_to_none=True)
    model.eval()
    return Trained(tuple(losses), finished and finite <= finite_tensors(model), skipped)


def _step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    statistics: Sequence[Tensor],
    loss: Loss,
    protocol: DenseProtocol,
    seed: int,
    batch: Any,
    number: int,
) -> Tensor:
    """One update; returns the loss before it.

    A non-finite loss changes nothing. The scaler skips an update with non-finite gradients.
    """
    torch.manual_seed((seed << 32) + number)  # after the batch, since preparing it may use the same generator
    for group in optimizer.param_groups:
        group["lr"] = protocol.rate_at(number)
    device = next(model.parameters()).device
    before = [vector.clone() for vector in statistics]
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device.type, dtype=torch.float16, enabled=scaler.is_enabled()):
        value = loss(model, batch, device)
    if scaler.is_enabled() or bool(value.isfinite()):
        scaler.scale(value).backward()  # type: ignore[no-untyped-call]
        scaler.step(optimizer)
        scaler.update()
    value = value.detach().float()
    restore_unless_finite(value, statistics, before)
    return value


def _sgd(model: nn.Module, protocol: DenseProtocol) -> torch.optim.SGD:
    """The optimizer, with weight decay as the protocol specifies."""
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
