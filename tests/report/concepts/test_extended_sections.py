"""Sections on the probes of ImageNet-CoG's first version, beside the numbers that it printed."""

from dataclasses import replace

import pytest
from section_runs import DOMAINS, Key, extended_sections, named, run

from unseen.report.core.model import Figure, Series
from unseen.runs.data import RunData

MODELS = {"ResNet50", "d-Semi-Sup", "d-Semi-Weakly-Sup", "s-MoCo-v2", "s-SwAV", "s-SimCLR-v2", "s-BYOL"}


def extended(domains: list[str], **more: object) -> RunData:
    values: dict[Key, float] = {}
    for domain in domains:
        values |= {
            (domain, "logistic", None, "top1"): 0.7,
            (domain, "pca-32", None, "top1"): 0.5,
            (domain, "pca-256", None, "top1"): 0.69,
            (domain, "mlp", None, "top1"): 0.72,
            (domain, "mlp-linear", None, "top1"): 0.70,
            (domain, "kmeans", None, "purity"): 0.5,
            (domain, "kmeans", None, "ami"): 0.4,
        }
    return run(values, **more)


def thin(plot: Figure) -> dict[str, Series]:
    return {series.name: series for series in plot.series if not series.strong}


def test_sections_of_the_extended_probes() -> None:
    values: dict[Key, float] = {}
    for place, domain in enumerate(("in1k", "l5")):
        fall = 0.1 * place
        values |= {
            (domain, "logistic", None, "top1"): 0.7 - fall,
            (domain, "pca-32", None, "top1"): 0.5 - fall,
            (domain, "pca-64", None, "top1"): 0.695 - 2 * fall,
            (domain, "mlp", None, "top1"): 0.72 - fall,
            (domain, "mlp-linear", None, "top1"): 0.70 - 1.5 * fall,
            (domain, "kmeans", None, "purity"): 0.5 - fall,
            (domain, "kmeans", None, "ami"): 0.4,
            (domain, "geometry", None, "alignment"): 0.8,
            (domain, "geometry", None, "uniformity"): 3.2 - 12 * fall,
        }
    data = run(values)
    sections = extended_sections(data)
    assert [section.name for section in sections] == ["dimensions", "networks", "clusters", "geometry"]
    dimensions, networks, clusters, geometry = sections
    assert [text for _, text in dimensions.figures[0].x_ticks] == ["32", "64", "all"]
    assert dimensions.sentences == [
        "To stay within one point of its full accuracy, mine needs 64 components on IN-1K and more than 64 on L5."
    ]
    assert {series.name: (series.y, series.variant) for series in networks.figures[0].series} == {
        "mine, mlp": (pytest.approx([100 * 2 / 70, 100 * 2 / 60]), 0),
        "mine, mlp-linear": (pytest.approx([0, -100 * 5 / 60], abs=1e-9), 1),
    }
    assert networks.figures[0].zero
    assert networks.sentences == [
        "Relative to the accuracy of the linear probe, mine gains with two hidden layers +2.9% on IN-1K and +3.3% on "
        "L5; with the same layers without activations 0.0% on IN-1K and −8.3% on L5."
    ]
    assert clusters.sentences == ["Clusters of mine have a purity of 50.0% on IN-1K and a purity of 40.0% on L5."]
    by_title = {plot.title: plot.series[0].y for plot in geometry.figures}
    assert by_title == {
        "Alignment": pytest.approx([0.8, 0.8]),
        "Uniformity": pytest.approx([3.2, 2.0]),
        "Alignment against uniformity": pytest.approx([0.8, 0.8]),
        "Their ratio": pytest.approx([1, 1.6]),
    }


