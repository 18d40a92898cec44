"""Features of every block of a ViT-S/16 from one forward pass, compared with plain loops in the same run.

    .venv/bin/python benchmarks/layers.py                                        # 32 images, single precision
    .venv/bin/python benchmarks/layers.py --device cuda --batch 128 --rounds 20  # mixed precision

The class tokens of all 12 blocks, from bytes that are on the device. One plain loop runs the network once for each
block, with a hook on it: so did `unseen` before representations shared a pass. The other has hooks on all blocks and
runs the network once. All variants take turns, and the shortest time of each counts. Random weights; no package but
PyTorch is needed for the network.
"""

import argparse
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from machine import describe, timed
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import open_backbone
from unseen.data.core.decoding.transform import Transform
from unseen.features.forward import features_together, products
from unseen.features.settings import Precision

WIDTH, HEADS, DEPTH, SIDE, PATCH = 384, 6, 12, 224, 16
LAYERS = tuple(f"blocks.{number}" for number in range(DEPTH))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.proj = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, tokens: Tensor) -> Tensor:
        b, n, _ = tokens.shape
        q, k, v = self.qkv(self.norm1(tokens)).view(b, n, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, WIDTH)
        tokens = tokens + self.proj(mixed)
        found: Tensor = tokens + self.mlp(self.norm2(tokens))
        return found


class ViT(nn.Module):
    """The network of Dosovitskiy et al. 2021 in size S, without a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, PATCH, PATCH)
        self.cls_token = nn.Parameter(torch.randn(1, 1, WIDTH) * 0.02)
        self.places = nn.Parameter(torch.randn(1, 1 + (SIDE // PATCH) ** 2, WIDTH) * 0.02)
        self.blocks, self.norm = nn.Sequential(*(Block() for _ in range(DEPTH))), nn.LayerNorm(WIDTH)

    def forward(self, images: Tensor) -> Tensor:
        tokens = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat([self.cls_token.expand(len(images), -1, -1), tokens], 1) + self.places
        found: Tensor = self.norm(self.blocks(tokens))[:, 0]
        return found


def vit_small() -> tuple[nn.Module, Transform]:
    """What `unseen` loads."""
    return ViT(), Transform(size=SIDE, resize=SIDE)


def plain(network: nn.Module, images: Tensor, layers: tuple[str, ...]) -> list[Tensor]:
    """The class tokens of some blocks, from one run with hooks on them."""
    found: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: object, output: Tensor) -> None:
        found.append(output[:, 0].clone())

    handles = [network.get_submodule(layer).register_forward_hook(keep) for layer in layers]
    network(images)
    for handle in handles:
        handle.remove()
    return found


def plain_loop(network: nn.Module, pixels: Tensor, device: torch.device, *, one_pass: bool) -> list[Tensor]:
    mean = torch.tensor(Transform().mean, device=device)[:, None, None]
    std = torch.tensor(Transform().std, device=device)[:, None, None]
    half = torch.float16 if device.type == "cuda" else None
    with torch.autocast(device.type, dtype=half, enabled=half is not None):
        groups = [LAYERS] if one_pass else [(layer,) for layer in LAYERS]
        found = list[Tensor]()
        for layers in groups:
            images = (pixels.permute(0, 3, 1, 2).float() / 255 - mean) / std
            found += plain(network, images, layers)
        return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    device = torch.device(options.device)
    precision: Precision = "half" if device.type == "cuda" else "single"
    opened = open_backbone(f"{__file__}:vit_small", device=device)
    backbones: list[Backbone] = [opened.backbone(layer, "cls") for layer in LAYERS]
    network = opened.network.module
    pixels = torch.randint(0, 256, (options.batch, SIDE, SIDE, 3), dtype=torch.uint8, device=device)
    variants: dict[str, Callable[[], list[Tensor]]] = {
        "plain loop, the network once per block": partial(plain_loop, network, pixels, device, one_pass=False),
        "plain loop, hooks in one pass": partial(plain_loop, network, pixels, device, one_pass=True),
        "unseen, 12 representations": partial(features_together, backbones, pixels, precision),
        "unseen, the first 6 alone": partial(features_together, backbones[:6], pixels, precision),
    }
    with torch.inference_mode(), products(precision):
        first, second, ours = (of() for of in [*variants.values()][:3])
        for one, other, own in zip(first, second, ours, strict=True):
            torch.testing.assert_close(own.float(), one.float(), atol=2e-2, rtol=2e-2)
            torch.testing.assert_close(one, other)
        times = {name: min(timed(run, device) for _ in range(1)) for name, run in variants.items()}
        for _ in range(options.rounds):
            times = {name: min(times[name], timed(run, device)) for name, run in variants.items()}
    print(describe(device))
    weights = sum(each.numel() * each.element_size() for each in network.parameters()) / 1e6
    print(f"{options.batch} images a batch; {weights:.0f} MB of weights, which separate backbones hold {DEPTH} times\n")
    print("| variant | ms per image | times the plain loop with hooks |\n| --- | ---: | ---: |")
    base = times["plain loop, hooks in one pass"]
    for name, seconds in times.items():
        print(f"| {name} | {1000 * seconds / options.batch:.3g} | {seconds / base:.2f} |")


if __name__ == "__main__":
    main()
