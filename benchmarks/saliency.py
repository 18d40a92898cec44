"""Occlusion saliency of one image: `unseen`, a plain loop over masks, and captum's Occlusion.

    python benchmarks/saliency.py                                             # a GPU, or a quick look on a CPU
    python benchmarks/saliency.py --backbone registry:efficientnet_lite0 --grid 8/4 --batch 256

The plain loop is what a user would write: copy the image, hide a square, run the network, add the error to the pixels
under the mask. captum gets the same number of masks per batch. The three maps must agree. On a GPU, `unseen` is also
timed in 16 bits, and its map and diffusion are compared with those in 32 bits.
"""

import argparse
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.functional import pad

from machine import describe, timed
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.features.forward import normalised
from unseen.probes.saliency.attention import attention_map, diffusion, relative_errors
from unseen.probes.saliency.grid import Grid, parse_grid
from unseen.probes.saliency.occlusion import occlusion_errors


def ours(backbone: Backbone, image: Tensor, grid: Grid, batch: int, *, half: bool = False) -> Tensor:
    """The attention map as the study has it."""

    def features(images: Tensor) -> Tensor:
        with torch.autocast(image.device.type, dtype=torch.float16, enabled=half):
            return backbone(images)

    with torch.inference_mode():
        return attention_map(occlusion_errors(features, image, grid, batch), grid, image.shape[-1])


@torch.inference_mode()
def plain_loop(backbone: Backbone, image: Tensor, grid: Grid) -> Tensor:
    """One mask after the other."""
    size, margin = image.shape[-1], grid.mask - grid.stride
    clean = backbone(image[None])[0]
    total = torch.zeros(size, size, dtype=torch.float64, device=image.device)
    count = torch.zeros_like(total)
    for top in range(-margin, size, grid.stride):
        for left in range(-margin, size, grid.stride):
            rows, columns = (slice(max(at, 0), at + grid.mask) for at in (top, left))
            hidden = image.clone()
            hidden[:, rows, columns] = 0
            total[rows, columns] += relative_errors(backbone(hidden[None]), clean)[0]
            count[rows, columns] += 1
    return total / count


def captum_map(backbone: Backbone, image: Tensor, grid: Grid, batch: int) -> Tensor:
    """The same by captum: the margins are part of the image it is given, and cut off before the network."""
    from captum.attr import Occlusion

    size, margin = image.shape[-1], grid.mask - grid.stride
    with torch.inference_mode():
        clean = backbone(image[None])[0]

    def closeness(images: Tensor) -> Tensor:
        seen = images[:, :, margin : margin + size, margin : margin + size]
        return -relative_errors(backbone(seen), clean)

    with torch.inference_mode():
        found: Tensor = Occlusion(closeness).attribute(
            pad(image, (margin,) * 4)[None], sliding_window_shapes=(3, grid.mask, grid.mask),
            strides=(3, grid.stride, grid.stride), baselines=0, perturbations_per_eval=batch,
        )  # fmt: skip
    return found[0, 0, margin : margin + size, margin : margin + size]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    gpu = torch.cuda.is_available()
    parser.add_argument("--backbone", default="demo:supervised")
    parser.add_argument("--size", type=int, default=224 if gpu else 56)
    parser.add_argument("--grid", type=parse_grid, default=Grid(8, 4))
    parser.add_argument("--batch", type=int, default=512 if gpu else 32)
    asked = parser.parse_args()
    device = torch.device("cuda" if gpu else "cpu")
    whole = asked.backbone.rpartition(":")[0].endswith(".py")  # made whole, at its own size
    backbone = load_backbone(asked.backbone, size=None if whole else asked.size, device=device)
    size = backbone.spec.transform.size
    pixels = torch.randint(256, (1, size, size, 3), generator=torch.Generator().manual_seed(0)).byte()
    image = normalised(pixels.to(device), backbone.spec.transform)[0]
    passes = asked.grid.passes(size)
    print(describe(device))
    print(f"{backbone.label}, {size} × {size} pixels, grid {asked.grid}: {passes:,} passes, {asked.batch} at once\n")
    ways: dict[str, Callable[[], Tensor]] = {
        "plain loop": partial(plain_loop, backbone, image, asked.grid),
        "captum": partial(captum_map, backbone, image, asked.grid, asked.batch),
        "ours": partial(ours, backbone, image, asked.grid, asked.batch),
    }
    if gpu:
        ways["ours, 16 bits"] = partial(ours, backbone, image, asked.grid, asked.batch, half=True)
    ours(backbone, image, asked.grid, asked.batch)
    maps, seconds = dict[str, Tensor](), dict[str, float]()
    for name, way in ways.items():
        try:
            if name != "plain loop":
                way()  # sets the device up for these batches
            seconds[name] = timed(lambda way=way, name=name: maps.update({name: way()}), device)  # type: ignore[misc]
        except ImportError as error:
            print(f"{name}: left out ({error})")
    for name, took in seconds.items():
        there = maps[name].double()
        apart = float((there - maps["ours"]).abs().max() / maps["ours"].abs().max())
        print(
            f"{name:14} {took:8.2f} s  {passes / took:9,.0f} passes/s  {seconds['plain loop'] / took:6.1f} × the loop  "
            f"map within {apart:.1e} of ours  diffusion {100 * diffusion(there):.2f}%"
        )


if __name__ == "__main__":
    main()
