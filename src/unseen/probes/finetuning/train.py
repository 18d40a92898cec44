"""Training a whole network by SGD or AdamW for a number of steps, resumable to the same weights.

Everything random in a step (dropout, the batch, its augmentation) is a function of the seed and the step number, so a
run resumed from a checkpoint sees the same data as an uninterrupted one. On one CPU thread the weights are then
bit-identical; on a GPU the order of some sums varies.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import isfinite
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from unseen.errors import UserError
from unseen.features.device_memory import sent
from unseen.probes.finetuning.optimiser import make_optimiser
from unseen.probes.finetuning.protocol import AdamWProtocol, FinetuneProtocol
from unseen.probes.finetuning.replay import Replay
from unseen.probes.finetuning.soundness import end_to_end, finite_tensors, restore_unless_finite
from unseen.probes.finetuning.training_state import TrainingState

Batches = Callable[[int], Iterator[tuple[Tensor, Tensor]]]
"""The batches from a step on, in order: inputs (b, …) and class indices (b,) or other targets, on any device."""
Objective = Callable[[nn.Module, Tensor, Tensor], Tensor]
"""() the loss of a network on inputs and targets, to be minimised."""


@dataclass(frozen=True)
class Finetuned:
    """Result of a training; the network itself was modified in place.

    Attributes:
        losses: mean of the finite losses between one check and the next, if there are any.
        finished: False if training diverged: the last loss before a check was not finite, and training stopped there;
            or the weights or running statistics were not finite at its end.
        skipped: steps with a non-finite loss. On a GPU, such a loss arises when a product overflows 16 bits; the step
            leaves the weights unchanged, and training continues.
    """

    losses: tuple[float, ...]
    finished: bool
    skipped: int = 0


def with_head(backbone: nn.Module, dimension: int, classes: int, *, seed: int) -> nn.Module:
    """A backbone and a new linear layer on its features, all trainable."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)  # only the CPU's generator: those of GPUs are not forked
        head = nn.Linear(dimension, classes)
    return nn.Sequential(backbone, head).requires_grad_(True)


def classification(model: nn.Module, inputs: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy of a network's scores with class indices."""
    return cross_entropy(model(inputs), labels)


def finetune(
    model: nn.Module,
    batches: Batches,
    protocol: FinetuneProtocol,
    *,
    objective: Objective = classification,
    device: torch.device,
    seed: int = 0,
    every: int = 500,
    checkpoint: Path | None = None,
    identity: str = "",
    watch: Callable[[int], None] = lambda _: None,
) -> Finetuned:
    """Train a network on the loss of each batch, starting from its checkpoint if there is one.

    On a GPU, products are in float16 and weights in float32, with the loss scaled so that small gradients survive; a
    step that overflows is skipped.

    Args:
        model: modified in place, and left on the device in evaluation mode.
        every: steps between checks: the loss is examined, and the training state is saved to `checkpoint`.
        identity: identifies the network and the data, beyond the protocol and the seed; other checkpoints are refused.
        watch: called with the number of steps done, at every check.
    """
    _refuse_nonsense(protocol, model, every)
    on_gpu = device.type == "cuda"
    model.to(device).train()
    finite = finite_tensors(model)
    if on_gpu:  # the memory format of images, so that convolutions need not transpose them
        model.to(memory_format=torch.channels_last)
    rate = torch.zeros(
        (), device=device, dtype=torch.float32 if on_gpu else torch.float64
    )  # a fused optimiser needs 32 bits
    optimiser = make_optimiser(model, protocol, rate, fused=on_gpu)
    scaler = torch.amp.GradScaler(device.type, enabled=on_gpu)
    what = {"protocol": asdict(protocol), "seed": seed, "every": every, "identity": identity}
    state = TrainingState(model, optimiser, scaler, json.dumps(what, sort_keys=True))
    step, losses, skipped = state.load(checkpoint, device) if checkpoint else (0, [], 0)
    # In 32 bits no step is skipped: a non-finite loss has already spoilt the weights.
    statistics = end_to_end(model.buffers()) if on_gpu else []
    for group in optimiser.param_groups:
        group["lr"] = rate  # a checkpoint has its own
    clip = protocol.clip if isinstance(protocol, AdamWProtocol) else 0.0
    update = partial(_step, model, objective, optimiser, scaler, statistics, clip)
    take = Replay(update, model, device) if on_gpu else update
    draws = [torch.default_generator, *([torch.cuda.default_generators[_index(device)]] if on_gpu else [])]
    coming, finished = batches(step), True
    with torch.random.fork_rng(devices=[device] if on_gpu else []):
        while finished and step < protocol.steps:
            stretch = range(step, min(step + every, protocol.steps))
            total, sound, loss = (torch.zeros((), device=device) for _ in range(3))
            for number in stretch:
                inputs, labels = next(coming)
                for generator in draws:  # after the batch, since preparing it may use the same generator
                    generator.manual_seed((seed << 32) + number)
                rate.fill_(protocol.rate_at(number))
                loss = take(inputs.to(device), sent(labels, device))
                total += torch.where(loss.isfinite(), loss, 0.0)
                sound += loss.isfinite()
            losses += [float(total / sound)] if int(sound) else []
            skipped += len(stretch) - int(sound)
            step, finished = stretch.stop, isfinite(float(loss))
            watch(step)
            if checkpoint and finished:
                state.save(checkpoint, step, losses, skipped)
    optimiser.zero_grad(set_to_none=True)
    model.eval()
    return Finetuned(tuple(losses), finished and finite <= finite_tensors(model), skipped)


def _index(device: torch.device) -> int:
    return torch.cuda.current_device() if device.index is None else device.index


def _step(
    model: nn.Module,
    objective: Objective,
    optimiser: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    statistics: Sequence[Tensor],
    clip: float,
    inputs: Tensor,
    labels: Tensor,
) -> Tensor:
    """One update; returns the loss before it. Nothing here synchronises with a GPU, since the optimiser is fused there.

    Args:
        scaler: skips an update with non-finite gradients.
        statistics: running statistics of the network, as one vector, which a non-finite loss leaves unchanged.
        clip: see `AdamWProtocol`.
    """
    before = [vector.clone() for vector in statistics]
    optimiser.zero_grad(set_to_none=True)
    with torch.autocast(inputs.device.type, dtype=torch.float16, enabled=scaler.is_enabled()):
        loss = objective(model, inputs, labels)
    scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
    if clip:
        scaler.unscale_(optimiser)
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimiser)
    scaler.update()
    loss = loss.detach().float()
    restore_unless_finite(loss, statistics, before)
    return loss


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
