"""`unseen.example`: real features to try things on."""

from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean
from unseen.extras import naming_extras

Domain = Literal["seen", "l1", "l2", "l3", "l4", "l5"]
BackboneName = Literal["supervised", "mixup", "simclr", "untrained", "pixels"]


class Example(NamedTuple):
    """Features and class names, in the order in which `unseen.probe` takes them."""

    X_train: NDArray[np.float32]
    y_train: NDArray[np.str_]
    X_test: NDArray[np.float32]
    y_test: NDArray[np.str_]


@naming_extras()
def example(domain: Domain = "l5", *, backbone: BackboneName = "supervised") -> Example:
    """Features of drawings that ship with the package, by one of the demo's small backbones.

    They are extracted when they are first asked for, which takes a few seconds, and kept in memory.

    Args:
        domain: "seen", 45 of the 100 concepts that the backbones were trained on, or "l1" to "l5", 45 concepts each
            that they have not seen, ever less similar to those.
        backbone: three small networks trained in different ways, the same network untrained, or the pixels.

    Returns:
        X_train, y_train, X_test, y_test: 80 training and 20 test drawings of each of 45 concepts, in 256 dimensions
        (784 for the pixels), with the concepts' names as labels.

    Example:
        >>> X_train, y_train, X_test, y_test = unseen.example("l5")
        >>> X_train.shape, str(y_train[0])
        ((3600, 256), 'frog')
    """
    for what, word, known in (("domain", domain, get_args(Domain)), ("backbone", backbone, get_args(BackboneName))):
        if word not in known:
            raise UserError(
                f"no {what} '{word}' of the drawings{did_you_mean(word, known) or '; there are ' + ', '.join(known)}"
            )
    X_train, y_train, X_test, y_test = _features(domain, backbone)
    return Example(X_train.copy(), y_train.copy(), X_test.copy(), y_test.copy())


@lru_cache(maxsize=12)
def _features(domain: str, name: str) -> Example:
    from unseen.demo.backbones import BACKBONES, extract
    from unseen.demo.drawings import domains, drawings
    from unseen.images.drawings import concepts

    backbone = next(each for each in BACKBONES if each.name == name)
    wnids = domains()[domain]
    names = np.array([concepts()[wnid] for wnid in wnids])
    sides = [drawings(wnids, split) for split in ("train", "test")]
    (X_train, y_train), (X_test, y_test) = (
        (np.concatenate(list(extract(backbone, images))), names[labels]) for images, labels in sides
    )
    return Example(X_train, y_train, X_test, y_test)
