"""Scoring one set of logits under any subset of classes: the argmax over the selected classes.

Labels of test sets and columns of logits have names. They are compared by *class*: a name itself, or its image under a
mapping. Several columns may belong to one class, whose score is then their maximum; a label may name several columns,
joined by `+`, if an image may be any of them.
"""

from collections.abc import Collection, Mapping, Sequence

import torch
from torch import Tensor

from unseen.errors import UserError

JOINED = "+"


def class_names(label_sets: Sequence[Collection[str]], mapping: Mapping[str, str] | None = None) -> dict[str, str]:
    """Name → class for every name in some test sets' labels.

    With a mapping, names that it lacks have no class, unless they are classes themselves. Without one, a name is its
    own class, and names joined in one label are one class, also transitively across labels.
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
    """The class of a label; None if it has none, or if the names it joins belong to different classes."""
    named = {classes.get(name) for name in label.split(JOINED)}
    return named.pop() if len(named) == 1 else None


def shared_classes(label_sets: Sequence[Collection[str]], classes: Mapping[str, str]) -> tuple[str, ...]:
    """The classes that occur in every test set, sorted."""
    if not label_sets:
        return ()
    kept = [{label_class(label, classes) for label in labels} - {None} for labels in label_sets]
    shared = set.intersection(*kept)
    return tuple(sorted(name for name in shared if name is not None))


def lacking_classes(columns: Sequence[str], kept: Sequence[str], classes: Mapping[str, str]) -> list[str]:
    """The selected classes that no column of the model belongs to."""
    there = {classes.get(key, key) for key in columns}
    return [name for name in kept if name not in there]


def subset_scores(logits: Tensor, columns: Sequence[str], kept: Sequence[str], classes: Mapping[str, str]) -> Tensor:
    """Scores (n, k) of the k selected classes, from logits (n, c): the maximum over the columns of a class.

    A class without a column is an error: a model that cannot predict it would otherwise be scored as wrong.
    """
    if logits.ndim != 2 or logits.shape[1] != len(columns):
        raise UserError(f"logits of shape {tuple(logits.shape)} do not match {len(columns)} classes of the model")
    place = {name: number for number, name in enumerate(kept)}
    lacking = lacking_classes(columns, kept, classes)
    if lacking or not kept:
        what = f"no class of the model is {lacking[0]}" if lacking else "no class was selected"
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
    """(m,) predicted and true classes of the m images with a selected class, as indices into `kept`.

    Args:
        logits: (n, c), any float dtype; one row per image, one column per class of the model.
        labels: (n,) labels of the images.
        columns: (c,) names of the model's classes.
        kept: the selected classes, among the values of `classes`.
        classes: name → class, for labels and columns (`class_names`).
    """
    place = {name: number for number, name in enumerate(kept)}
    class_of = {label: label_class(label, classes) for label in set(labels)}
    truth = torch.tensor([place.get(class_of[label] or "", -1) for label in labels], device=logits.device)
    rows = truth >= 0
    if not rows.any():
        raise UserError(f"no image has any of the {len(kept)} selected classes")
    return subset_scores(logits[rows], columns, kept, classes).argmax(dim=1), truth[rows]
