"""Kinds of work on shifted test sets, and on the models that are compared there."""

from pathlib import Path

from golden_runs import data, surface
from golden_runs.kind import ANIMALS, TREES, Kind

SETS = {"plain": ANIMALS, "dark": ANIMALS[:4], "noisy": ANIMALS[1:]}
COARSER = {"cat": "pet", "dog": "pet", "cow": "farm", "elk": "wild", "fox": "wild"}


def classifiers() -> Kind:
    """Four classifiers on the classes of each test set, of one of them, of all of them, and on coarser classes."""

    def make(folder: Path) -> None:
        data.classifiers(folder, ANIMALS, 4)
        data.write(
            folder / "coarser.csv", "".join(f"{line}\n" for line in ("wnid,class", *map(",".join, COARSER.items())))
        )
        for seed, (name, classes) in enumerate(SETS.items()):
            data.class_folders(folder / name, classes, 8, seed=30 + seed)
            shifted = str(name != "plain").lower()
            data.write(folder / f"{name}.toml", f'images = "{name}"\nname = "{name}"\nshifted = {shifted}\n')

    models, sets = "../data/models.csv", tuple(f"../data/{name}.toml" for name in SETS)
    fine = surface.classifiers(models, sets, classes="own,shared,dark")
    return Kind(make, (fine, surface.classifiers(models, sets, mapping="../data/coarser.csv")))


def pool() -> Kind:
    """Models trained on parts and mixtures of two sets, and then evaluated."""
    train = surface.pool(
        "timm:test_vit", ("../data/bright", "../data/dim"), size=32, steps=3, batch=8, ratios="0.5,1", shares="0.5"
    )
    return Kind(_three_sets, (train, surface.classifiers("pool/models.csv", ("../data/test",))))


def zero_shot() -> Kind:
    """A model of images and text trained from its zero-shot classifier, and weights between the two."""

    def make(folder: Path) -> None:
        _three_sets(folder)
        data.image_and_text(folder / "clip")
        data.write(folder / "classes.csv", "".join(f"{line}\n" for line in ("class", *TREES[:3])))

    tuned = surface.zero_shot(
        "openclip:../data/clip", "../data/bright", outputs="../data/classes.csv", templates="simple", steps=2, batch=8
    )
    between = surface.interpolated("tuned/zero-shot.safetensors", "tuned/rate-3e-05.safetensors")
    return Kind(make, (tuned, between, surface.classifiers("tuned/models.csv", ("../data/test",))))


def _three_sets(folder: Path) -> None:
    for seed, name in enumerate(("bright", "dim", "test")):
        data.class_folders(folder / name, TREES[:3], 10, seed=40 + seed)
