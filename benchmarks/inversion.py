"""Reconstructing images from features: a stack of networks compared with a plain loop over images.

    python benchmarks/inversion.py                                # a GPU: 1, 4, 8, 16 images at 224 pixels, ResNet-50
    python benchmarks/inversion.py --images 2 --size 64 --steps 8     # a quick look on a CPU

The plain loop is what a user would write after the public code: one network, one optimiser and one pass of the
backbone per image. Weights and images are random, because the time of a step does not depend on them. The same steps
are also timed in bfloat16, and their losses are compared with those in 32 bits.
"""

import argparse
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from machine import describe, timed
from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import load_backbone
from unseen.data.core.decoding.transform import Transform
from unseen.probes.inversion.invert import Inverted, Precision, invert
from unseen.probes.inversion.protocol import DEEP_IMAGE_PRIOR, InversionProtocol

PRECISIONS: tuple[Precision, ...] = ("single", "bfloat")
FEW = 5
"""Steps of a short run, whose time is taken off a long one's: a GPU records the first."""


class PlainSkip(nn.Module):
    """The skip network of one image: scales down one after the other, then up again."""

    def __init__(self, protocol: InversionProtocol) -> None:
        super().__init__()
        widths, kernels, skip = protocol.widths, protocol.kernels, protocol.skip
        inputs = (protocol.noise, *widths[:-1])
        deeper = (*widths[1:], widths[-1])
        self.past = nn.ModuleList(_conv(i, skip, 1) for i in inputs)
        self.first = nn.ModuleList(_conv(i, w, k, pool=True) for i, w, k in zip(inputs, widths, kernels, strict=True))
        self.second = nn.ModuleList(_conv(w, w, k) for w, k in zip(widths, kernels, strict=True))
        self.norm = nn.ModuleList(nn.BatchNorm2d(skip + d) for d in deeper)
        self.third = nn.ModuleList(_conv(skip + d, w, k) for d, w, k in zip(deeper, widths, kernels, strict=True))
        self.fourth = nn.ModuleList(_conv(w, w, 1) for w in widths)
        self.last = nn.Conv2d(widths[0], 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for past, first, second in zip(self.past, self.first, self.second, strict=True):
            kept.append(past(x))
            x = second(first(x))
        for scale in reversed(range(len(kept))):
            up = functional.interpolate(x, scale_factor=2, mode="nearest")
            joined = self.norm[scale](torch.cat((kept[scale], up), dim=1))
            x = self.fourth[scale](self.third[scale](joined))
        image: Tensor = self.last(x)
        return image


def _conv(inputs: int, outputs: int, kernel: int, *, pool: bool = False) -> nn.Sequential:
    parts: list[nn.Module] = [nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2)]
    parts += [nn.AvgPool2d(2)] if pool else []
    return nn.Sequential(*parts, nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2))


def plain_loop(backbone: Backbone, images: Tensor, protocol: InversionProtocol, device: torch.device) -> list[float]:
    """The last loss of each image."""
    size = images.shape[2]
    side, losses = protocol.noise_side(size), []
    for image in images:
        network = PlainSkip(protocol).to(device)
        optimizer = torch.optim.Adam(network.parameters(), lr=protocol.rate)
        noise = protocol.amplitude * torch.rand(1, protocol.noise, side, side, device=device)
        with torch.no_grad():
            target = backbone(image[None])
        for _ in range(protocol.steps):
            optimizer.zero_grad()
            loss = functional.mse_loss(backbone(network(noise)[:, :, :size, :size]), target)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        losses.append(loss.item())
    return losses


class Flat(nn.Module):
    """A small convolutional network, used if no backbone is given; returns its map, flattened."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 16, 7, 4), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU())

    def forward(self, images: Tensor) -> Tensor:
        output: Tensor = self.body(images).flatten(1)
        return output


def stacked(
    backbone: Backbone,
    pixels: NDArray[np.uint8],
    protocol: InversionProtocol,
    precision: Precision,
    device: torch.device,
) -> tuple[float, NDArray[np.float32]]:
    """Seconds per image and step, without those of the start, and the last losses."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    few, found = replace(protocol, steps=FEW), list[Inverted]()
    invert(backbone, pixels, few, precision=precision)
    start = timed(lambda: invert(backbone, pixels, few, precision=precision), device)
    took = timed(lambda: found.append(invert(backbone, pixels, protocol, precision=precision)), device)
    return (took - start) / (protocol.steps - FEW) / len(pixels), found[0].losses[:, -1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backbone", help="id of a backbone; by default a small random one")
    parser.add_argument("--images", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--steps", type=int, default=60, help="steps, more than 5")
    parser.add_argument("--loop", type=int, default=2, help="images of the plain loop")
    args = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(describe(device))
    if args.backbone:
        backbone = load_backbone(args.backbone, patches=True, weights="random", size=args.size, device=str(device))
    else:
        spec = Spec("flat", "random", "last", "patches", 0, 0, Transform(size=args.size))
        backbone = Backbone(spec, Flat().to(device).eval().requires_grad_(False))
    protocol = replace(DEEP_IMAGE_PRIOR.at_size(args.size), steps=args.steps)
    generator = np.random.default_rng(0)
    pixels = generator.integers(0, 256, (max(args.images), args.size, args.size, 3), dtype=np.uint8)
    images = torch.from_numpy(pixels[: args.loop]).permute(0, 3, 1, 2).float().to(device) / 127.5 - 1

    few = replace(protocol, steps=3)
    plain_loop(backbone, images[:1], few, device)
    loop = timed(lambda: plain_loop(backbone, images, protocol, device), device) / (args.loop * args.steps)
    print(f"plain loop: {1000 * loop:.1f} ms per image and step, TF32 where PyTorch uses it")
    for number in args.images:
        exact: NDArray[np.float32] | None = None
        for precision in PRECISIONS:
            each, losses = stacked(backbone, pixels[:number], protocol, precision, device)
            exact = losses if exact is None else exact
            change = float(np.abs(losses / exact - 1).mean())
            memory = torch.cuda.max_memory_allocated() / 1e9 if device.type == "cuda" else 0.0
            print(
                f"stack of {number:2d}, {precision:6}: {1000 * each:6.2f} ms per image and step, "
                f"{loop / each:5.1f} times the loop, {memory:.1f} GB, losses differ by {change:.1%} from exact ones"
            )


if __name__ == "__main__":
    main()