def test_clusters_of_several_shots_are_those_of_most_samples() -> None:
    # The setting is part of a clustering: with two of them, each point and sentence had two numbers.
    values: dict[Key, float] = {
        (domain, "kmeans", shots, "purity"): value + (shots or 9) / 100
        for domain, value in (("in1k", 0.5), ("l5", 0.4))
        for shots in (5, 10, None)
    }
    for dropped, purity in ((0, [59, 49]), (None, [60, 50])):
        kept = {key: value for key, value in values.items() if key[2] != dropped}
        section = named(run(kept, published="cog-v1"), "clusters")
        [own] = [series for series in section.figures[0].series if series.strong]
        assert own.y == pytest.approx(purity)
        assert f"{purity[0]}.0% on IN-1K" in section.sentences[0]
        assert ("10 samples" in section.note) == (dropped is None)
        assert bool(thin(section.figures[0])) == (dropped == 0)  # what was printed is of all images


def test_without_the_regression_the_two_networks_are_compared() -> None:
    values: dict[Key, float] = {
        (domain, probe, shots, "top1"): value
        for domain, fall in (("in1k", 0.0), ("l5", 0.1))
        for probe, shots, value in (
            ("mlp", None, 0.72 - fall), ("mlp-linear", None, 0.70 - 1.5 * fall), ("logistic", 8, 0.4)
        )
    }  # fmt: skip
    data = run(values, ["mine", "other"], published="cog-v1")
    section = named(data, "networks")
    assert [plot.y_label for plot in section.figures] == ["MLP minus the same MLP without activations (points)"]
    assert [series.y for series in section.figures[0].series] == [pytest.approx([2, 7])] * 2
    assert section.sentences[0] == (
        "For mine, two hidden layers add +2.0 points on IN-1K and +7.0 points on L5 over the same layers without "
        "activations; this run has no scores of the linear probe with all samples to compare with."
    )
    # A backbone that has them is relative to them, the other still has its difference.
    more = run({(d, "logistic", None, "top1"): 0.5 for d in ("in1k", "l5")}, ["mine"])
    both = replace(data, scores=[*data.scores, *more.scores])
    relative, differences = named(both, "networks").figures
    assert {series.name for series in relative.series if series.strong} == {"mine, mlp", "mine, mlp-linear"}
    assert [series.name for series in differences.series] == ["other"]


def test_a_run_of_the_first_levels_has_all_that_was_printed_behind_it() -> None:
    data = extended(DOMAINS, published="cog-v1")
    dimensions, networks, clusters = extended_sections(data)
    # Table 5 of the first version: ResNet50 on IN-1K with 32, 256 and all of its 2048 components; SwAV on L5.
    assert [plot.title for plot in dimensions.figures] == ["IN-1K", "L1", "L2", "L3", "L4", "L5"]
    assert set(thin(dimensions.figures[0])) == MODELS
    assert thin(dimensions.figures[0])["ResNet50"].y == pytest.approx([63.7, 75.4, 75.8])
    assert [text for _, text in dimensions.figures[0].x_ticks] == ["32", "256", "all"]
    # Table 3: MoCo-v2 and its twin without activations on IN-1K and L1 to L5.
    assert set(thin(networks.figures[0])) == {f"{model}, {name}" for model in MODELS for name in ("mlp", "mlp-linear")}
    swav = thin(networks.figures[0])["s-SwAV, mlp"]
    assert (swav.x, swav.dash, swav.y[0]) == ([0, 1, 2, 3, 4, 5], "solid", pytest.approx(1.1))
    assert thin(networks.figures[0])["ResNet50, mlp-linear"].dash == "dash"
    assert thin(networks.figures[0])["ResNet50, mlp-linear"].y[:4] == pytest.approx([-0.2, 0.5, 0.8, 0.3])
    # Table 6: purity in percent, AMI as it is printed.
    purity, ami = clusters.figures
    assert thin(purity)["ResNet50"].y[:3] == pytest.approx([65.9, 45.7, 36.1])
    assert set(thin(ami)) == MODELS
    assert max(thin(ami)["ResNet50"].y) < 1
    for section in (dimensions, networks, clusters):
        assert {group for group, *_ in section.groups} == {"reference", "self-supervision", "web data"}
        assert "it does not print deviations" in section.note
        assert "IN-1K alone" not in section.note
        own = [series for plot in section.figures for series in plot.series if series.strong]
        assert {series.backbone for series in own} == {"mine"}


