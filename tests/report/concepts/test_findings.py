"""Who is said to be best, and who is too close to tell."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from section_runs import Key, run

from unseen.analyses.paired import MOST_PAIRS, Comparison, PairComparison, pair_tests
from unseen.metrics.comparisons import paired_difference
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.findings import findings
from unseen.report.concepts.sections import comparison, scores
from unseen.runs.data import ConceptHits, RunData

SEEDS = (0, 1)


def two_backbones(accuracy: dict[str, float], correct: dict[str, list[int]], images: int = 100) -> RunData:
    values: dict[Key, float] = {("in1k", "logistic", None, "top1"): 0.0}
    data = run(values, list(accuracy))
    scores = [type(s)(**{**s.as_dict(), "value": accuracy[s.backbone] + s.value}) for s in data.scores]
    hits = [
        ConceptHits(name, "in1k", "all", seed, tuple(map(str, range(len(of)))), tuple(of), (images,) * len(of))
        for name, of in correct.items()
        for seed in SEEDS
    ]
    return run(values, list(accuracy), scores=scores, concept_hits=hits)


def said(data: RunData, pairs: Sequence[PairComparison] = ()) -> str:
    context = ConceptContext(data, pairs)
    return str(findings(data, context.rows, test=context.pair_test)[0])


@pytest.mark.parametrize(
    ("correct", "ending"),
    [
        # Seeds alone tell 80 from 70; five of ten concepts do not: p is 2/32.
        ({"mine": [100, 60] * 5, "other": [100, 40] * 5}, "not clearly ahead of <code>other</code>."),
        # All ten do: p is 2/1024.
        ({"mine": [100, 60] * 5, "other": [90, 50] * 5}, "is best on IN-1K (80.0% top-1 accuracy)."),
        # Without results of concepts, nothing is known about other test images.
        ({}, "its lead over <code>other</code> was not tested."),
        # Nor if both were tested on other concepts.
        ({"mine": [100] * 10, "other": [40] * 9}, "its lead over <code>other</code> was not tested."),
    ],
)
def test_a_lead_is_called_clear_if_the_paired_comparison_finds_it(correct: dict[str, list[int]], ending: str) -> None:
    assert ending in said(two_backbones({"mine": 0.8, "other": 0.7}, correct))


@pytest.mark.parametrize(("p", "best"), [(0.0499, True), (0.05, False), (0.2, False)])
def test_the_page_never_contradicts_its_paired_comparison(p: float, best: bool) -> None:
    """The interval of the difference excludes 0 in either case; the section corrects for the domains of the pair."""
    data = two_backbones({"mine": 0.8, "other": 0.7}, {"mine": [100, 60] * 5, "other": [90, 50] * 5})
    difference = paired_difference(np.ones(40, bool), np.arange(40) % 4 > 0, np.arange(40) // 4)
    pair = PairComparison("other", "mine", None, (Comparison("in1k", 3, p, difference),))
    assert ("is best" in said(data, [pair])) == best
    section = comparison.build(ConceptContext(data, [pair]))
    assert section is not None
    assert ("does not differ clearly" in str(section.sentences[0])) != best


def test_the_test_of_concepts_is_that_of_images() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(30), 8)
    right = {name: rng.random((3, 240)) < chance for name, chance in (("mine", 0.6), ("other", 0.5))}
    hits = [
        ConceptHits(name, domain, "all", seed, tuple(map(str, range(30))), tuple(np.bincount(y[row])), (8,) * 30)
        for name, of in right.items()
        for seed, row in enumerate(of)
        for domain in ("in1k", "l5")
    ]
    p = paired_difference(right["mine"], right["other"], y).p_value
    assert [each.p_holm for each in pair_tests(hits, "mine", "other", "all")] == [2 * p, 2 * p]
    assert pair_tests(hits, "mine", "other", "1") == []


def test_a_lead_with_one_seed_is_of_these_fits() -> None:
    data = two_backbones({"mine": 0.8, "other": 0.7}, {"mine": [100, 60] * 5, "other": [90, 50] * 5})
    one = replace(data, concept_hits=[each for each in data.concept_hits if each.seed == 0])
    assert "one seed" in said(one)
    assert "one seed" not in said(data)


def test_the_leads_of_many_backbones_are_not_tested() -> None:
    accuracy = {"mine": 0.9} | {f"other {number}": 0.5 for number in range(MOST_PAIRS + 1)}
    correct = {name: [round(100 * value)] * 10 for name, value in accuracy.items()}
    assert "7 more was not tested" in said(two_backbones(accuracy, correct))
    accuracy.popitem()
    assert "is best" in said(two_backbones(accuracy, correct))


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


def test_a_tie_over_seeds_is_said_to_be_one() -> None:
    text = said(two_backbones({"mine": 0.8, "other": 0.799}, {"mine": [80] * 10, "other": [80] * 10}))
    assert text.endswith("not clearly ahead of <code>other</code>.")


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
    first = str(findings(data, context.rows, context.drops, context.pair_test)[0])
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
