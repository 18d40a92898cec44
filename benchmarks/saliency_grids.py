"""The effect of cheaper grids of masks on attentive diffusion, and on the order of backbones.

    python benchmarks/saliency_grids.py PHOTOGRAPHS --backbone registry:efficientnet_lite0 \
        --backbone registry:efficientnet_lite1 --size 224 --seconds 240 --out facts.json

The two cheapest grids are run on all photographs. Then all backbones run the paper's grid and 10/2 on one photograph
after the other until the time is over, and the four grids are compared on the photographs that all have. On a GPU, each
photograph is also run in 32 bits with the cheapest grid, to compare with 16 bits.
"""

import argparse
import json
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from machine import describe
from unseen.backbones.backbone import Backbone
from unseen.backbones.load import load_backbone
from unseen.features.settings import Precision, Settings
from unseen.probes.by_name.saliency import Saliency
from unseen.probes.saliency.grid import EXACT, GRIDS, Grid
from unseen.studies.inputs.image_sets import ImageSet, image_sets
from unseen.studies.opened import OpenedData

CHEAP = (Grid(16, 8), Grid(8, 4))
KEPT_MAPS = 4
"""Photographs whose maps are written, for figures."""


@dataclass
class Found:
    """Diffusion by backbone, grid and place of the photograph; maps and seconds likewise."""

    diffusion: dict[tuple[str, str, int], float] = field(default_factory=dict)
    maps: dict[tuple[str, str, int], NDArray[np.float32]] = field(default_factory=dict)
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)

    def run(self, images: ImageSet, place: int, backbone: Backbone, grid: Grid, precision: Precision) -> None:
        probe = Saliency(grid=str(grid))
        settings = Settings("cuda" if torch.cuda.is_available() else "cpu", precision, workers=0)
        pixels = images.pixels(place, probe.transform(backbone.spec.transform))
        called = str(grid) if precision == "half" or settings.device == "cpu" else f"{grid} single"
        start = time.perf_counter()
        [measured] = probe.measure(backbone, [pixels], settings, 0, Path(), lambda step, detail="": None)
        key = (backbone.label, called)
        self.seconds[key] = self.seconds.get(key, 0.0) + time.perf_counter() - start
        self.diffusion[(*key, place)] = measured.values["diffusion"]
        self.maps[(*key, place)] = measured.arrays["map"]

    def of(self, backbone: str, grid: str, places: Iterable[int]) -> NDArray[np.float64]:
        return np.array([self.diffusion[backbone, grid, place] for place in places])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photographs", type=Path)
    parser.add_argument("--backbone", action="append", required=True)
    parser.add_argument("--size", type=int)
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    begun, device = time.perf_counter(), torch.device("cuda" if torch.cuda.is_available() else "cpu")
    print(describe(device))
    [images] = image_sets(OpenedData(folders=[asked.photographs]), None)
    backbones = [load_backbone(name, size=asked.size, device=device) for name in asked.backbone]
    found = Found()
    fast: Precision = "half" if device.type == "cuda" else "single"
    for backbone in backbones:
        found.run(images, 0, backbone, CHEAP[0], fast)  # sets the device up
    found.seconds.clear()
    for grid in CHEAP:
        for backbone in backbones:
            for place in range(len(images)):
                found.run(images, place, backbone, grid, fast)
    if device.type == "cuda":
        for backbone in backbones:
            for place in range(len(images)):
                found.run(images, place, backbone, CHEAP[0], "single")
    places, last = list[int](), 0.0
    for place in range(len(images)):
        start = time.perf_counter()
        if places and start - begun + last > asked.seconds:
            break
        for backbone in backbones:
            for grid in (Grid(10, 2), EXACT):
                found.run(images, place, backbone, grid, fast)
        places.append(place)
        last = time.perf_counter() - start
    show(found, [backbone.label for backbone in backbones], len(images), places)
    if asked.out:
        write(found, asked.out, describe(device), images.ids, places)


def show(found: Found, backbones: list[str], images: int, places: list[int]) -> None:
    """Tables: what each grid costs, how far it is from the paper's, and the order of backbones."""
    print(f"\n{len(places)} photographs have all four grids; the cheapest two have {images}.\n")
    print("backbone                        grid   s/image   diffusion   − exact (mean, largest)   r of maps")
    for name in backbones:
        exact = found.of(name, str(EXACT), places)
        for grid in GRIDS:
            here = found.of(name, grid, places)
            many = images if grid in map(str, CHEAP) else len(places)
            apart = here - exact
            pairs = [(found.maps[name, grid, at].ravel(), found.maps[name, str(EXACT), at].ravel()) for at in places]
            r = np.mean([np.corrcoef(*pair)[0, 1] for pair in pairs])
            print(
                f"{name[-30:]:30} {grid:>6} {found.seconds[name, grid] / many:9.2f} {100 * here.mean():10.2f}% "
                f"{100 * apart.mean():+12.2f} {100 * np.abs(apart).max():9.2f} {r:14.3f}"
            )
        single, cheap = f"{CHEAP[0]} single", str(CHEAP[0])
        if (name, single, 0) in found.diffusion:
            every = range(images)
            apart = found.of(name, cheap, every) - found.of(name, single, every)
            print(f"{'':30} 16 bits − 32 bits, {cheap}: {100 * apart.mean():+.3f}, {100 * np.abs(apart).max():.3f}")
    print("\norder by mean diffusion, the widest first")
    for grid in GRIDS:
        order = sorted(backbones, key=lambda name: -found.of(name, grid, places).mean())
        exact = np.array([found.of(name, str(EXACT), places) for name in backbones])
        here = np.array([found.of(name, grid, places) for name in backbones])
        signs = [np.sign(here[a] - here[b]) == np.sign(exact[a] - exact[b]) for a in range(len(here)) for b in range(a)]
        agree = f"; of pairs of backbones on a photograph, {np.mean(signs):.0%} in the order of 10/1" if signs else ""
        print(f"{grid:>6}: {' > '.join(order)}{agree}")


def write(found: Found, out: Path, machine: str, ids: list[str], places: list[int]) -> None:
    """All numbers as JSON, and the maps of a few photographs next to it."""
    facts = {
        "machine": machine,
        "images": ids,
        "places": places,
        "diffusion": [[*key, value] for key, value in found.diffusion.items()],
        "seconds": [[*key, value] for key, value in found.seconds.items()],
    }
    out.write_text(json.dumps(facts))
    few = {key: of for key, of in found.maps.items() if key[2] < KEPT_MAPS}
    kept: dict[str, Any] = {"|".join(map(str, key)): of.astype(np.float16) for key, of in few.items()}
    np.savez_compressed(out.with_suffix(".npz"), **kept)


if __name__ == "__main__":
    main()
