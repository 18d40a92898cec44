"""Probes on patch features at the size of ADE20K, compared with plain PyTorch loops on the same features.

    python benchmarks/patch_probes.py                   # 20,210 images of 32 × 32 patches, 768 dimensions: a large GPU
    python benchmarks/patch_probes.py --images 200 --steps 30 --classes 21      # a quick look on a CPU

Features and labels are random, because the time of a step does not depend on them. Both sides train the same 12
settings for the same number of steps on the same batches; the plain loop trains one setting after the other.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor, nn

from unseen.probes.patches.context import Memory, look_up
from unseen.probes.patches.labels import PatchLabels
from unseen.probes.patches.linear import fit_patches
from unseen.probes.patches.protocols import PATCH_LINEAR, ContextProtocol, PatchLinearProtocol, Setting
from unseen.probes.patches.rows import PatchRows
from unseen.probes.patches.training import TrainingPatches

GRID = 32


def seconds(work: Callable[[], object], device: torch.device) -> float:
    """How long something takes, until the device is done with it."""
    if device.type == "cuda":
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def made(images: int, dimension: int, classes: int, device: torch.device) -> tuple[TrainingPatches, Tensor, Tensor]:
    """Training patches, each with 256 pixels of one class, their features (n, d) and their classes (n,)."""
    dtype = torch.float16 if device.type == "cuda" else torch.float32
    n, block = images * GRID**2, 1 << 20
    X = torch.empty(n, dimension, dtype=dtype, device=device)
    generator = torch.Generator(device).manual_seed(0)
    for start in range(0, n, block):
        rows = slice(start, min(start + block, n))
        X[rows] = torch.randn(X[rows].shape, generator=generator, device=device).to(dtype)
    y = torch.randint(0, classes, (n,), generator=torch.Generator().manual_seed(0))
    labels = PatchLabels(torch.arange(n + 1), y.short(), torch.full((n,), 256, dtype=torch.int32), classes)
    features = PatchRows((), device, dtype, X)
    return TrainingPatches(features, labels, torch.arange(images), GRID**2), X, y.to(device)


def plain_linear(
    X: Tensor, y: Tensor, classes: int, settings: tuple[Setting, ...], protocol: PatchLinearProtocol, steps: int
) -> None:
    """What a user would write: batch norm, a linear layer and AdamW in mixed precision, one setting after the other."""
    device = X.device
    for rate, decay in settings:
        model = nn.Sequential(nn.BatchNorm1d(X.shape[1], affine=False), nn.Linear(X.shape[1], classes)).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=decay, fused=device.type == "cuda")
        scaler = torch.amp.GradScaler(device.type, enabled=device.type == "cuda")
        order = torch.randperm(len(X), generator=torch.Generator().manual_seed(0)).to(device)
        for step in range(steps):
            start = step * protocol.batch % max(1, len(X) - protocol.batch)
            rows = order[start : start + protocol.batch]
            shares = nn.functional.one_hot(y[rows], classes).float()
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast(device.type, dtype=torch.float16, enabled=device.type == "cuda"):
                loss = nn.functional.cross_entropy(model(X[rows]).float(), shares)
            scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
            scaler.step(optimizer)
            scaler.update()


def plain_context(memory: Memory, y: Tensor, classes: int, X: Tensor, protocol: ContextProtocol) -> None:
    """An image at a time: all similarities, the k nearest, their weighted shares."""
    assert memory.keys is not None
    known = y[memory.places.to(y.device)]
    for image in X.split(GRID**2):  # type: ignore[no-untyped-call]
        unit = nn.functional.normalize(image.float(), dim=1).to(memory.keys.dtype)
        similar, near = (unit @ memory.keys.T).float().topk(protocol.neighbours, dim=1)
        weights = torch.softmax(similar / protocol.temperature, dim=1)
        torch.einsum("nk,nkc->nc", weights, nn.functional.one_hot(known[near], classes).float())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=20_210)
    parser.add_argument("--classes", type=int, default=150)
    parser.add_argument("--dimension", type=int, default=768)
    parser.add_argument("--steps", type=int, default=0, help="steps, instead of those of the protocol")
    parser.add_argument("--plain-steps", type=int, default=0, help="fewer steps of the plain loop, extrapolated")
    parser.add_argument("--memory", type=int, default=1_024_000, help="patches of the in-context probe")
    parser.add_argument("--queries", type=int, default=50, help="images to predict")
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    patches, X, y = made(given.images, given.dimension, given.classes, device)
    whole = PATCH_LINEAR.steps(len(X))
    steps = given.steps or whole
    protocol = replace(PATCH_LINEAR, epochs=0, least_steps=steps, batch=min(PATCH_LINEAR.batch, len(X)))
    print(f"{device}, PyTorch {torch.__version__}: {len(X):,} patches × {given.dimension}, {given.classes} classes")
    few, every = replace(protocol, least_steps=3), torch.arange(len(X))
    fit_patches(patches, every[:65_536], protocol.settings, few, torch.Generator())
    ours = seconds(lambda: fit_patches(patches, every, protocol.settings, protocol, torch.Generator()), device)
    fewer, last = given.plain_steps or steps, (given.classes, protocol.settings, protocol)
    plain_linear(X, y, given.classes, protocol.settings[:1], protocol, 3)
    plain = seconds(lambda: plain_linear(X, y, *last, fewer), device) * steps / fewer
    said = "" if fewer == steps else f" (from {fewer:,} steps)"
    print(f"linear, {len(protocol.settings)} settings × {steps:,} of {whole:,} steps: {ours:.1f} s; "
          f"plain loop {plain:.1f} s{said}; {plain / ours:.1f} times")  # fmt: skip
    context = ContextProtocol(memory=given.memory)
    memory, queries = Memory.of(patches, context), X[: given.queries * GRID**2]
    look_up(memory, queries[:1024], context)
    ours = seconds(lambda: look_up(memory, queries, context), device)
    plain = seconds(lambda: plain_context(memory, y, given.classes, queries, context), device)
    print(f"in-context, {len(memory):,} patches in memory, {given.queries} images: {ours:.2f} s; "
          f"plain loop {plain:.2f} s; {plain / ours:.1f} times")  # fmt: skip


if __name__ == "__main__":
    main()
