"""Train the demo's networks on the drawings of the seen concepts.

    python -m unseen.demo.train OUT_DIR [--device cuda] [--seed 0] [--epochs-scale 1]

Writes OUT_DIR/{supervised,simclr,mixup,untrained}.safetensors and OUT_DIR/training.json. Only the seen concepts are
used, and of each only its first 80 drawings: the others are kept for testing.

The seed fixes the initial weights, the order of the drawings and every augmentation, and the script asks torch for
its deterministic algorithms. So the same machine, device and torch version give the same weights again; another device
or version draws other random numbers and rounds otherwise, and gives weights that differ but score about the same.
"""

import argparse
import hashlib
import json
import math
import os
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is deterministic only with this

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from safetensors.torch import save_file
from torch import Tensor, nn

from unseen.backbones.tiny_cnn import FEATURES, SIDE, TinyCNN, centre
from unseen.data.concepts.drawing_levels import drawings
from unseen.data.concepts.drawings import TRAINING_DRAWINGS, seen_concepts
from unseen.device import default_device


@dataclass(frozen=True)
class Augmentation:
    """Random changes of a drawing; every amount is drawn uniformly from its range, independently for each drawing."""

    rotation: float = 15.0  # degrees, either way
    shear: float = 0.15  # either way
    scale: tuple[float, float] = (0.8, 1.15)
    aspect: float = 0.15  # log of width over height, either way
    shift: float = 2.0  # pixels, either way
    elastic: float = (
        1.5  # pixels by which each point of a 4×4 grid moves, either way; points in between are interpolated
    )
    thin: float = 0.2  # share of the way to the drawing eroded by one pixel
    thick: float = 0.6  # share of the way to the drawing dilated by one pixel
    ink: tuple[float, float] = (1.0, 1.5)  # factor on the ink, which stays within [0, 1]
    cutout: float = 0.5  # probability that a square is blanked
    cutout_side: tuple[float, float] = (5.0, 11.0)  # pixels
    flip: bool = True  # horizontal flip, half the time


@dataclass(frozen=True)
class Recipe:
    """How one network is trained."""

    method: str  # "supervised" or "simclr"
    epochs: int
    batch: int
    rate: float = 4e-3  # peak learning rate of AdamW
    decay: float = 0.05  # weight decay of AdamW, on weights with more than one axis
    smoothing: float = 0.0  # label smoothing (supervised)
    mixup: float = 0.0  # both parameters of mixup's beta distribution; 0: no mixup (supervised)
    temperature: float = 0.2  # (simclr)
    augmentation: Augmentation = field(default_factory=Augmentation)


RECIPES = {
    "supervised": Recipe("supervised", epochs=400, batch=500),
    "simclr": Recipe("simclr", epochs=600, batch=1000, rate=5e-3, augmentation=Augmentation(scale=(0.7, 1.4))),
    "mixup": Recipe("supervised", epochs=400, batch=500, mixup=1.0),
}


