"""Scoring under class subsets, against a plain loop."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.metrics.class_subset import (
    class_names,
    label_class,
    lacking_classes,
    shared_classes,
    subset_guesses,
    subset_scores,
)


def plain_accuracy(
    logits: np.ndarray, labels: list[str], columns: list[str], kept: list[str], classes: dict[str, str]
) -> tuple[int, int]:
    """Right and all, image by image: the best column whose class is kept decides."""
    right = total = 0
    for row, label in zip(logits, labels, strict=True):
        truth = {classes.get(name) for name in label.split("+")}
        if len(truth) != 1 or next(iter(truth)) not in kept:
            continue
        total += 1
        best = max(
            (value, -place) for place, value in enumerate(row) if classes.get(columns[place], columns[place]) in kept
        )
        name = columns[-best[1]]
        right += classes.get(name, name) == next(iter(truth))
    return right, total


@examples(60)
@given(seed=st.integers(0, 10_000), width=st.integers(2, 9), groups=st.integers(2, 5))
def test_is_the_plain_loop(seed: int, width: int, groups: int) -> None:
    rng = np.random.default_rng(seed)
    columns = [f"c{number}" for number in range(width)]
    mapping = {name: f"g{rng.integers(groups)}" for name in columns if rng.random() < 0.8}
    mapping["c0"] = "g0"
    labels = [columns[number] for number in rng.integers(0, width, 30)] + ["c0"]
    classes = class_names([labels], mapping)
    kept = list(shared_classes([labels], classes))
    logits = rng.permuted(np.tile(np.arange(width), (31, 1)), axis=1).astype(np.float16)  # no two are equal
    guess, truth = subset_guesses(torch.from_numpy(logits), labels, columns, kept, classes)
    right, total = plain_accuracy(logits, labels, columns, kept, classes)
    assert (int((guess == truth).sum()), len(truth)) == (right, total)


def test_only_kept_classes_compete() -> None:
    logits = torch.tensor([[9.0, 2.0, 1.0], [9.0, 1.0, 2.0]])
    classes = class_names([["a", "b", "c"]])
    everything, _ = subset_guesses(logits, ["b", "b"], ["a", "b", "c"], ["a", "b", "c"], classes)
    without_a, _ = subset_guesses(logits, ["b", "b"], ["a", "b", "c"], ["b", "c"], classes)
    assert (everything.tolist(), without_a.tolist()) == ([0, 0], [0, 1])


def test_several_columns_of_a_class_give_their_greatest() -> None:
    logits = torch.tensor([[1.0, 5.0, 4.0, 3.0]])
    scores = subset_scores(logits, ["n1", "n2", "n3", "n4"], ["cat", "dog"], {"n1": "cat", "n3": "cat", "n4": "dog"})
    assert scores.tolist() == [[4.0, 3.0]]  # n2 would have won, but is of neither


def test_joined_labels_join_classes_for_every_set() -> None:
    """ObjectNet's alarm clocks are analog or digital: ImageNet's two classes become one."""
    classes = class_names([["n1+n2", "n3"], ["n1", "n2", "n3", "n4"]])
    assert classes == {"n1": "n1+n2", "n2": "n1+n2", "n3": "n3", "n4": "n4"}
    assert shared_classes([["n1+n2", "n3"], ["n1", "n2", "n3", "n4"]], classes) == ("n1+n2", "n3")
    logits = torch.tensor([[0.0, 3.0, 2.0, 9.0]])
    guess, truth = subset_guesses(logits, ["n1+n2"], ["n1", "n2", "n3", "n4"], ["n1+n2", "n3"], classes)
    assert guess.tolist() == truth.tolist() == [0]


def test_chains_of_joined_labels_become_one_class() -> None:
    classes = class_names([["a+b", "b+c", "d"]])
    assert classes == {"a": "a+b+c", "b": "a+b+c", "c": "a+b+c", "d": "d"}


def test_a_mapping_leaves_out_what_it_lacks_and_knows_its_own_classes() -> None:
    mapping = {"n1": "cat", "n2": "cat", "n3": "dog"}
    imagenet, cifar = ["n1", "n2", "n3", "n9"], ["cat", "deer", "dog"]
    classes = class_names([imagenet, cifar], mapping)
    assert shared_classes([imagenet, cifar], classes) == ("cat", "dog")
    assert label_class("deer", classes) is None
    assert label_class("n1+n3", classes) is None  # of two classes
    assert label_class("n1+n2", classes) == "cat"
    logits = torch.tensor([[1.0, 9.0, 0.0]])  # a model of CIFAR-10 that sees a deer
    guess, truth = subset_guesses(logits, ["cat"], cifar, ("cat", "dog"), classes)
    assert guess.tolist() == truth.tolist() == [0]


def test_classes_a_model_lacks_are_named() -> None:
    classes = class_names([["a", "b"]])
    assert lacking_classes(["a", "z"], ["a", "b"], classes) == ["b"]
    with pytest.raises(UserError, match=r"no class of the model is b \(1 of 2 are lacking\)"):
        subset_scores(torch.zeros(1, 2), ["a", "z"], ["a", "b"], classes)


def test_nothing_to_score_is_refused() -> None:
    classes = class_names([["a", "b"]])
    with pytest.raises(UserError, match="no image has any of the 1 selected classes"):
        subset_guesses(torch.zeros(1, 2), ["a"], ["a", "b"], ["b"], classes)
    with pytest.raises(UserError, match="do not match 3 classes"):
        subset_scores(torch.zeros(1, 2), ["a", "b", "c"], ["b"], classes)
    assert shared_classes([], {}) == ()
