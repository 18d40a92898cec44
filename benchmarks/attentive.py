"""Attentive probes on stored patches, beside plain PyTorch loops as the public code of Efficient Probing writes them.

    PYTHONPATH=src:benchmarks python benchmarks/attentive.py --device cuda     # 100,000 × 196 × 768: 30 GB of features
    PYTHONPATH=src:benchmarks python benchmarks/attentive.py --images 256 --patches 49 --dimension 192 --batch 64 \
        --classes 10 --steps 2 --rounds 2                                      # a quick look on a CPU

Features (16 bits on a GPU) and labels are random, since the time of a step does not depend on them. All sides train the
same settings with the same batches, and take turns: rounds alternate between all settings at once (ours), a loop of the
public module (values of every patch, autocast, LARS, a scaler of gradients) with one setting, and one with all settings
on each batch. The time of one setting times their number is what a search costs that trains them one after the other.

The bandwidth is that of the features alone, read once, over the time of a step; the device's own is that of a copy.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn

from machine import describe, synchronise, timed
from unseen.probes.attentive.lars import Lars
from unseen.probes.attentive.protocol import ATTENTIVE, AttentiveProtocol, Setting
from unseen.probes.attentive.stack import AttentiveStack, Shape
from unseen.probes.attentive.train import REFERENCE_BATCH, demand, images_at_once
from unseen.probes.patches.patch_probe import PatchSize


class Side(Protocol):
    """Something that trains on a batch."""

    def step(self, X: Tensor, y: Tensor, /) -> None: ...


class EfficientProbe(nn.Module):
    """The module, with a map of values for every patch."""

    def __init__(self, dimension: int, queries: int, classes: int) -> None:
        super().__init__()
        self.queries = nn.Parameter(0.02 * torch.randn(1, queries, dimension))
        self.values = nn.Linear(dimension, dimension, bias=False)
        self.norm = nn.BatchNorm1d(dimension, affine=False, eps=1e-6)
        self.classifier = nn.Linear(dimension, classes)

    def forward(self, X: Tensor) -> Tensor:
        b, patches, d = X.shape
        m = self.queries.shape[1]
        attention = ((self.queries.expand(b, -1, -1) * d**-0.5) @ X.transpose(1, 2)).softmax(dim=-1)
        values = self.values(X).view(b, patches, m, d // m).permute(0, 2, 1, 3)
        pooled = (attention[:, :, None] @ values).reshape(b, d)
        logits: Tensor = self.classifier(self.norm(pooled))
        return logits


class PlainLars(torch.optim.Optimizer):
    """A loop over parameters, without reading numbers back from the device."""

    def __init__(self, parameters: Iterator[nn.Parameter], rate: float, decay: float) -> None:
        super().__init__(parameters, {"lr": rate, "weight_decay": decay})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for p in group["params"]:
                update = p.grad
                if p.ndim > 1:
                    update = update.add(p, alpha=group["weight_decay"])
                    update = update * (1e-3 * p.norm() / update.norm())
                state = self.state[p]
                if "velocity" not in state:
                    state["velocity"] = torch.zeros_like(p)
                state["velocity"].mul_(0.9).add_(update)
                p.add_(state["velocity"], alpha=-group["lr"])


class PlainLoop:
    """Some settings, each with a module, an optimiser and a scaler of its own, on the same batches."""

    def __init__(self, shape: Shape, settings: tuple[Setting, ...], batch: int, device: torch.device) -> None:
        self.device, self.half = device, device.type == "cuda"
        self.probes = []
        for rate, decay in settings:
            module = EfficientProbe(shape.channels, shape.queries, shape.classes).to(device)
            optimiser = PlainLars(module.parameters(), rate * batch / REFERENCE_BATCH, decay)
            self.probes.append((module, optimiser, torch.amp.GradScaler(device.type, enabled=self.half)))

    def step(self, X: Tensor, y: Tensor) -> None:
        for module, optimiser, scaler in self.probes:
            optimiser.zero_grad(set_to_none=True)
            with torch.autocast(self.device.type, dtype=torch.float16, enabled=self.half):
                loss = nn.functional.cross_entropy(module(X), y)
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            scaler.step(optimiser)
            scaler.update()


class Ours:
    """All settings at once."""

    def __init__(self, shape: Shape, protocol: AttentiveProtocol, patches: int, device: torch.device) -> None:
        generator = torch.Generator().manual_seed(0)
        self.stack = AttentiveStack.drawn(shape, generator, device, torch.float32)
        scale = protocol.batch / REFERENCE_BATCH
        self.optimiser = Lars(
            self.stack.parameters, protocol.settings[: shape.settings], scale=scale, momentum=0.9, trust=1e-3
        )
        self.at_once = images_at_once(shape, patches, 2 if device.type == "cuda" else 4)

    def step(self, X: Tensor, y: Tensor) -> None:
        _, gradients = self.stack.step(X, y, several=False, at_once=self.at_once)
        self.optimiser.step(gradients, 1.0)


def made(images: int, patches: int, dimension: int, device: torch.device) -> Tensor:
    """(images, patches, dimension) random features, made on the device."""
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    X = torch.empty(images, patches, dimension, dtype=dtype, device=device)
    for rows in torch.split(X, 1024):
        rows.normal_()
    return X


def copy_rate(device: torch.device) -> float:
    """Bytes per second that the device reads and writes when it copies a large block."""
    block = torch.empty(1 << (30 if device.type == "cuda" else 27), dtype=torch.uint8, device=device)
    other = torch.empty_like(block)
    timed(lambda: other.copy_(block), device)
    return 2 * len(block) / min(timed(lambda: other.copy_(block), device) for _ in range(5))


def peak(step: Callable[[], object], device: torch.device) -> int:
    """Bytes of device memory that a step needs beside what is there before; 0 on a CPU."""
    if device.type != "cuda":
        return 0
    synchronise(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    step()
    synchronise(device)
    return torch.cuda.max_memory_allocated(device) - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--images", type=int, default=100_000)
    parser.add_argument("--patches", type=int, default=196)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--classes", type=int, default=1_000)
    parser.add_argument("--queries", type=int, default=ATTENTIVE.queries)
    parser.add_argument("--batch", type=int, default=ATTENTIVE.batch)
    parser.add_argument("--steps", type=int, default=20, help="steps of each side in a round")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    device = torch.device(given.device)
    protocol = replace(ATTENTIVE, queries=given.queries, batch=given.batch)
    settings = protocol.settings
    shape = Shape(len(settings), given.queries, given.dimension, given.classes)
    size = PatchSize(given.images, given.patches, 0, 0, given.dimension, given.classes)
    X = made(given.images, given.patches, given.dimension, device)
    y = torch.randint(given.classes, (given.images,), generator=torch.Generator().manual_seed(0)).to(device)
    print(f"{describe(device)}: {given.images:,} × {given.patches} × {given.dimension}, {given.classes} classes, "
          f"{len(settings)} settings, batches of {given.batch}")  # fmt: skip
    sides: dict[str, Side] = {
        "all settings at once (ours)": Ours(shape, protocol, given.patches, device),
        "one setting (ours)": Ours(shape._replace(settings=1), protocol, given.patches, device),
        "plain loop, one setting": PlainLoop(shape, settings[:1], given.batch, device),
        "plain loop, all settings on each batch": PlainLoop(shape, settings, given.batch, device),
    }
    generator = torch.Generator().manual_seed(1)

    def steps(step: Callable[[Tensor, Tensor], None], count: int) -> None:
        for _ in range(count):
            rows = torch.randint(given.images, (given.batch,), generator=generator).to(device)
            step(X[rows], y[rows])

    memory, times = dict[str, int](), {name: list[float]() for name in sides}
    for name, side in sides.items():
        steps(side.step, 2)
        memory[name] = peak(partial(steps, side.step, 1), device)
    for _ in range(given.rounds):
        for name, side in sides.items():
            times[name].append(timed(partial(steps, side.step, given.steps), device) / given.steps)
    rate, best = copy_rate(device), {name: min(each) for name, each in times.items()}
    ours = best["all settings at once (ours)"]
    read = given.batch * given.patches * given.dimension * X.element_size()
    print("\n| | ms a step | steps a second | memory of a step (GB) | features read (GB/s) |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, seconds in best.items():
        rates = f"{1000 * seconds:.2f} | {1 / seconds:.1f} | {memory[name] / 1e9:.2f} | {read / seconds / 1e9:.0f}"
        print(f"| {name} | {rates} |")
    one, together = (best[f"plain loop, {name}"] for name in ("one setting", "all settings on each batch"))
    attended = 8 * given.batch * given.patches * given.dimension * shape.settings * given.queries
    head = 6 * given.batch * given.dimension * shape.settings * (given.dimension + given.classes)
    print(f"\nOne setting after the other takes {len(settings) * one / ours:.1f} times as long as all at once, and the "
          f"loop over settings on each batch {together / ours:.1f} times. Ours: {(attended + head) / ours / 1e12:.1f} "
          f"TFLOP/s; features are read at {4 * read / ours / rate:.2f} of the {rate / 1e9:.0f} GB/s of a copy, "
          f"as four passes ({read / ours / rate:.2f} as one).")  # fmt: skip
    spread = ", ".join(f"{name} {1000 * min(each):.1f} to {1000 * max(each):.1f}" for name, each in times.items())
    print(f"Rounds (ms): {spread}. Planned memory: {demand(size, protocol, X.element_size()).kept / 1e9:.1f} GB.")


if __name__ == "__main__":
    main()
