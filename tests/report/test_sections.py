"""Sections: what a run answers beside accuracy by level, against numbers worked out by hand or by SciPy."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from unseen.report.extended_sections import extended_sections
from unseen.report.level_sections import SHOWN, concept_section, sample_section
from unseen.report.published_sections import published_sections
from unseen.report.run_data import Backbone, ConceptAccuracy, Domain, RunData
from unseen.report.section_parts import signed
from unseen.report.sections import Section
from unseen.results.published import published
from unseen.results.score import Score
from unseen.results.tables import score_table, summarise

DOMAINS = ["in1k", "l1", "l2", "l3", "l4", "l5"]
Key = tuple[str, str, int | None, str]


def run(values: Mapping[Key, float], names: list[str] | None = None, **more: object) -> RunData:
    """A run from domain, probe, shots, metric → value, the same for two seeds a hundredth apart."""
    scores = [
        Score("concepts", "cog-v2", name, domain, probe, shots, seed, metric, value + 0.01 * (seed - 0.5))
        for name in names or ["mine"]
        for (domain, probe, shots, metric), value in values.items()
        for seed in (0, 1)
    ]
    used = [name for name in DOMAINS if name in {key[0] for key in values}]
    domains = [Domain(name, "IN-1K" if name == "in1k" else name.upper(), name == "in1k") for name in used]
    data = RunData("A run", scores, domains, [Backbone(name, "yours") for name in names or ["mine"]], "mine")
    return replace(data, **more)  # type: ignore[arg-type]


def summary(data: RunData) -> pd.DataFrame:
    return summarise(score_table(data.scores))


def named(sections: list[Section], name: str) -> Section:
    return next(section for section in sections if section.name == name)


def like(model: str, more: float = 0.0) -> dict[Key, float]:
    """The published accuracies of a model, and some more."""
    table = published("cog-v2")
    rows = table[table["model"] == model].itertuples()
    return {
        (r.domain, "logistic", None if r.shots == "all" else int(r.shots), "top1"): r.mean / 100 + more for r in rows
    }


def test_a_copy_of_a_published_model_stands_beside_it() -> None:
    data = run(like("s-DINO", 0.0005), published="cog-v2")
    sections = published_sections(data, summary(data))
    assert [section.name for section in sections] == ["published", "ranks", "effective", "published-few-shots"]
    levels = sections[0]
    assert "above s-DINO (57.6)" in levels.sentences[0]
    absolute, relative = levels.plots
    assert len(absolute.series) == 32
    strong = [series for series in absolute.series if series.strong]
    assert [series.name for series in strong] == ["mine"]
    assert strong[0].y[-1] == pytest.approx(57.65)
    reference = next(series for series in relative.series if series.name == "ResNet50")
    assert reference.y == [0] * 6
    mine = next(series for series in relative.series if series.name == "mine")
    assert mine.y[-1] == pytest.approx(57.65 - 52.0)
    assert {group for group, _ in levels.groups} == {
        "reference", "architecture", "self-supervision", "regularization", "web data"
    }  # fmt: skip


def test_ranks_are_counted_among_all() -> None:
    data = run(like("ResNet50", 0.0005), published="cog-v2")
    ranks = named(published_sections(data, summary(data)), "ranks").plots[0].series[0]
    table = published("cog-v2")
    every = table[(table["shots"] == "all") & (table["domain"] == "l5")].set_index("model")["mean"]
    assert ranks.y[-1] == 1 + (every > every["ResNet50"] + 0.05).sum()
    assert ranks.low[-1] <= ranks.y[-1] <= ranks.high[-1]


def test_shots_that_the_paper_has_not_are_left_out() -> None:
    data = run({("l1", "logistic", 3, "top1"): 0.5}, published="cog-v2")
    assert published_sections(data, summary(data)) == []
    data = run({("l1", "logistic", 3, "top1"): 0.5, ("l1", "logistic", 4, "top1"): 0.5}, published="cog-v2")
    assert (
        named(published_sections(data, summary(data)), "published").plots[0].title
        == "Accuracy with 4 samples a concept"
    )


def test_geometry_relative_to_the_first_domain_needs_it() -> None:
    values = {
        (domain, "geometry", None, metric): 1.0 for domain in ("in1k", "l1") for metric in ("alignment", "uniformity")
    }
    data = run(values, ["mine", "part"])
    data = replace(data, scores=[s for s in data.scores if (s.backbone, s.domain) != ("part", "in1k")])
    lines = named(extended_sections(data, summary(data)), "geometry").plots[1].series
    assert [line.name for line in lines] == ["mine"]


@pytest.mark.parametrize(
    ("value", "text"), [(-0.04, "0.0"), (0.0, "0.0"), (0.04, "0.0"), (-0.06, "−0.1"), (1.26, "+1.3")]
)
def test_a_difference_that_rounds_to_nothing_has_no_sign(value: float, text: str) -> None:
    assert signed(value) == text


def test_what_is_not_fair_is_said() -> None:
    backbones = [Backbone("mine", "yours", cautions=("web data", "384 pixels"))]
    data = run(like("d-CLIP"), published="cog-v2", backbones=backbones)
    assert "Not a fair comparison: mine (web data, 384 pixels)." in published_sections(data, summary(data))[0].sentences


def test_other_concepts_are_not_set_beside_imagenet() -> None:
    data = run(like("ResNet50"))
    assert published_sections(data, summary(data)) == []


def test_a_part_of_the_domains_has_no_rank_but_a_place() -> None:
    some = {key: value for key, value in like("ResNet50").items() if key[0] in ("l1", "l5") and key[2] in (8, None)}
    data = run(some, published="cog-v2")
    assert [section.name for section in published_sections(data, summary(data))] == ["published", "published-few-shots"]


def test_samples_that_make_up_for_a_level() -> None:
    values: dict[Key, float] = {}
    for shots in (1, 2, 4, 8, 16):
        values["l1", "logistic", shots, "top1"] = 0.4 + 0.1 * np.log2(shots)
        values["l5", "logistic", shots, "top1"] = 0.3 + 0.1 * np.log2(shots)
    section = sample_section(data := run(values), summary(data))
    assert section is not None
    assert section.plots[0].series[0].y == pytest.approx([2, 3])
    assert section.sentences == ["What 4 samples a concept give mine on L1 takes about 8 on L5."]


def test_a_level_out_of_reach_leaves_a_hole() -> None:
    values: dict[Key, float] = {}
    for shots in (1, 2, 4):
        values["l1", "logistic", shots, "top1"] = 0.6
        values["l2", "logistic", shots, "top1"] = 0.1
    section = sample_section(data := run(values), summary(data))
    assert section is not None
    assert section.plots[0].series[0].y[1] is None
    assert "more than 4 on L2" in section.sentences[0]


def test_sections_of_the_extended_probes() -> None:
    values: dict[Key, float] = {}
    for place, domain in enumerate(("in1k", "l5")):
        fall = 0.1 * place
        values |= {
            (domain, "logistic", None, "top1"): 0.7 - fall,
            (domain, "pca-32", None, "top1"): 0.5 - fall,
            (domain, "pca-64", None, "top1"): 0.695 - 2 * fall,
            (domain, "mlp", None, "top1"): 0.72 - fall,
            (domain, "linear-twin", None, "top1"): 0.70 - 1.5 * fall,
            (domain, "k-means", None, "purity"): 0.5 - fall,
            (domain, "k-means", None, "ami"): 0.4,
            (domain, "geometry", None, "alignment"): 0.8,
            (domain, "geometry", None, "uniformity"): 3.2 - 12 * fall,
        }
    data = run(values)
    sections = extended_sections(data, summary(data))
    assert [section.name for section in sections] == ["dimensions", "networks", "clusters", "geometry"]
    dimensions, networks, clusters, geometry = sections
    assert [text for _, text in dimensions.plots[0].x_ticks] == ["32", "64", "all"]
    assert dimensions.sentences == [
        "To keep all but a point of its accuracy, mine needs 64 components on IN-1K and more than 64 on L5."
    ]
    assert networks.plots[0].series[0].y == pytest.approx([2, 7])
    assert "purity of 50.0% on IN-1K and 40.0% on L5" in clusters.sentences[0]
    assert geometry.plots[1].series[0].y == pytest.approx([1, 1.6])


def test_without_such_probes_there_are_no_such_sections() -> None:
    data = run(like("ResNet50"))
    assert extended_sections(data, summary(data)) == []
    assert concept_section(data) is None


def test_the_line_through_concepts_is_the_binomial_fit() -> None:
    rng = np.random.default_rng(0)
    similarity = rng.uniform(0.1, 0.9, 2 * SHOWN)
    right = rng.binomial(50, 1 / (1 + np.exp(-(0.3 + 2 * similarity))))
    concepts = [
        ConceptAccuracy("mine", "l1", f"<b>{i}", float(s), int(k), 50)
        for i, (s, k) in enumerate(zip(similarity, right, strict=True))
    ]
    section = concept_section(run({("l1", "logistic", None, "top1"): 0.5}, concept_accuracy=concepts))
    assert section is not None
    points, line, _ = section.plots[0].series
    assert len(points.x) == SHOWN
    middle = len(line.x) // 2
    assert line.y[middle] == pytest.approx(100 / (1 + np.exp(-(0.3 + 2 * line.x[middle]))), abs=1.5)
    assert "+0.2" in section.sentences[0]


def test_concepts_of_one_similarity_have_no_line() -> None:
    concepts = [ConceptAccuracy("mine", "l1", str(i), 0.5, i % 10, 10) for i in range(20)]
    assert concept_section(run({("l1", "logistic", None, "top1"): 0.5}, concept_accuracy=concepts)) is None
