"""Panels of the levels of past runs, from the accuracy of their backbones on each concept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen.analyses.panels.choice import Floats, Line, choose_panel, fit_lines, panel_mean
from unseen.analyses.panels.held_out import MIN_BACKBONES, HeldOut, error_on_other_kinds, evaluate
from unseen.errors import UserError, argument, names_of, option
from unseen.ontology.levels import Concept, Levels
from unseen.runs.data import ConceptHits, RunData
from unseen.runs.merge import merge_runs
from unseen.runs.random_draws import RANDOM
from unseen.runs.record import LEVELS, read_runs

if TYPE_CHECKING:
    import pandas as pd

FEWEST_CONCEPTS = 2
"""A classifier needs two classes."""


@dataclass(frozen=True)
class LevelPanel:
    """The panel of a level.

    Attributes:
        domain: name of the level in the runs.
        concepts: the chosen concepts, in order of rank.
        size: number of concepts of the whole level.
        line: from the mean over the panel to the score of the level, fitted on all backbones.
        held_out: errors on backbones that the panel was not chosen on.
        other_kinds: mean absolute error on backbones of a category that the panel was not chosen on; None if there are
            too few categories.
    """

    domain: str
    concepts: tuple[Concept, ...]
    size: int
    line: Line
    held_out: HeldOut
    other_kinds: float | None


@dataclass(frozen=True, repr=False)
class Panels:
    """The panels of all levels of some runs.

    Attributes:
        k: number of concepts per level.
        shots: training samples per concept of the results, as in tables.
        runs: names of the folders of the runs.
        seen: the domain of seen concepts, which stays as it is; empty if the runs have none.
        seed: of the held-out parts and of the random panels.
    """

    levels: tuple[LevelPanel, ...]
    k: int
    shots: str
    runs: tuple[str, ...]
    seen: str
    seed: int

    @property
    def beats_random(self) -> bool:
        """Whether the choice is better than random panels on every level."""
        return all(each.held_out.beats_random for each in self.levels)

    def __repr__(self) -> str:
        return f"Panels({self.k} concepts of each of {len(self.levels)} levels)"

    def to_frame(self) -> "pd.DataFrame":
        """One row per level: its errors with their intervals as shares, the verdict, and the line of the estimate."""
        import pandas as pd

        rows = [
            {
                "domain": each.domain, "concepts": self.k, "of": each.size, "backbones": each.held_out.backbones,
                "error": each.held_out.error.value, "error_low": each.held_out.error.low,
                "error_high": each.held_out.error.high, "random_error": each.held_out.random.value,
                "random_low": each.held_out.random.low, "random_high": each.held_out.random.high,
                "against_random": each.held_out.verdict, "other_kinds": each.other_kinds,
                "intercept": each.line.intercept, "slope": each.line.slope,
            }
            for each in self.levels
        ]  # fmt: skip
        return pd.DataFrame(rows)


@dataclass(frozen=True)
class ConceptMatrix:
    """The accuracies of backbones on the concepts of a level.

    Attributes:
        accuracy: (backbones, concepts), shares in [0, 1], over all seeds.
        images: (concepts,) number of test images.
    """

    backbones: tuple[str, ...]
    concepts: tuple[str, ...]
    accuracy: Floats
    images: Floats


def panels_of_runs(folders: Sequence[Path], k: int, *, shots: str = "all", seed: int = 0) -> Panels:
    """Choose k concepts of every level of some runs, and measure how well they give the scores of held-out backbones.

    Args:
        k: number of concepts per level.
        shots: training samples per concept of the results to use; "all" for all.
        seed: of the held-out parts and of the random panels.
    """
    if not folders:
        raise UserError("a panel is chosen on past runs; give the folders of some")
    if k < FEWEST_CONCEPTS:
        raise UserError(f"a panel needs at least {FEWEST_CONCEPTS} concepts per level ({option('concepts')}), not {k}")
    if seed < 0:
        raise UserError(f"{argument('seed')} must be at least 0, not {seed}")
    runs = list(zip((str(folder) for folder in folders), read_runs(folders), strict=True))
    _refuse_other_concepts(runs)
    data = merge_runs(runs)
    seen = next((domain.name for domain in data.domains if domain.seen), "")
    names = [each.name for each in data.domains if each.axis == "concepts" and each.name not in {seen, RANDOM}]
    matrices = {name: concept_matrix(data.concept_hits, name, shots) for name in names}
    for name, matrix in matrices.items():
        if k >= len(matrix.concepts):
            raise UserError(
                f"{name}: has {len(matrix.concepts)} concepts, and a panel has fewer than its level, not {k}; choose a "
                f"smaller {argument('concepts')}"
            )
    if not matrices:
        raise UserError(f"{folders[0]}: has no levels; panels are chosen of the levels of concept studies")
    rows, categories = _rows_of_levels(folders), {each.name: each.category for each in data.backbones}
    chosen = [
        _level_panel(name, matrix, k, rows, [categories[each] for each in matrix.backbones], seed)
        for name, matrix in matrices.items()
    ]
    return Panels(tuple(chosen), k, shots, tuple(folder.resolve().name for folder in folders), seen, seed)


def concept_matrix(hits: Sequence[ConceptHits], domain: str, shots: str) -> ConceptMatrix:
    """The accuracies on the concepts of a domain of all backbones that have results with these shots.

    Backbones with other concepts or other test images are refused, and so are fewer than six backbones.
    """
    own = [each for each in hits if (each.domain, each.shots) == (domain, shots)]
    names = tuple(dict.fromkeys(each.backbone for each in own))
    if len(names) < MIN_BACKBONES:
        there = f"there are {len(names)} ({names_of(names)})" if names else "there are none"
        raise UserError(
            f"{domain}: a panel needs at least {MIN_BACKBONES} backbones with results of the logistic probe on each "
            f"concept ({option('shots', shots)}), so that five are left when one is held out; {there}"
        )
    first = own[0]
    for each in own:
        if (each.concepts, each.images) != (first.concepts, first.images):
            raise UserError(
                f"{domain}: {each.backbone} has other concepts or test images than {first.backbone}; give runs on the "
                "same data"
            )
    correct = [np.sum([each.correct for each in own if each.backbone == name], axis=0) for name in names]
    seeds = [sum(each.backbone == name for each in own) for name in names]
    images = np.array(first.images, dtype=np.float64)
    return ConceptMatrix(names, first.concepts, np.stack(correct) / (np.array(seeds)[:, None] * images), images)


def _level_panel(
    domain: str,
    matrix: ConceptMatrix,
    k: int,
    rows: Mapping[frozenset[str], Mapping[str, Concept]],
    categories: Sequence[str],
    seed: int,
) -> LevelPanel:
    accuracy, images = matrix.accuracy, matrix.images
    places = choose_panel(accuracy, images, k)
    intercept, slope = fit_lines(panel_mean(accuracy, images, places), accuracy @ images / images.sum())
    of = rows.get(frozenset(matrix.concepts))
    if of is None:
        raise UserError(f"{domain}: none of the runs has its levels ({LEVELS}) with these concepts; run it again")
    concepts = sorted((of[matrix.concepts[place]] for place in places), key=lambda concept: concept.rank)
    return LevelPanel(
        domain=domain,
        concepts=tuple(concepts),
        size=len(matrix.concepts),
        line=Line(float(intercept), float(slope)),
        held_out=evaluate(accuracy, images, k, seed=seed),
        other_kinds=error_on_other_kinds(accuracy, images, k, categories),
    )


def _rows_of_levels(folders: Sequence[Path]) -> dict[frozenset[str], dict[str, Concept]]:
    """The rows of every level of the runs, found by its concepts."""
    found = dict[frozenset[str], dict[str, Concept]]()
    for path in (folder / LEVELS for folder in folders):
        for level in Levels.read(path) if path.is_file() else ():
            found.setdefault(frozenset(each.wnid for each in level), {each.wnid: each for each in level})
    return found


def _refuse_other_concepts(runs: Sequence[tuple[str, RunData]]) -> None:
    """Refuse runs in which a domain has other concepts than the domain of that name in an earlier run."""
    first = dict[str, tuple[str, tuple[str, ...]]]()
    for name, data in runs:
        for hits in data.concept_hits:
            run, concepts = first.setdefault(hits.domain, (name, hits.concepts))
            if hits.domain != RANDOM and concepts != hits.concepts:
                raise UserError(
                    f"{run} and {name}: have different concepts in {hits.domain}; give runs on the same levels"
                )
