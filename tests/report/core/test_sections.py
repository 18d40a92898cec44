"""Sections: what a run answers beside accuracy by level, against numbers worked out by hand or by SciPy."""

import numpy as np
import pytest
from section_runs import DOMAINS, Key, extended_sections, like, named, published_sections, run, sections

from unseen.papers import published
from unseen.papers.concept_generalization import effective_generalization, published_accuracies
from unseen.report.concepts.page import concept_page
from unseen.report.concepts.sections.concept_by_concept import SHOWN
from unseen.report.concepts.sections.effective import USUALLY_OFF
from unseen.report.core.looks import YOURS, dressed
from unseen.report.core.model_lines import CATEGORY_COLOURS
from unseen.runs.cautions import caution
from unseen.runs.data import Backbone, ConceptAccuracy, ConceptHits


def test_a_copy_of_a_published_model_stands_beside_it() -> None:
    data = run(like("s-DINO", 0.0005), published="cog-v2")
    sections = published_sections(data)
    assert [section.name for section in sections] == ["published", "ranks", "effective", "published-few-shots"]
    levels = sections[0]
    assert "above s-DINO (57.6)" in levels.sentences[0]
    absolute, relative = levels.figures
    assert len(absolute.series) == 32
    strong = [series for series in absolute.series if series.strong]
    assert [series.name for series in strong] == ["mine"]
    assert strong[0].y[-1] == pytest.approx(57.65)
    reference = next(series for series in relative.series if series.name == "ResNet50")
    assert reference.y == [0] * 6
    mine = next(series for series in relative.series if series.name == "mine")
    assert mine.y[-1] == pytest.approx(57.65 - 52.0)
    assert {group for group, *_ in levels.groups} == {
        "reference", "architecture", "self-supervision", "regularization", "web data"
    }  # fmt: skip


def test_ranks_are_counted_among_all() -> None:
    data = run(like("ResNet50", 0.0005), published="cog-v2")
    ranks = named(data, "ranks").figures[0].series[0]
    table = published("cog-v2")
    every = table[(table["shots"] == "all") & (table["domain"] == "l5")].set_index("model")["mean"]
    assert ranks.y[-1] == 1 + (every > every["ResNet50"] + 0.05).sum()
    assert ranks.low[-1] <= ranks.y[-1] <= ranks.high[-1]


def test_shots_that_the_paper_has_not_are_left_out() -> None:
    data = run({("l1", "logistic", 3, "top1"): 0.5}, published="cog-v2")
    assert published_sections(data) == []
    data = run({("l1", "logistic", 3, "top1"): 0.5, ("l1", "logistic", 4, "top1"): 0.5}, published="cog-v2")
    assert named(data, "published").figures[0].title == "Accuracy with 4 samples per concept"


def test_what_is_not_fair_is_said() -> None:
    backbones = [Backbone("mine", "yours", cautions=(caution("trained-with-web"), caution("image-size", size=384)))]
    data = run(like("d-CLIP"), published="cog-v2", backbones=backbones)
    told = "Not a fair comparison: mine (trained with web data, images of 384 pixels)."
    assert told in published_sections(data)[0].sentences


def test_other_concepts_are_not_set_beside_imagenet() -> None:
    data = run(like("ResNet50"))
    assert published_sections(data) == []


def test_a_part_of_the_domains_has_no_rank_but_a_place() -> None:
    some = {key: value for key, value in like("ResNet50").items() if key[0] in ("l1", "l5") and key[2] in (8, None)}
    data = run(some, published="cog-v2")
    assert [section.name for section in published_sections(data)] == ["published", "published-few-shots"]


def test_samples_that_make_up_for_a_level() -> None:
    values: dict[Key, float] = {}
    for shots in (1, 2, 4, 8, 16):
        values["l1", "logistic", shots, "top1"] = 0.4 + 0.1 * np.log2(shots)
        values["l5", "logistic", shots, "top1"] = 0.3 + 0.1 * np.log2(shots)
    section = named(run(values), "samples")
    assert section.figures[0].series[0].y == pytest.approx([2, 3])
    assert section.sentences == [
        "mine needs about 8 samples per concept on L5 to be as accurate as with 4 samples per concept on L1."
    ]
    assert section.figures[0].y_ticks == (
        (1, "2"),
        (pytest.approx(np.log2(5)), "5"),
        (pytest.approx(np.log2(10)), "10"),
    )


def test_a_level_out_of_reach_leaves_a_hole() -> None:
    values: dict[Key, float] = {}
    for shots in (1, 2, 4):
        values["l1", "logistic", shots, "top1"] = 0.6
        values["l2", "logistic", shots, "top1"] = 0.1
    section = named(run(values), "samples")
    assert section.figures[0].series[0].y[1] is None
    assert "more than 4 samples per concept on L2" in section.sentences[0]


def test_without_such_probes_there_are_no_such_sections() -> None:
    data = run(like("ResNet50"))
    assert extended_sections(data) == []
    assert not any(section.name == "concept-by-concept" for section in sections(data))