def augment(images: Tensor, how: Augmentation, generator: torch.Generator) -> Tensor:
    """The images, (n, 1, side, side), each randomly deformed, moved, redrawn with another pen width, and partly
    blanked.
    """
    count, device = len(images), images.device

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return torch.rand(count, *shape, generator=generator, device=device) * (high - low) + low

    angle = torch.deg2rad(uniform(-how.rotation, how.rotation))
    shear = uniform(-how.shear, how.shear)
    scale = torch.exp(uniform(math.log(how.scale[0]), math.log(how.scale[1])))
    stretch = torch.exp(uniform(-how.aspect, how.aspect) / 2)
    across, down = 1 / (scale * stretch), stretch / scale
    if how.flip:
        across = torch.where(uniform(0, 1) < 0.5, -across, across)
    cos, sin, move = torch.cos(angle), torch.sin(angle), how.shift * 2 / SIDE
    rows = [
        torch.stack([cos * across, (shear * cos - sin) * down, uniform(-move, move)], dim=1),
        torch.stack([sin * across, (shear * sin + cos) * down, uniform(-move, move)], dim=1),
    ]
    grid = F.affine_grid(torch.stack(rows, dim=1), list(images.shape), align_corners=False)
    bend = uniform(-how.elastic * 2 / SIDE, how.elastic * 2 / SIDE, 2, 4, 4)
    grid = grid + F.interpolate(bend, size=images.shape[2:], mode="bicubic", align_corners=True).permute(0, 2, 3, 1)
    images = F.grid_sample(images, grid, align_corners=False)

    pen = uniform(-how.thin, how.thick, 1, 1, 1)
    dilated, eroded = F.max_pool2d(images, 3, 1, 1), -F.max_pool2d(-images, 3, 1, 1)
    images = images + torch.where(pen > 0, pen * (dilated - images), -pen * (eroded - images))
    images = (images * uniform(*how.ink, 1, 1, 1)).clamp(0, 1)

    half = uniform(*how.cutout_side, 1) / 2 * (uniform(0, 1, 1) < how.cutout)
    pixels = torch.arange(SIDE, device=device) + 0.5
    in_rows = (pixels - uniform(0, SIDE, 1)).abs() < half
    in_columns = (pixels - uniform(0, SIDE, 1)).abs() < half
    return images.masked_fill((in_rows[:, :, None] & in_columns[:, None, :])[:, None], 0)