def test_a_run_of_the_final_levels_shares_the_seen_concepts_alone() -> None:
    data = extended(DOMAINS, published="cog-v2")
    for section in extended_sections(data):
        behind = [(plot, series) for plot in section.figures for series in thin(plot).values()]
        assert behind
        if section.name == "dimensions":
            assert {plot.title for plot, _ in behind} == {"IN-1K"}
        else:
            assert {tuple(series.x) for _, series in behind} == {(0.0,)}
        assert "on IN-1K alone, as its levels have other concepts; it does not print deviations" in section.note


@pytest.mark.parametrize(("domains", "kind"), [(DOMAINS, ""), (["l1", "l5"], "cog-v2")])
def test_other_concepts_have_nothing_behind_them(domains: list[str], kind: str) -> None:
    data = extended(domains, published=kind)
    sections = extended_sections(data)
    assert len(sections) == 3
    for section in sections:
        assert all(series.strong for plot in section.figures for series in plot.series)
        assert "first version" not in section.note


@pytest.mark.parametrize(("metric", "text"), [("ami", "an AMI of 0.400"), ("nmi", "an NMI"), ("ari", "an ARI")])
def test_clusters_without_purity_are_told_by_the_title_of_their_metric(metric: str, text: str) -> None:
    data = run({(domain, "kmeans", None, metric): 0.4 for domain in ("in1k", "l5")})
    [sentence] = named(data, "clusters").sentences
    assert text in sentence
    assert "%" not in sentence


def test_geometry_relative_to_the_first_domain_needs_it() -> None:
    values = {
        (domain, "geometry", None, metric): 1.0 for domain in ("in1k", "l1") for metric in ("alignment", "uniformity")
    }
    data = run(values, ["mine", "part"])
    data = replace(data, scores=[s for s in data.scores if (s.backbone, s.domain) != ("part", "in1k")])
    plots = {plot.title: plot.series for plot in named(data, "geometry").figures}
    assert [line.name for line in plots["Their ratio"]] == ["mine"]
    assert [(line.name, line.x) for line in plots["Alignment"]] == [("mine", [0, 1]), ("part", [1])]


def test_retrieval_has_a_figure_for_each_measure() -> None:
    values: dict[Key, float] = {}
    for place, domain in enumerate(("in1k", "l5")):
        values |= {
            (domain, "retrieval", None, metric): 0.5 - 0.1 * place for metric in ("map-at-r", "recall-at-1", "map")
        }
    section = named(run(values), "retrieval")
    assert [plot.title for plot in section.figures] == ["MAP@R", "Recall@1", "Mean average precision"]
    assert [plot.series[0].y for plot in section.figures] == [pytest.approx([50, 40])] * 3
    assert section.sentences == ["mine retrieves with a MAP@R of 50.0% on IN-1K and 40.0% on L5."]


def test_probes_without_a_section_of_their_own_have_a_plot_each() -> None:
    values: dict[Key, float] = {}
    for place, domain in enumerate(("in1k", "l5")):
        values |= {
            (domain, "logistic", None, "top1"): 0.7,
            (domain, "knn-20", None, "top1"): 0.6 - 0.1 * place,
            (domain, "knn-20", None, "top5"): 0.9,
            (domain, "centroids", 5, "top1"): 0.8,
        }
    data = run(values)
    section = named(data, "other-probes")
    plots = {plot.title: plot.series[0].y for plot in section.figures}
    assert plots == {"knn-20": pytest.approx([60, 50]), "centroids, 5 samples per class": pytest.approx([80, 80])}
    assert "With knn-20, mine has 60.0% on IN-1K and 50.0% on L5." in section.sentences
