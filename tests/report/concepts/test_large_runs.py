"""The page of a run with more backbones than a page can show."""

import pytest

from helpers.section_runs import DOMAINS, named, run
from unseen.report.concepts import page as page_module
from unseen.report.concepts.context import ConceptContext, complete
from unseen.report.concepts.page import shown_part
from unseen.runs.data import RunData
from unseen.runs.score import Score

NAMES = ["mine", *(f"b{number}" for number in range(30))]


def large_run() -> RunData:
    """31 backbones on six domains; each is better than the one before, the baseline is the worst."""
    scores = [
        Score("concepts", "cog-v2", name, domain, "logistic", None, 0, "top1", 0.3 + 0.01 * place)
        for place, name in enumerate(NAMES)
        for domain in DOMAINS
    ]
    return run(
        {(domain, "logistic", None, "top1"): 0.5 for domain in DOMAINS}, NAMES, scores=scores, published="cog-v2"
    )


def test_the_baseline_and_the_best_are_shown_with_their_ranks_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "FEWEST_BACKBONES", 1)
    monkeypatch.setattr(page_module, "MOST_ROWS", 10 * len(DOMAINS))
    context, sentences = shown_part(ConceptContext(complete(large_run())))
    assert [backbone.name for backbone in context.data.backbones] == ["mine", *NAMES[-9:]]
    assert {row.backbone: row.rank for row in context.rows} == {"mine": 31, **{NAMES[-n]: n for n in range(1, 10)}}
    assert {score.backbone for score in context.data.scores} == {"mine", *NAMES[-9:]}
    assert "10 of 31" in sentences[0]


def test_a_run_of_usual_size_is_shown_whole() -> None:
    context = ConceptContext(complete(large_run()))
    assert shown_part(context) == (context, [])


def test_sentences_of_backbones_end_with_how_many_more_there_are() -> None:
    answers = named(large_run(), "effective").sentences
    assert len([text for text in answers if text.startswith("On L5")]) == 20
    assert any("11 more" in text for text in answers)