def test_the_line_through_concepts_is_the_binomial_fit() -> None:
    rng = np.random.default_rng(0)
    similarity = rng.uniform(0.1, 0.9, 2 * SHOWN)
    right = rng.binomial(50, 1 / (1 + np.exp(-(0.3 + 2 * similarity))))
    concepts = [
        ConceptAccuracy("mine", "l1", f"<b>{i}", float(s), int(k), 50)
        for i, (s, k) in enumerate(zip(similarity, right, strict=True))
    ]
    section = named(run({("l1", "logistic", None, "top1"): 0.5}, concept_accuracy=concepts), "concept-by-concept")
    points, line, _ = section.figures[0].series
    assert len(points.x) == SHOWN
    middle = len(line.x) // 2
    assert line.y[middle] == pytest.approx(100 / (1 + np.exp(-(0.3 + 2 * line.x[middle]))), abs=1.5)
    assert "+0.2" in section.sentences[0]


def test_concepts_of_one_similarity_have_no_line() -> None:
    concepts = [ConceptAccuracy("mine", "l1", str(i), 0.5, i % 10, 10) for i in range(20)]
    data = run({("l1", "logistic", None, "top1"): 0.5}, concept_accuracy=concepts)
    assert not any(section.name == "concept-by-concept" for section in sections(data))


def hits(domain: str, shots: str, seed: int, correct: list[int], images: int = 10, name: str = "mine") -> ConceptHits:
    concepts = tuple(f"n{number}" for number in range(len(correct)))
    return ConceptHits(name, domain, shots, seed, concepts, tuple(correct), (images,) * len(correct))


def test_bars_among_the_published_models_are_over_concepts() -> None:
    # A concept that is always right and one that never is: a draw of two has 0, 1 or 2 of the first.
    found = [hits("l5", "all", seed, [10, 0]) for seed in (0, 1)]
    data = run(like("ResNet50"), published="cog-v2", concept_hits=found)
    levels = published_sections(data)[0]
    absolute, relative = (next(s for s in figure.series if s.strong) for figure in levels.figures)
    assert (absolute.low[-1], absolute.high[-1]) == (0, 100)
    assert (relative.low[-1], relative.high[-1]) == pytest.approx((-52.0, 48.0))
    # Other domains have seeds alone, a hundredth apart.
    assert absolute.high[0] == pytest.approx(75.8 + 100 * 0.01 / np.sqrt(2))
    assert "95% intervals over concepts and seeds" in levels.note
    plain = run(like("ResNet50"), published="cog-v2")
    assert "Error bars are the standard deviation over seeds." in published_sections(plain)[0].note


def test_an_interval_that_leaves_out_nothing_is_no_proof() -> None:
    data = run(like("s-DINO", 0.1), published="cog-v2")
    sentences = named(data, "effective").sentences
    assert sentences[0].endswith("predicts; the interval excludes zero.")
    assert sentences[-1] == USUALLY_OFF


def test_how_far_models_usually_are_off_is_as_said() -> None:
    models = published_accuracies()
    table = effective_generalization(models, models).table()
    off = table[(table["level"] == "l5") & (table["off_line_holm"] < 0.05)]
    assert f"{len(off)} of the {len(models.models)} published ones on L5" in USUALLY_OFF
    assert (table["unusual_fdr"] > 0.05).all()


def test_few_shots_are_shown_on_all_domains_and_relative_to_the_reference() -> None:
    data = run(like("s-DINO"), published="cog-v2")
    plots = named(data, "published-few-shots").figures
    titles = ["IN-1K", "L1", "L2", "L3", "L4", "L5"]
    assert [plot.title for plot in plots] == [*titles, *(f"{title}, relative to ResNet50" for title in titles)]
    table = published("cog-v2").set_index(["model", "domain", "shots"])["mean"]
    for plot, domain in zip(plots[6:], DOMAINS, strict=True):
        assert plot.zero
        lines = {series.name: series.y for series in plot.series}
        assert lines["ResNet50"] == [0] * 9
        expected = [table["s-DINO", domain, s] - table["ResNet50", domain, s] for _, s in plot.x_ticks]
        assert lines["mine"] == pytest.approx(expected)
        assert lines["s-DINO"] == pytest.approx(expected)


def test_a_backbone_has_one_look_on_all_of_a_page() -> None:
    data = run(like("s-DINO"), ["mine", "other"], published="cog-v2")
    page = dressed(concept_page(data))
    looks = {
        (series.backbone, series.colour, series.symbol, series.dash)
        for section in page.sections for figure in section.figures for series in figure.series if series.backbone
    }  # fmt: skip
    assert {(name, colour) for name, colour, _, _ in looks} == {("mine", YOURS), ("other", YOURS + 1)}
    assert len(looks) == 2
    assert not {colour for _, colour, _, _ in looks} & set(CATEGORY_COLOURS.values())