def nt_xent(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """SimCLR's loss: each view must find the other view of its drawing among all views of the batch."""
    views = F.normalize(torch.cat([first, second]).float(), dim=1)
    likeness = views @ views.T / temperature
    likeness.fill_diagonal_(-torch.inf)
    partners = torch.arange(len(views), device=views.device).roll(len(first))
    return F.cross_entropy(likeness, partners)


def projector() -> nn.Module:
    """SimCLR's projection head, dropped after training."""
    return nn.Sequential(nn.Linear(FEATURES, 512, bias=False), nn.BatchNorm1d(512), nn.ReLU(), nn.Linear(512, 128))


def fit(network: TinyCNN, images: Tensor, labels: Tensor, recipe: Recipe, generator: torch.Generator) -> list[float]:
    """Train the network by the recipe, on the device of the images; return the mean loss of each epoch."""
    device, count = images.device, len(images)
    images = centre(images)
    supervised = recipe.method == "supervised"
    classes = int(labels.max()) + 1
    head = (nn.Linear(FEATURES, classes) if supervised else projector()).to(device)

    def loss_of(batch: Tensor) -> Tensor:
        views = augment(images[batch], recipe.augmentation, generator)
        if not supervised:
            views = torch.cat([views, augment(images[batch], recipe.augmentation, generator)])
            first, second = head(network(views)).chunk(2)
            return nt_xent(first, second, recipe.temperature)
        targets = F.one_hot(labels[batch], classes).float()
        if recipe.mixup:
            share = float(rng.beta(recipe.mixup, recipe.mixup))
            views, targets = (share * x + (1 - share) * x.roll(1, 0) for x in (views, targets))
        return F.cross_entropy(head(network(views)).float(), targets, label_smoothing=recipe.smoothing)

    rng = np.random.default_rng(generator.initial_seed())
    parameters = [*network.parameters(), *head.parameters()]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": recipe.decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=recipe.rate, fused=device.type == "cuda")
    size = min(recipe.batch, count)  # a smaller last batch is skipped
    steps = recipe.epochs * (count // size)
    warmup = max(0.05, 1.5 / steps) if steps > 1 else 0.0  # one that ends at step 1 would divide by zero
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, recipe.rate, total_steps=steps, pct_start=warmup, cycle_momentum=False, final_div_factor=1e3
    )
    network.train()
    head.train()
    losses = []
    for _ in range(recipe.epochs):
        total = torch.zeros((), device=device)
        batches = torch.split(torch.randperm(count, generator=generator, device=device), size)[: count // size]
        for batch in batches:
            with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
                loss = loss_of(batch)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            optimizer.step()
            schedule.step()
            total += loss.detach()
        losses.append(float(total) / len(batches))
    network.eval()
    return losses


def seen_images(count: int = TRAINING_DRAWINGS) -> tuple[Tensor, Tensor]:
    """The training drawings of every seen concept, (n, 1, side, side) in [0, 1], and their labels, from 0."""
    images, labels = drawings(seen_concepts(), "train")
    kept = np.arange(len(images)) % TRAINING_DRAWINGS < count
    return torch.from_numpy(images[kept][:, None]).float() / 255, torch.from_numpy(labels[kept])


def settle_norms(network: TinyCNN, images: Tensor) -> None:
    """Set the network's BatchNorm statistics to those of the images, with its weights unchanged."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # average over all batches
    network.train()
    with torch.no_grad():
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
        for batch in torch.split(images[order], 500):
            network(batch)
    for norm in norms:
        norm.momentum = 0.1
    network.eval()


def save(network: TinyCNN, path: Path, about: dict[str, Any]) -> None:
    """Store the network's weights as 16-bit floats, with the facts about them as JSON under a single metadata key."""
    tensors = {name: (t.half() if t.is_floating_point() else t).cpu() for name, t in network.state_dict().items()}
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    save_file(tensors, path, {"training": json.dumps(about)})  # with several keys, their order in the file would vary


def main() -> None:
    """Train every recipe, then write the weights and the log."""
    parser = argparse.ArgumentParser(description="Train the demo's networks on the drawings of the seen concepts.")
    parser.add_argument("out", type=Path, help="folder for the weights and training.json")
    parser.add_argument("--device", default=default_device().type)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=RECIPES, help="train this network alone")
    parser.add_argument("--epochs-scale", type=float, default=1.0, help="factor on every recipe's epochs (at least 1)")
    parser.add_argument("--drawings", type=int, default=TRAINING_DRAWINGS, help="drawings of each concept (at most 80)")
    args = parser.parse_args()

    torch.use_deterministic_algorithms(True)
    device = torch.device(args.device)
    images, labels = seen_images(min(args.drawings, TRAINING_DRAWINGS))
    digest = hashlib.sha256((images * 255).byte().numpy().tobytes()).hexdigest()
    images, labels = images.to(device), labels.to(device)
    args.out.mkdir(parents=True, exist_ok=True)

    def fresh() -> TinyCNN:
        torch.manual_seed(args.seed)
        return TinyCNN().to(device).to(memory_format=torch.channels_last)

    network = fresh()
    settle_norms(network, images)
    save(network, args.out / "untrained.safetensors", {"recipe": None, "seed": args.seed, "data_sha256": digest})
    log: dict[str, Any] = {
        "seed": args.seed,
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "torch": torch.__version__,
        "parameters": sum(p.numel() for p in network.parameters()),
        "features": FEATURES,
        "concepts": int(labels.max()) + 1,
        "drawings": len(images),
        "data_sha256": digest,
        "networks": {},
    }
    for name in [args.only] if args.only else RECIPES:
        recipe = replace(RECIPES[name], epochs=max(1, round(RECIPES[name].epochs * args.epochs_scale)))
        network = fresh()
        start = time.perf_counter()
        losses = fit(network, images, labels, recipe, torch.Generator(device=device).manual_seed(args.seed))
        about = {"recipe": asdict(recipe), "final_loss": round(losses[-1], 4)}
        save(network, args.out / f"{name}.safetensors", {**about, "seed": args.seed, "data_sha256": digest})
        every = max(1, recipe.epochs // 20)
        log["networks"][name] = {
            **about,
            "seconds": round(time.perf_counter() - start, 1),
            "losses": {epoch + 1: round(losses[epoch], 4) for epoch in range(0, recipe.epochs, every)},
        }
        print(name, log["networks"][name]["seconds"], "s, final loss", about["final_loss"], flush=True)
    (args.out / "training.json").write_text(json.dumps(log, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
