"""Sections on variants, from runs in the true format that are merged as `unseen report` merges them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from section_runs import sections as all_sections

from unseen.features.about import BackboneAbout
from unseen.report.concepts.level_ways import main_part
from unseen.report.concepts.page import write_report
from unseen.report.core.model import Section
from unseen.runs.data import Backbone, ConceptAccuracy, ConceptHits, Domain, RunData
from unseen.runs.merge import merge_runs
from unseen.runs.score import Score
from unseen.runs.setup import Extraction, FeatureKey, LevelsUsed

LIN = {"in1k": 0.758, "l1": 0.679, "l2": 0.631, "l3": 0.590, "l4": 0.581, "l5": 0.520}
COSINE = {"in1k": 0.758, "l1": 0.66, "l2": 0.64, "l3": 0.63, "l4": 0.62, "l5": 0.60}
EVIL = "<script>alert(1)</script>"


def run(
    accuracy: Mapping[str, float], levels: str, *, backbones: Sequence[str] = ("b",), more: Sequence[Score] = ()
) -> RunData:
    """A run of a backbone whose concepts are named after its levels; two seeds, two points apart."""
    scores = [
        Score("concepts", "cog-v2", name, domain, "logistic", None, seed, "top1", value + 0.02 * (seed - 0.5))
        for name in backbones
        for domain, value in accuracy.items()
        for seed in (0, 1)
    ]
    domains = [
        Domain(
            name,
            "IN-1K" if name == "in1k" else "mean of 15 random sets" if name == "random" else name.upper(),
            seen=name == "in1k",
            similarity=None if name in {"in1k", "random"} else 1 - place / 10,
            concepts=[name if name == "in1k" else f"{name} of {levels}"],
        )
        for place, name in enumerate(accuracy)
    ]
    features = [
        FeatureKey(name, domain, {"train": f"{domain}{'' if domain == 'in1k' else levels}"})
        for name in backbones
        for domain in accuracy
    ]
    kinds = [Backbone(name, "yours", features=Extraction(BackboneAbout(weights=name))) for name in backbones]
    every = [*scores, *more]
    return RunData("A run", every, domains, kinds, backbones[0], levels=LevelsUsed(levels, "0123"), features=features)


def tuned(domain: str, value: float, backbone: str = "b") -> Score:
    return Score("concepts", "cog-v2-finetune", backbone, domain, "fine-tuned", None, 0, "top1", value)


def sections(data: RunData) -> dict[str, Section]:
    return {section.name: section for section in all_sections(data) if section.name in {"fine-tuning", "ways"}}


def test_features_fall_behind_fine_tuning() -> None:
    reference = {"in1k": 0.762, "l1": 0.74, "l5": 0.70}
    data = run(LIN, "cog-v2", more=[tuned(domain, value) for domain, value in reference.items()])
    found = sections(data)
    assert set(found) == {"fine-tuning"}
    relative, absolute = found["fine-tuning"].figures
    assert [text for _, text in relative.x_ticks] == ["IN-1K", "L1", "L5"]
    [line] = relative.series
    assert line.y == pytest.approx([-0.4, -6.1, -18.0])
    assert {series.name: series.y for series in absolute.series} == {
        "b, fine-tuned": pytest.approx([76.2, 74.0, 70.0]),
        "b, features": pytest.approx([75.8, 67.9, 52.0]),
    }
    [sentence] = found["fine-tuning"].sentences
    assert "−0.4 points on IN-1K (75.8% against 76.2%) and −18.0 points on L5 (52.0% against 70.0%)" in sentence


def test_one_domain_is_said_once_and_a_backbone_without_reference_is_left_out() -> None:
    data = run(LIN, "cog-v2", backbones=("b", "c"), more=[tuned("l2", 0.7, "c")])
    section = sections(data)["fine-tuning"]
    assert [line.name for line in section.figures[0].series] == ["c"]
    assert section.sentences == [
        "Relative to fine-tuning, the features of c have −6.9 points on L2 (63.1% against 70.0%)."
    ]
    assert sections(run(LIN, "cog-v2")) == {}


def test_fine_tuning_alone_has_nothing_to_be_set_against() -> None:
    data = run({"l1": 0.5, "l2": 0.4}, "cog-v2", more=[tuned("l1", 0.6)])
    only = replace(data, scores=[score for score in data.scores if score.probe == "fine-tuned"])
    assert sections(only) == {}


def test_levels_made_in_two_ways_and_at_random() -> None:
    runs = [
        ("plain", run(LIN, "cog-v2")),
        ("words", run(COSINE, "cog-v2-cosine")),
        ("draws", run({"in1k": 0.758, "random": 0.61}, "random")),
    ]
    data = merge_runs(runs)
    assert [backbone.name for backbone in data.backbones] == ["b"]  # the same weights, features of other levels
    assert "l5 (words)" in {domain.name for domain in data.domains}
    section = sections(data)["ways"]
    [plot] = section.figures
    assert [text for _, text in plot.x_ticks] == ["IN-1K", "L1", "L2", "L3", "L4", "L5"]
    lines = {series.name: series for series in plot.series}
    assert set(lines) == {"cog-v2", "cog-v2-cosine", "mean of 15 random sets"}
    assert lines["cog-v2"].y == pytest.approx([100 * value for value in LIN.values()])
    assert lines["cog-v2-cosine"].y == pytest.approx([100 * value for value in COSINE.values()])
    assert lines["mean of 15 random sets"].y == pytest.approx([61.0] * 5)
    assert lines["mean of 15 random sets"].x == [1, 2, 3, 4, 5]
    assert len({(series.backbone, series.variant) for series in plot.series}) == 3
    assert section.sentences == [
        "With all samples, b has 67.9% on L1 and 52.0% on L5 of cog-v2; 66.0% on L1 and 60.0% on L5 of cog-v2-cosine; "
        "and 61.0% on the mean of 15 random sets."
    ]
    assert [domain.name for domain in main_part(data).domains] == ["in1k", "l1", "l2", "l3", "l4", "l5"]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_whatever_comes_first_is_called_by_its_own_levels(order: tuple[int, int]) -> None:
    runs = [("plain", run(LIN, "cog-v2")), ("draws", run({"in1k": 0.758, "random": 0.61}, "random"))]
    data = merge_runs([runs[place] for place in order])
    assert {series.name for series in sections(data)["ways"].figures[0].series} == {"cog-v2", "mean of 15 random sets"}


def test_other_levels_of_the_same_name_are_told_apart_by_their_hashes() -> None:
    data = merge_runs([("one", run(LIN, "mine")), ("two", other_concepts(run(COSINE, "mine")))])
    assert [series.name for series in sections(data)["ways"].figures[0].series] == ["mine, 0123", "mine, 4567"]


def other_concepts(data: RunData) -> RunData:
    """The same run with other concepts in its levels, and another hash of them."""
    domains = [d if d.seen else replace(d, concepts=["another"]) for d in data.domains]
    return replace(data, domains=domains, levels=LevelsUsed("mine", "4567"))


def test_parts_of_a_study_and_single_domains_are_no_variants() -> None:
    parts = [{name: LIN[name] for name in names} for names in (("in1k", "l1", "l2"), ("l3", "l4", "l5"))]
    data = merge_runs([(f"machine{number}", run(part, "cog-v2")) for number, part in enumerate(parts)])
    assert sections(data) == {}
    assert main_part(data) == data
    probes = merge_runs([("one", run({"yours": 0.5}, "x")), ("two", run({"yours": 0.6}, "y"))])
    assert [domain.name for domain in probes.domains] == ["yours", "yours (two)"]
    assert sections(probes) == {}
    assert main_part(probes) == probes
    random = run({"in1k": 0.758, "random": 0.61}, "random")
    assert sections(random) == {}
    assert main_part(random) == random


def test_backbones_have_colours_and_ways_dashes() -> None:
    data = merge_runs([(levels, run(LIN, levels, backbones=("b", "c"))) for levels in ("cog-v2", "wu-palmer")])
    lines = sections(data)["ways"].figures[0].series
    assert [line.name for line in lines] == ["b, cog-v2", "b, wu-palmer", "c, cog-v2", "c, wu-palmer"]
    assert lines[0].backbone == lines[1].backbone != lines[2].backbone == lines[3].backbone
    assert lines[0].variant == lines[2].variant != lines[1].variant == lines[3].variant


def test_the_main_part_has_concepts_of_its_own_levels_alone() -> None:
    first, second = (
        replace(
            run(accuracy, levels),
            concept_accuracy=[ConceptAccuracy("b", "l1", f"n{number}", 0.5, number, 10)],
            concept_hits=[ConceptHits("b", "l1", "all", 0, (f"n{number}", "m"), (number, 10), (10, 10))],
        )
        for number, (accuracy, levels) in enumerate(((LIN, "cog-v2"), (COSINE, "cosine")))
    )
    both = merge_runs([("plain", first), ("words", second)])
    assert len(both.concept_accuracy) == 2
    assert [item.concept for item in main_part(both).concept_accuracy] == ["n0"]
    assert set(both.concept_intervals) == {("b", "l1", "all"), ("b", "l1 (words)", "all")}
    assert set(main_part(both).concept_intervals) == {("b", "l1", "all")}


def test_the_page_shows_one_way_first_and_names_are_only_text(tmp_path: Path) -> None:
    data = merge_runs(
        [
            ("plain", run(LIN, "cog-v2", backbones=(EVIL,), more=[tuned("l1", 0.9, EVIL)])),
            (EVIL, run(COSINE, EVIL, backbones=(EVIL,))),
        ]
    )
    write_report(data, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert EVIL not in page
    assert 'id="ways"' in page
    assert 'id="fine-tuning"' in page
    assert "loses 23.8" in page.partition('<section id="levels"')[0]  # 75.8 on IN-1K to 52.0 on the plain L5
