"""Backbones on the same simulated test images, with known effects of concepts, images and seeds."""

import numpy as np
from numpy.typing import NDArray

from made_hits import World, draw
from unseen.analyses.core.comparable import Comparable, Place
from unseen.metrics.catalogue import METRICS
from unseen.probes.units import CORRECT, ScoredImages
from unseen.runs.kept_units import KeptUnits


def comparable_of(hits: NDArray[np.bool_], *, fixed: bool, dataset: str = "made") -> Comparable:
    """What runs keep of hits.

    Args:
        hits: (backbones, seeds, concepts, images).
        fixed: whether classes are fixed, so that images are the units.
    """
    backbones, seeds, concepts, images = hits.shape
    classes = [f"c{number}" for number in range(concepts)]
    tested = ScoredImages.labelled(classes, np.repeat(np.arange(concepts), images))
    flat = hits.reshape(backbones, seeds, -1)

    def kept(one: NDArray[np.bool_], seed: int) -> KeptUnits:
        scores = {"top1": float(one.mean())}
        return KeptUnits("logistic", None, seed, "images", {CORRECT: one}, tested, "", scores)

    by_backbone = {f"b{place}": {seed: kept(one, seed) for seed, one in enumerate(of)} for place, of in enumerate(flat)}
    unit = "images" if fixed else "concepts"
    return Comparable(Place(dataset, "logistic", None), METRICS["top1"], unit, by_backbone)  # type: ignore[arg-type]


def made_comparable(world: World, *, backbones: int, seeds: int, deviation: float, draws: int = 0) -> Comparable:
    """Backbones of the same accuracy.

    Args:
        deviation: standard deviation over seeds of a difference.
        draws: seed of the simulation.
    """
    made = draw(np.random.default_rng(draws), world, seeds=seeds, number=1, backbones=backbones)
    return comparable_of(made.hits(np.full(backbones, 0.7), deviation)[0], fixed=world.fixed)
