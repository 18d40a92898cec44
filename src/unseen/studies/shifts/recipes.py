"""How the models of a pool are trained by default.

Shi et al. (2023, appendix B.1) train classifiers with TF-Vision's configuration for ResNets on ImageNet, and CLIP
models with open_clip and the hyper-parameters of Fang et al. (2022), in batches of 2048. Settings that they do not
report are from open_clip's example for a ResNet-50 (rate 1e-3, decay 0.1), or ours: a cosine schedule for classifiers
too, and the same share of warm-up steps in every training.
"""

from dataclasses import dataclass, replace
from math import ceil
from pathlib import PurePath

from unseen.errors import UserError
from unseen.probes.finetuning.protocol import AdamWProtocol, Augment, FinetuneProtocol
from unseen.studies.shifts.pool_networks import Kind

SHARES: dict[Kind, tuple[float, ...]] = {
    "classifier": (0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.995),
    "clip": (0.01, 0.1, 0.25, 0.5),
}
"""λ of the paper's mixtures: of CIFAR-10 and ImageNet, and of ImageNet with YFCC or LAION."""


@dataclass(frozen=True)
class Recipe:
    """How a network is trained.

    Attributes:
        epochs: epochs over the training images of a model; ignored if `steps` is given.
        steps: steps of every training, regardless of its number of images; 0 to use `epochs`.
        rate: the largest learning rate, which is reached after the share `warmup` of all steps.
    """

    epochs: float
    steps: int
    batch: int
    rate: float
    decay: float
    warmup: float
    augment: Augment


DEFAULTS: dict[Kind, Recipe] = {
    "classifier": Recipe(90, 0, 256, 0.1, 1e-4, 5 / 90, "crop+flip"),
    "clip": Recipe(32, 0, 2048, 1e-3, 0.1, 0.05, "large-crop"),
}


def choose_recipe(
    kind: Kind,
    *,
    epochs: float | None = None,
    steps: int | None = None,
    batch: int | None = None,
    rate: float | None = None,
    decay: float | None = None,
) -> Recipe:
    """The default recipe of a kind of network, with some settings changed."""
    usual = DEFAULTS[kind]
    found = replace(
        usual,
        epochs=usual.epochs if epochs is None else epochs,
        steps=usual.steps if steps is None else steps,
        batch=usual.batch if batch is None else batch,
        rate=usual.rate if rate is None else rate,
        decay=usual.decay if decay is None else decay,
    )
    if found.batch < 1 or found.rate <= 0 or found.decay < 0 or (found.steps < 1 and found.epochs <= 0):
        raise UserError("a training needs steps or epochs, images in a batch, a rate above 0 and a decay of at least 0")
    return found


def protocol_of(kind: Kind, network: str, recipe: Recipe, images: int) -> FinetuneProtocol:
    """The protocol of a training on a number of images; a batch has at most that many."""
    batch = min(recipe.batch, images)
    steps = recipe.steps or max(1, ceil(recipe.epochs * images / batch))
    warmup = min(int(recipe.warmup * steps), steps - 1)
    name = f"shi-2023-{kind}"
    if kind == "classifier":
        return FinetuneProtocol(
            name, steps, batch, recipe.rate, recipe.decay, nesterov=False, warmup=warmup, augment=recipe.augment
        )
    # open_clip trains ViTs and ResNets with different constants of Adam. The folders above a file do not count.
    vit = "vit" in PurePath(network.partition(":")[2]).name.lower()
    return AdamWProtocol(
        name, steps, batch, recipe.rate, recipe.decay, warmup=warmup, augment=recipe.augment,
        beta2=0.98 if vit else 0.999, epsilon=1e-6 if vit else 1e-8,
    )  # fmt: skip
