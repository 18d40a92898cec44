"""Similarity of 100 backbones on the same images, with its level by chance, beside a loop over pairs.

    PYTHONPATH=benchmarks python benchmarks/feature_similarity.py

The loop is what one would write for a pair: both Gram matrices, unbiased CKA, mutual neighbours, and 100 random orders
of the images of one of the two. It is timed for a few pairs and scaled to all. Seconds are CPU seconds of this process
on features of random directions, of which the time does not depend.
"""

import argparse
import time
from itertools import combinations

import numpy as np
import torch
from numpy.typing import NDArray

from machine import describe
from unseen.metrics.similarity import NEIGHBOURS, PERMUTATIONS, similarities

Floats = NDArray[np.float64]


def centred(X: Floats) -> Floats:
    """The matrix whose inner products are unbiased HSIC, divided by its length."""
    K: Floats = X @ X.T
    n = len(X)
    np.fill_diagonal(K, 0)
    sums = K.sum(axis=0)
    K -= (sums + sums[:, None]) / (n - 2) - sums.sum() / ((n - 1) * (n - 2))
    np.fill_diagonal(K, 0)
    K /= np.linalg.norm(K)
    return K


def neighbours(X: Floats) -> NDArray[np.bool_]:
    """(n, n) whether the column is among the nearest neighbours of the row."""
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    similar = unit @ unit.T
    np.fill_diagonal(similar, -np.inf)
    found = np.zeros(similar.shape, dtype=np.bool_)
    np.put_along_axis(found, np.argpartition(similar, -NEIGHBOURS, axis=1)[:, -NEIGHBOURS:], values=True, axis=1)
    return found


def plain_pair(X: Floats, Y: Floats, rng: np.random.Generator) -> tuple[float, float]:
    """CKA of a pair and its level."""
    K, L, near, other = centred(X), centred(Y), neighbours(X), neighbours(Y)
    values = list[tuple[float, float]]()
    for number in range(PERMUTATIONS + 1):
        order = rng.permutation(len(X)) if number else np.arange(len(X))
        chosen = np.ix_(order, order)
        values.append((float((K * L[chosen]).sum()), float((near & other[chosen]).sum())))
    return values[0][0], float(np.quantile([value for value, _ in values[1:]], 0.95))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--backbones", type=int, default=100)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--dimensions", type=int, default=768)
    parser.add_argument("--pairs", type=int, default=3, help="pairs of the loop")
    asked = parser.parse_args()
    rng = np.random.default_rng(0)
    features = [rng.normal(size=(asked.images, asked.dimensions)).astype(np.float32) for _ in range(asked.backbones)]
    print(describe(torch.device("cpu")))
    start = time.process_time()
    found = similarities(features)
    ours = time.process_time() - start
    start = time.process_time()
    pairs = [*combinations(range(asked.backbones), 2)]
    for i, j in pairs[: asked.pairs]:
        value, level = plain_pair(features[i].astype(np.float64), features[j].astype(np.float64), rng)
        assert abs(value - found.cka.value[i, j]) < 1e-6
        assert abs(level - found.cka.level[i, j]) < 2 / asked.images
    loop = (time.process_time() - start) / asked.pairs * len(pairs)
    print(f"{asked.backbones} backbones, {asked.images} images, {asked.dimensions} dimensions")
    print("| | CPU seconds | ratio |\n| --- | ---: | ---: |")
    print(f"| unseen | {ours:.1f} | |\n| loop over {len(pairs):,} pairs | {loop:,.0f} | {loop / ours:,.0f}× |")


if __name__ == "__main__":
    main()
