"""A hierarchy of classes without a taxonomy: k-means on the class means of one model, as in LCA-on-the-line.

Shi et al. 2024, appendix, and their public code: class means of unit length are clustered into 2⁰, 2¹, …, 2^⌊log₂ k⌋
clusters, each number anew, and the last layer has every class alone. The lowest common ancestor of two classes is
their deepest common cluster; its depth is that of its layer. Layers need not be nested. Our deviation: k-means keeps
the best of three starts.
"""

from math import floor, log2
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.ontology.class_distances import ClassDistances

if TYPE_CHECKING:
    from unseen.features.features import Rows

Floats = NDArray[np.float64]
BLOCK = 4096
"""Rows that are read at once."""


def latent_distances(means: Floats, classes: tuple[str, ...], source: str) -> ClassDistances:
    """The distances of classes by depth.

    Args:
        means: (k, d) mean features or logits of each class.
        source: the model, for a reader.
    """
    import torch

    from unseen.probes.kmeans import kmeans

    if len(classes) < 2:
        raise UserError("a hierarchy from k-means needs at least two classes")
    if not np.isfinite(means).all():
        raise UserError(f"k-means on {source}: class means are not all finite")
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    rows = torch.from_numpy(means / np.where(lengths > 0, lengths, 1.0))
    deepest = floor(log2(len(classes)))
    common = np.zeros((len(classes), len(classes)))
    for depth in range(1, deepest + 1):
        clusters = kmeans(rows, 2**depth).assignments.numpy()
        common[clusters[:, None] == clusters[None, :]] = depth
    np.fill_diagonal(common, deepest + 1)
    return ClassDistances(classes, {"depth": deepest + 1 - common}, f"k-means on the class means of {source}")


def class_means(rows: "Rows", y: NDArray[np.integer], classes: int) -> Floats:
    """(k, d) means of the rows of each class, read in blocks; every class needs a row.

    Args:
        y: (n,) class of each row; negative for rows of other classes, which are left out.
    """
    counts = np.bincount(y[y >= 0], minlength=classes)
    if not counts.all():
        raise UserError(f"{int((counts == 0).sum())} of {classes} classes have no image, so they have no class mean")
    sums = np.zeros((classes, rows.shape[1]))
    for start in range(0, len(y), BLOCK):
        block, own = np.asarray(rows[start : start + BLOCK], dtype=np.float64), y[start : start + BLOCK]
        np.add.at(sums, own[own >= 0], block[own >= 0])
    return np.asarray(sums / counts[:, None])
