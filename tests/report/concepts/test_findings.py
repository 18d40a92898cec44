"""Who is said to be best, and who is too close to tell."""

from dataclasses import replace

import pytest
from comparables_of import comparables_by_concepts
from section_runs import Key, run

from unseen.analyses.core.comparables import Comparables
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.findings import findings
from unseen.report.concepts.sections import scores
from unseen.runs.data import ConceptHits, RunData

SEEDS = (0, 1)
NOTHING = Comparables(())


def said(accuracy: dict[str, float], every: Comparables = NOTHING) -> str:
    """The finding about the seen concepts for backbones with these accuracies."""
    data = run({("in1k", "logistic", None, "top1"): 0.0}, list(accuracy))
    data = replace(data, scores=[replace(s, value=accuracy[s.backbone] + s.value) for s in data.scores])
    return str(findings(data, ConceptContext(data).rows, every=every)[0])


@pytest.mark.parametrize(
    ("correct", "ending"),
    [
        # Seeds alone tell 80 from 70; two of ten concepts do not.
        ({"mine": [100, 60] * 5, "other": [100, 35] * 2 + [100, 60] * 3}, "not clearly ahead of <code>other</code>"),
        # All ten do.
        ({"mine": [100, 60] * 5, "other": [92, 48] * 5}, "is best on IN-1K (80.0% top-1 accuracy)."),
        # Without results of images, nothing is known.
        ({}, "its lead over <code>other</code> was not tested."),
        # Nor if the other was tested on other images.
        ({"mine": [100] * 10}, "its lead over <code>other</code> was not tested."),
    ],
)
def test_a_lead_is_called_clear_if_the_paired_comparison_finds_it(correct: dict[str, list[int]], ending: str) -> None:
    every = comparables_by_concepts(correct, 100) if correct else NOTHING
    assert ending in said({"mine": 0.8, "other": 0.7}, every)


def test_a_lead_with_one_seed_is_of_these_fits() -> None:
    correct = {"mine": [100, 60] * 5, "other": [92, 48] * 5}
    assert "one seed" in said({"mine": 0.8, "other": 0.7}, comparables_by_concepts(correct, 100, seeds=(0,)))
    assert "one seed" not in said({"mine": 0.8, "other": 0.7}, comparables_by_concepts(correct, 100))


def test_a_tie_says_what_the_run_could_have_resolved() -> None:
    every = comparables_by_concepts({"mine": [100, 60] * 5, "other": [100, 35] * 2 + [100, 60] * 3}, 100)
    smallest = every.every[0].difference("mine", "other").detectable()
    assert f"(this run resolves {100 * smallest:.1f} points)" in said({"mine": 0.8, "other": 0.7}, every)


def test_equal_backbones_are_not_ahead_of_each_other() -> None:
    text = said({"mine": 0.8, "other": 0.8}, comparables_by_concepts({"mine": [80] * 10, "other": [80] * 10}, 100))
    assert "not clearly ahead of <code>other</code>" in text


def test_a_difference_between_other_numbers_of_classes_is_said_to_be_one() -> None:
    values: dict[Key, float] = {("in1k", "logistic", None, "top1"): 0.4, ("l5", "logistic", None, "top1"): 0.851}
    data = run(values)
    rows = ConceptContext(data).rows
    seen, level = data.domains
    same = replace(data, domains=[replace(seen, classes=1000), replace(level, classes=1000)])
    other = replace(data, domains=[replace(seen, classes=1000), replace(level, concepts=["a", "b"])])
    assert str(findings(same, rows)[0]) == "From IN-1K to L5, <code>mine</code> gains 45.1 ± 0.0 points of accuracy."
    assert str(findings(other, rows)[0]) == (
        "From IN-1K (1,000 classes) to L5 (2 classes), <code>mine</code> gains 45.1 ± 0.0 points of accuracy; the "
        "numbers of classes differ, so this difference does not measure generalization."
    )


@pytest.mark.parametrize(("classes", "said"), [(5, True), (6, False)])
def test_the_top_five_of_five_are_said_to_be_all(classes: int, said: bool) -> None:
    data = run({("in1k", "logistic", None, "top1"): 0.4, ("in1k", "logistic", None, "top5"): 1.0})
    data = replace(data, domains=[replace(each, classes=classes) for each in data.domains])
    assert ("five classes or fewer" in scores.build(ConceptContext(data)).note) == said


def levels_of(means: dict[str, tuple[float, float, float]], categories: dict[str, str]) -> RunData:
    """A run of IN-1K, L1 and L2 with results per concept: half of the concepts are 20 points above the mean."""
    names = ("in1k", "l1", "l2")
    data = run({(name, "logistic", None, "top1"): 0.0 for name in names}, list(means))
    accuracy = {
        (backbone, name): value for backbone, of in means.items() for name, value in zip(names, of, strict=True)
    }
    scores = [replace(s, value=accuracy[s.backbone, s.domain]) for s in data.scores]
    hits = [
        ConceptHits(backbone, name, "all", seed, tuple(f"{name}-{i}" for i in range(10)), of, (100,) * 10)
        for (backbone, name), value in accuracy.items()
        for of in [tuple(round(100 * value) + (20 if i % 2 else -20) for i in range(10))]
        for seed in SEEDS
    ]
    domains = [replace(d, similarity=None if d.seen else 1 - 0.1 * place) for place, d in enumerate(data.domains)]
    backbones = [replace(b, category=categories.get(b.name, "yours")) for b in data.backbones]
    return replace(data, scores=scores, concept_hits=hits, domains=domains, backbones=backbones, baseline="mine")


def test_a_change_within_its_interval_over_concepts_is_not_called_clear() -> None:
    data = levels_of({"mine": (0.8, 0.5, 0.4), "other": (0.6, 0.6, 0.55)}, {})
    context = ConceptContext(data)
    first = str(findings(data, context.rows, context.drops)[0])
    assert first == (
        "From IN-1K to L2, the least similar level, <code>mine</code> loses 40.0 points of accuracy; "
        "<code>other</code> (−5.0) does not clearly change."
    )


@pytest.mark.parametrize(("near", "sentences"), [(0.45, 1), (0.55, 0)])
def test_a_level_that_is_harder_for_every_backbone_is_explained(near: float, sentences: int) -> None:
    data = levels_of({"mine": (0.8, 0.6, 0.7), "pixels": (0.5, near, 0.5)}, {"pixels": "baseline"})
    found = [
        str(text) for text in findings(data, ConceptContext(data).rows) if "less accurate on L1 than on L2" in text
    ]
    assert len(found) == sentences
    assert all("even <code>pixels</code>" in text for text in found)
