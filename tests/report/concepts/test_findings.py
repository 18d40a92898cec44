"""Who is said to be best, and who is too close to tell."""

from dataclasses import replace

import pytest
from section_runs import Key, run

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.findings import findings
from unseen.report.concepts.sections import scores
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


def said(data: RunData) -> str:
    rows = ConceptContext(data).rows
    return str(findings(data, rows)[0])


@pytest.mark.parametrize(
    ("correct", "ending"),
    [
        # Seeds alone tell 80 from 70; concepts that vary from 40 to 100 of 100 do not.
        ({"mine": [100, 60] * 5, "other": [100, 40] * 5}, "with <code>other</code> within the intervals over seeds "),
        # Concepts that are all alike do: then the spread over seeds is the wider one.
        ({"mine": [80] * 10, "other": [70] * 10}, "(80.0% top-1 accuracy)."),
        ({}, "(80.0% top-1 accuracy)."),
    ],
)
def test_the_wider_interval_decides_who_is_close(correct: dict[str, list[int]], ending: str) -> None:
    assert ending in said(two_backbones({"mine": 0.8, "other": 0.7}, correct))


def test_a_difference_between_other_numbers_of_classes_is_said_to_be_one() -> None:
    values: dict[Key, float] = {("in1k", "logistic", None, "top1"): 0.4, ("l5", "logistic", None, "top1"): 0.851}
    data = run(values)
    rows = ConceptContext(data).rows
    seen, level = data.domains
    same = replace(data, domains=[replace(seen, classes=1000), replace(level, classes=1000)])
    other = replace(data, domains=[replace(seen, classes=1000), replace(level, concepts=["a", "b"])])
    assert str(findings(same, rows)[1]) == "From IN-1K to L5, <code>mine</code> rises by 45.1 ± 0.0 points."
    assert str(findings(other, rows)[1]) == (
        "From IN-1K (1,000 classes) to L5 (2 classes), <code>mine</code> rises by 45.1 ± 0.0 points; the numbers of "
        "classes differ, so this difference does not measure generalization."
    )


@pytest.mark.parametrize(("classes", "said"), [(5, True), (6, False)])
def test_the_top_five_of_five_are_said_to_be_all(classes: int, said: bool) -> None:
    data = run({("in1k", "logistic", None, "top1"): 0.4, ("in1k", "logistic", None, "top5"): 1.0})
    data = replace(data, domains=[replace(each, classes=classes) for each in data.domains])
    assert ("five classes or fewer" in scores.build(ConceptContext(data)).note) == said


def test_a_tie_over_seeds_is_said_to_be_one() -> None:
    text = said(two_backbones({"mine": 0.8, "other": 0.799}, {"mine": [80] * 10, "other": [80] * 10}))
    assert text.endswith("with <code>other</code> within the spread over seeds.")
