"""Scoring one set of logits under any subset of classes: the argmax over the classes kept.

Labels of test sets and columns of logits have names. A *class* is what they are compared by: a name itself, or what a
mapping makes of it. Several columns may be one class, whose score is then the greatest of theirs; a label may name
several columns, joined by `+`, where an image may be any of them.
"""

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from unseen.errors import UserError

JOINED = "+"


def class_names(label_sets: Sequence[Collection[str]], mapping: Mapping[str, str] | None = None) -> dict[str, str]:
    """Name → class for every name in some test sets' labels.

    With a mapping, names that it lacks have no class, unless they are classes themselves. Without one, a name is its
    own class, and names that one label joins are one class, as are those that are linked by several such labels.
    """
    names = {name for labels in label_sets for label in labels for name in label.split(JOINED)}
    if mapping is not None:
        targets = set(mapping.values())
        return {name: mapping.get(name, name) for name in names if name in mapping or name in targets} | dict(mapping)
    group = {name: frozenset([name]) for name in names}
    for label in {label for labels in label_sets for label in labels if JOINED in label}:
        joined = frozenset[str]().union(*(group[name] for name in label.split(JOINED)))
        group |= dict.fromkeys(joined, joined)
    return {name: JOINED.join(sorted(members)) for name, members in group.items()}


def label_class(label: str, classes: Mapping[str, str]) -> str | None:
    """The class of a label; None where it has none, or where names that it joins are of several."""
    found = {classes.get(name) for name in label.split(JOINED)}
    return found.pop() if len(found) == 1 else None


def shared_classes(label_sets: Sequence[Collection[str]], classes: Mapping[str, str]) -> tuple[str, ...]:
    """The classes that every test set has images of, sorted."""
    if not label_sets:
        return ()
    kept = [{label_class(label, classes) for label in labels} - {None} for labels in label_sets]
    shared = set.intersection(*kept)
    return tuple(sorted(name for name in shared if name is not None))


def lacking_classes(columns: Sequence[str], kept: Sequence[str], classes: Mapping[str, str]) -> list[str]:
    """Those of the classes kept that no column of the model is of."""
    there = {classes.get(key, key) for key in columns}
    return [name for name in kept if name not in there]


def subset_scores(logits: Tensor, columns: Sequence[str], kept: Sequence[str], classes: Mapping[str, str]) -> Tensor:
    """Scores (n, k) of the k classes kept, from logits (n, c): of several columns of a class, the greatest.

    A class that no column is of is an error: a model that cannot name it would be scored as if it had been wrong.
    """
    if logits.ndim != 2 or logits.shape[1] != len(columns):
        raise UserError(f"logits of shape {tuple(logits.shape)} do not go with {len(columns)} classes of the model")
    place = {name: number for number, name in enumerate(kept)}
    lacking = lacking_classes(columns, kept, classes)
    if lacking or not kept:
        what = f"no class of the model is {lacking[0]}" if lacking else "no class was kept"
        raise UserError(f"{what} ({len(lacking)} of {len(kept)} are lacking); give a mapping or other test sets")
    groups = [(column, place[name]) for column, key in enumerate(columns) if (name := classes.get(key, key)) in place]
    source, target = (torch.tensor(numbers, device=logits.device) for numbers in zip(*groups, strict=True))
    chosen = logits.index_select(1, source).float()
    scores = torch.full((len(logits), len(kept)), float("-inf"), device=logits.device)
    return scores.scatter_reduce(1, target.expand(len(logits), -1), chosen, "amax")


def subset_guesses(
    logits: Tensor,
    labels: Sequence[str],
    columns: Sequence[str],
    kept: Sequence[str],
    classes: Mapping[str, str],
) -> tuple[Tensor, Tensor]:
    """(m,) predicted and true classes of the m images whose class was kept, as indices into `kept`.

    Args:
        logits: (n, c), any float type; a row per image, a column per class of the model.
        labels: (n,) of the images.
        columns: (c,) names of the model's classes.
        kept: classes, among the values of `classes`.
        classes: name → class, for labels and columns (`class_names`).
    """
    place = {name: number for number, name in enumerate(kept)}
    of = {label: label_class(label, classes) for label in set(labels)}
    truth = torch.tensor([place.get(of[label] or "", -1) for label in labels], device=logits.device)
    rows = truth >= 0
    if not rows.any():
        raise UserError(f"no image is of any of the {len(kept)} classes kept")
    return subset_scores(logits[rows], columns, kept, classes).argmax(dim=1), truth[rows]
