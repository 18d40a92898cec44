"""Scores of the layers of a backbone: which is best, which are not resolved from it, and what the last one loses."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from unseen.analyses.core.comparable import Comparable
from unseen.backbones.vector_parts import is_several
from unseen.metrics.paired.crossed import Crossed
from unseen.metrics.paired.standings import standings
from unseen.runs.data import Backbone, RunData
from unseen.studies.record import USUAL_LAYERS

OWN_LAYERS = (*USUAL_LAYERS, "maps")
"""Names of the layers that networks are usually used with: "maps" is that of `demo:`."""
NUMBER = re.compile(r"[0-9]+")
FEWEST = 3
"""Layers of a network from which on accuracy has a course over depth."""


@dataclass(frozen=True)
class LayeredBackbone:
    """A network of which a run has several layers, in order of depth.

    Attributes:
        name: its name, and the pooling if the run has several.
        rows: layer → its name among the backbones of the run.
        own: the same of the features before the classifier, if the run has them.
    """

    name: str
    rows: dict[str, str]
    own: tuple[str, str] | None = None

    def depth(self, layer: str) -> float:
        """The place of a layer among those of the run, over their number: 1 for the last."""
        return (1 + [*self.rows].index(layer)) / len(self.rows)


def layered_backbones(data: RunData) -> list[LayeredBackbone]:
    """The networks with enough single layers; concatenations of several are not among these."""
    groups = dict[tuple[tuple[object, ...], str], list[Backbone]]()
    for each in data.backbones:
        about = each.features.backbone if each.features else None
        if about is not None and about.layer is not None and not is_several(about.layer):
            # The features before the classifier have a pooling of their own, so it groups only the other layers.
            pool = "" if about.layer in OWN_LAYERS else about.pool or "none"
            of = (about.id, about.weights, about.digest, repr(about.transform))
            groups.setdefault((of, pool), []).append(each)
    found = list[LayeredBackbone]()
    for (network, pool), rows in groups.items():
        names = {_layer(each): each.name for each in rows}
        by_layer = {layer: names[layer] for layer in by_depth(names)}
        if pool and len(by_layer) >= FEWEST:
            usual = groups.get((network, ""), [])
            same = next((each for each in usual if _pool(each) == pool), next(iter(usual), None))
            pools = {own for other, own in groups if other == network and own}
            name = _common(rows[0], with_pool=len(pools) > 1)
            found.append(LayeredBackbone(name, by_layer, (_layer(same), same.name) if same else None))
    return found


def by_depth(layers: Iterable[str]) -> list[str]:
    """The layers whose names differ in their numbers only, by these numbers, which modules have in the order they run.

    Of several such sequences, it is the longest; where the others lie between its layers, their names do not say.
    """
    every = [*layers]
    forms = Counter(NUMBER.sub("#", layer) for layer in every)
    form = max(forms, key=lambda each: forms[each], default="")
    same = [layer for layer in every if NUMBER.sub("#", layer) == form]
    return sorted(same, key=lambda layer: [int(number) for number in NUMBER.findall(layer)])


def _layer(backbone: Backbone) -> str:
    assert backbone.features is not None
    return backbone.features.backbone.layer or ""


def _pool(backbone: Backbone) -> str:
    assert backbone.features is not None
    return backbone.features.backbone.pool or ""


def _common(backbone: Backbone, *, with_pool: bool) -> str:
    """The name that the rows of a network share: without the layer, and without the pooling if it has only one."""
    assert backbone.features is not None
    name = backbone.features.backbone.name_of_network(backbone.name)
    return f"{name} ({_pool(backbone)})" if with_pool else name


@dataclass(frozen=True, eq=False)
class LayerScores:
    """The layers of a network on a data set by a probe.

    Attributes:
        layers: those with scores, in order of depth.
    """

    each: Comparable
    backbone: LayeredBackbone
    layers: tuple[str, ...]

    def score(self, layer: str) -> float:
        return self.each.score[self.backbone.rows[layer]]

    @cached_property
    def tied(self) -> tuple[str, ...]:
        """The best layer and all whose difference from it is not resolved, in order of depth.

        The tests of the best layer against all others of the same network are corrected by Holm's method.
        """
        names = [self.backbone.rows[layer] for layer in self.layers]
        scores = np.array([self.score(layer) for layer in self.layers])
        pairs = self.each.pairs_among(names)
        better = bool(self.each.metric.higher_is_better)
        first = {*standings(names, scores, pairs.value, pairs.p_values, higher_is_better=better).groups[0]}
        return tuple(layer for layer, name in zip(self.layers, names, strict=True) if name in first)

    @cached_property
    def best(self) -> str:
        """The first of the layers with the best score."""
        sign = 1 if self.each.metric.higher_is_better else -1
        return max(self.layers, key=lambda layer: sign * self.score(layer))

    @property
    def last(self) -> str:
        return self.layers[-1]

    @property
    def own_score(self) -> float | None:
        own = self.backbone.own
        return self.each.score.get(own[1]) if own else None

    def lost_by_last(self) -> Crossed | None:
        """The score of the best layer minus that of the last one; None if that is the same, or has other seeds."""
        return None if self.best == self.last else self._minus(self.backbone.rows[self.last])

    def lost_by_own(self) -> Crossed | None:
        """The score of the best layer minus that of the features before the classifier; None without these."""
        return None if self.own_score is None or self.backbone.own is None else self._minus(self.backbone.own[1])

    def _minus(self, other: str) -> Crossed | None:
        best = self.backbone.rows[self.best]
        return self.each.difference(best, other) if self.each.seeds_of(best, other) else None


def layer_scores(each: Comparable, backbones: Sequence[LayeredBackbone]) -> list[LayerScores]:
    """The networks with enough layers on a data set by a probe; none if no direction of its metric is better."""
    found = list[LayerScores]()
    if each.metric.higher_is_better is None:
        return found
    for backbone in backbones:
        layers = tuple(layer for layer, name in backbone.rows.items() if name in each.kept)
        if len(layers) >= FEWEST:
            found.append(LayerScores(each, backbone, layers))
    return found
