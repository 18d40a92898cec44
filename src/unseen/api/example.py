"""`unseen.example`: real features to try things on."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean
from unseen.extras import naming_extras

Domain = Literal["seen", "l1", "l2", "l3", "l4", "l5"]
BackboneName = Literal["supervised", "mixup", "simclr", "untrained", "pixels"]


class Example(NamedTuple):
    """Features and class names, in the order of the arguments of `unseen.probe`."""

    X_train: NDArray[np.float32]
    y_train: NDArray[np.str_]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.str_]


@naming_extras()
def example(domain: Domain | str = "l5", *, backbone: BackboneName | str = "supervised") -> Example:
    """Features of the drawings that ship with the package, from one of the demo's small backbones.

    The first call for a domain and a backbone extracts the features, which takes a few seconds; they are then kept in
    memory.

    Args:
        domain: "seen", 45 of the 100 concepts that the backbones were trained on, or "l1" to "l5", 45 unseen concepts
            each, from the most to the least similar to the seen ones. Upper case ("L5") is accepted.
        backbone: "supervised", "mixup" and "simclr" are small networks trained in different ways, "untrained" is the
            same network without training, and "pixels" uses the pixels themselves.

    Returns:
        X_train, y_train, X_test, y_test: 80 training and 20 test drawings of each of 45 concepts, as float32 features
        of 256 dimensions (784 for the pixels), with the names of the concepts as labels.

    Example:
        >>> X_train, y_train, X_test, y_test = unseen.example("l5")
        >>> X_train.shape, str(y_train[0])
        ((3600, 256), 'frog')
    """
    X_train, y_train, X_test, y_test = _features(
        _one_of("domain", domain, get_args(Domain)), _one_of("backbone", backbone, get_args(BackboneName))
    )
    return Example(X_train.copy(), y_train.copy(), X_test.copy(), y_test.copy())


def _one_of(argument: str, value: str, known: Sequence[str]) -> str:
    """The known word that was given, in upper or lower case."""
    word = str(value).lower()
    if word not in known:
        hint = did_you_mean(word, known) or f"; choose from {', '.join(known)}"
        raise UserError(f"the drawings have no {argument} '{value}'{hint}")
    return word


@lru_cache(maxsize=12)
def _features(domain: str, name: str) -> Example:
    import torch

    from unseen.backbones.load import load_backbone
    from unseen.data.concepts.drawing_levels import OWN, drawing_domains, drawings, on_paper
    from unseen.data.concepts.drawings import concepts
    from unseen.features.forward import features

    backbone, wnids = load_backbone(f"drawings:{name}", device="cpu"), drawing_domains(OWN)[domain]
    names, found = np.array([concepts()[wnid] for wnid in wnids]), list[NDArray[Any]]()
    for split in ("train", "test"):
        images, labels = drawings(wnids, split)
        pixels = torch.from_numpy(on_paper(images))[..., None].expand(-1, -1, -1, 3)
        with torch.inference_mode():
            found += [features(backbone, pixels, "single").numpy(), names[labels]]
    return Example(*found)
