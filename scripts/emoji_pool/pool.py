"""The pool of emoji classifiers: its two training sets, its test sets, its models.

Noto's drawings (two generations, in colour) and Fluent's high-contrast ones (black on white) train, and the concepts
held out test in both: two ID sets. The same concepts in three other hands, in colour and in ink, and in the drawings of
the demo by people who had 20 seconds, are the OOD sets. No family of sets is on both sides.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from emoji_pool.classifier import Recipe
from emoji_pool.concepts import CLASSES, FOLDS, classified, folds, named_synsets
from emoji_pool.glyphs import SIDE, Pictures
from unseen.data.concepts.drawing_levels import drawings, on_paper
from unseen.data.concepts.drawings import DATA, concepts
from unseen.ontology.wordnet import wordnet
from unseen.studies.shifts.model_pool import Fold, Labelled, Labels, PoolModel, plan_pool, with_recipe

RESULTS = DATA / "emoji_pool.csv"
"""Accuracies of the pool, as `python -m emoji_pool.train_pool` gave them."""
TRAINING = ("noto", "fluent-ink")
ID_SETS: Mapping[str, tuple[str, ...]] = {
    "id_noto": ("noto", "noto-v1"),
    "id_fluent_ink": ("fluent-emoji-high-contrast",),
}
OOD_SETS: Mapping[str, tuple[str, ...]] = {
    "ood_emojione": ("emojione", "emojione-v1"),
    "ood_emojione_ink": ("emojione-monotone",),
    "ood_twemoji": ("twemoji",),
    "ood_openmoji": ("openmoji",),
}
DRAWINGS = "ood_drawings"
GREY = "noto-grey"
"""The group that is only scored: models that lose the colour of half the pictures they are trained on."""
MIXTURES = (0.25, 0.5, 0.75)


def emoji_folds(pictures: Mapping[str, Pictures]) -> list[Fold]:
    """A fold for each part of the concepts; `pictures` as `stored_pictures` gives them, of the classified concepts."""
    labels = np.array(list(classified().values()), dtype=np.int64)
    fold = np.array(list(folds().values()))
    made = []
    for number in range(FOLDS):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        training = [_of_sets(pictures, sets, labels, train) for sets in ID_SETS.values()]
        tests = {name: _of_sets(pictures, sets, labels, test) for name, sets in {**ID_SETS, **OOD_SETS}.items()}
        made.append(Fold((training[0], training[1]), tests | {DRAWINGS: _drawn(test)}))
    return made


def emoji_models(recipe: Recipe | None = None) -> list[PoolModel]:
    """The models of the pool, then those that are only scored."""
    recipe = recipe or Recipe(classes=len(CLASSES))
    pool = [
        *plan_pool(TRAINING, ("narrow",), (1.0, 0.0, *MIXTURES), recipe),
        *plan_pool(TRAINING, ("wide",), (1.0, 0.0), recipe),
    ]
    largest = [model for model in pool if model.group == TRAINING[0] and model.setup.ratio >= 0.5]
    return [*pool, *with_recipe(largest, replace(recipe, grey=0.5), GREY)]


def _of_sets(pictures: Mapping[str, Pictures], sets: tuple[str, ...], labels: Labels, rows: Labels) -> Labelled:
    images = np.concatenate([pictures[name][rows] for name in sets])
    return Labelled(images, np.tile(labels[rows], len(sets)))


def _drawn(rows: Labels) -> Labelled:
    """The test drawings of the concepts that have any, as black ink on white, at the size of the emoji."""
    net, names = wordnet(), list(classified())
    ids = [net.wnid(named_synsets()[names[row]]) for row in rows]
    shared = [(wnid, classified()[names[row]]) for wnid, row in zip(ids, rows, strict=True) if wnid in concepts()]
    grey, place = drawings([wnid for wnid, _ in shared], "test")
    edge = (SIDE - grey.shape[1]) // 2
    paper = on_paper(np.pad(grey, ((0, 0), (edge, edge), (edge, edge))))
    labels = np.array([label for _, label in shared], dtype=np.int64)
    return Labelled(np.repeat(paper[..., None], 3, axis=3), labels[place])
