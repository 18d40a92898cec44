"""Kinds of work on data sets of images."""

from pathlib import Path

from golden_runs import data, surface
from golden_runs.kind import ANIMALS, BOTH, TREES, VIT, Kind
from golden_runs.surface import Networks

SPLIT = {"train": 20, "val": 8, "test": 10}


def linear() -> Kind:
    """Linear probes and few-shot episodes, with a validation split, without one, and on some images of each class."""

    def make(folder: Path) -> None:
        data.splits(folder / "trees", TREES, SPLIT, seed=1)
        data.splits(folder / "leaves", TREES, {"train": 24, "test": 10}, seed=2)

    limited = surface.tasks(VIT, "../data/trees", limit=7, out="limited")
    return Kind(make, (surface.tasks(BOTH, "../data/trees,../data/leaves"), limited))


def several_classes() -> Kind:
    """Images that show several classes, as VOC's do, some of which do not count."""

    def make(folder: Path) -> None:
        data.several_classes(folder, ANIMALS, {"train": 40, "val": 20, "test": 30})

    return Kind(make, (surface.tasks(BOTH, "../data/animals.toml"),))


def same_images() -> Kind:
    """Two data sets with other labels of the same images."""

    def make(folder: Path) -> None:
        data.splits(folder / "images", TREES, SPLIT, seed=1)
        conifers = {"cedar": "conifer", "fir": "conifer"}
        data.lists(folder, "images", {"kinds": str, "conifers": lambda name: conifers.get(name, "other")})

    return Kind(make, (surface.tasks(VIT, "../data/kinds.toml,../data/conifers.toml"),))


def grid() -> Kind:
    """Three settings of fine-tuning, of which the last diverges."""

    def make(folder: Path) -> None:
        data.splits(folder / "trees", TREES, {"train": 16, "val": 8, "test": 12}, seed=1)
        data.own_code(folder)

    network = Networks(("../data/network.py:unstable",), ("unstable",), random=False)
    return Kind(make, (surface.tuned(network, "../data/trees", trials=3, steps=12),))


def patches() -> Kind:
    """Both probes on patches, for two kinds of labels of the same images."""

    def make(folder: Path) -> None:
        data.scenes(folder, {"train": 10, "test": 5})

    return Kind(make, (surface.patches(Networks(VIT.ids, size=64), "../data/masks.toml,../data/depths.toml"),))


def detector() -> Kind:
    """Two detectors: a step takes seconds on images of any size, and every command times some before it starts."""

    def make(folder: Path) -> None:
        data.scenes(folder, {"train": 4, "test": 2})

    step = surface.trained_heads(Networks(VIT.ids, size=48), "../data/boxes.toml", steps=1, scale=0.1)
    return Kind(make, (step,), plans=False, parts=False)


def single_images() -> Kind:
    """Occlusion maps and reconstructions of images of two sets, and perceptual distances."""

    def make(folder: Path) -> None:
        for seed, name in enumerate(("trees", "leaves"), start=1):
            data.splits(folder / name, TREES[:2], {"train": 6, "val": 2, "test": 3}, seed=seed)
        data.perceptual_weights(folder / "lpips")

    sets = "../data/trees,../data/leaves"
    maps = surface.saliency(VIT, sets, grid="8/4", examples=2)
    return Kind(make, (maps, surface.inversion(VIT, sets, steps=3, examples=2, lpips="../data/lpips")))
