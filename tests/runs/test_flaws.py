"""Sentences on images that were left out, on rows of zeros and on trainings that went wrong."""

import pytest

from unseen.probes.job import Fit, Job, fits_kept
from unseen.runs.flaws import Flaw, flaw_sentences
from unseen.runs.result_flaws import TRAININGS, diverged, skipped_steps
from unseen.runs.results import Result


def flaw(backbone: str, domain: str, count: int = 1) -> Flaw:
    return Flaw("zero-rows", backbone, domain, f"{domain}/train.npz", count, 60, tuple(map(str, range(count))))


def test_what_all_backbones_share_is_said_once() -> None:
    shared = [flaw("a", "l1"), flaw("b", "l1")]
    assert len(flaw_sentences(shared, {"l1": "Level 1"})) == 1
    assert flaw_sentences(shared, {"l1": "Level 1"})[0].startswith("Level 1: 1 of 60 rows of l1/train.npz (row 0)")
    [first, second] = flaw_sentences([*shared, flaw("a", "l2", 5)])
    assert first == "l1: 1 of 60 rows of l1/train.npz (row 0) is all zeros."
    assert second.startswith("l2, features of a: 5 of 60 rows of l2/train.npz (rows 0, 1, 2, …)")


def test_a_flaw_of_one_of_several_backbones_says_whose_it_is() -> None:
    """As where runs were merged and only one of them has a flaw."""
    [sentence] = flaw_sentences([flaw("a", "l1", 2)], among=["a", "b"])
    assert sentence.startswith("l1, features of a: 2 of 60 rows")


def test_what_concerns_all_backbones_names_none() -> None:
    labels = Flaw("unused-labels", "", "voc", "test images", 1, 9, ("a.xml: a box is empty",))
    [sentence] = flaw_sentences([labels], among=["a", "b"])
    assert sentence.startswith("voc: 1 of 9 labels")


@pytest.mark.parametrize("probe", TRAININGS)
@pytest.mark.parametrize("skipped", [0, 3])
def test_steps_without_a_finite_loss_are_counted(probe: str, skipped: int) -> None:
    job = Job(probe, 1, "b", "d", settings={"protocol": {"name": "p", "steps": 80}})
    values = fits_kept([Fit(probe, None, 0, [("top1", 0.5)], {"skipped": skipped})])
    found = skipped_steps([Result(job.key, job.described, values, 1.0, {})])
    expected = Flaw("skipped-steps", "b", "d", f"the training of {probe}", 3, 80)
    assert found == ([expected] if skipped else [])
    [sentence] = flaw_sentences([expected], among=["a", "b"])
    assert sentence.startswith("d, b: 3 of 80 steps")


@pytest.mark.parametrize("inputs", [1, 2])
def test_diverged_classifiers_are_counted_once_per_input(inputs: int) -> None:
    job = Job("dinov2-linear", 1, "b", "d")
    details = [{"diverged": number, "validation": [0.5, None, None]} for number in (2, 2, 0)]
    names = ["dinov2-linear", "dinov2-linear-cls1", "dinov2-linear-cls4"]
    fits = [Fit(name, None, 0, [("top1", 0.5)], about) for name, about in zip(names, details, strict=True)]
    values = fits_kept(fits if inputs == 2 else fits[:1])
    found = diverged([Result(job.key, job.described, values, 1.0, {})])
    assert found == [Flaw("diverged", "b", "d", names[inputs - 1], 2, 3)]
    [sentence] = flaw_sentences(found, among=["a", "b"])
    assert sentence.startswith("d, b: 2 of 3 classifiers")
