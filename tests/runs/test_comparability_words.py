"""What a page says of its place among published models, and what it then shows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from section_runs import like, named, published_sections, run

from unseen.report.concepts.page import write_report
from unseen.runs.comparability_words import comparison_notices
from unseen.runs.data import RunData

FEW = {"train": 12_000, "test": 4000}


def changed(data: RunData, domains: tuple[str, ...], **changes: Any) -> RunData:
    """A run whose scores on some domains are of something else."""
    return replace(data, scored=[replace(s, **changes) if s.domain in domains else s for s in data.scored])


def test_the_authors_own_images_need_no_word() -> None:
    assert comparison_notices(run(like("ResNet50"), published="cog-v2")) == []
    assert comparison_notices(run(like("ResNet50"))) == []  # other levels claim nothing


def test_an_own_draw_of_all_images_stands_among_the_published_with_a_word() -> None:
    data = changed(run(like("ResNet50"), published="cog-v2"), ("in1k", "l1", "l2", "l3", "l4", "l5"), draw="ours")
    [sentence] = comparison_notices(data)
    assert sentence.startswith("Compared with the numbers of ImageNet-CoG, but not expected to agree")
    assert "the test images of L1, L2, L3, L4 and L5 are our own draw" in sentence
    for name in ("published", "ranks"):
        assert sentence in named(data, name).sentences


def test_few_images_and_left_out_concepts_are_not_among_the_published(tmp_path: Path) -> None:
    whole = run(like("ResNet50"), published="cog-v2")
    data = changed(changed(whole, ("l1", "l2"), images=FEW), ("l3", "l4", "l5"), classes=8)
    [sentence] = comparison_notices(data)
    assert sentence == (
        "Not compared with the numbers of ImageNet-CoG: L1 has 12,000 training images, not 1,118,804 (numbers differ "
        "in L2 too); L1 has 4,000 test images, not 50,000 (numbers differ in L2 too); L3 has 8 classes, not 1,000 "
        "(numbers differ in L4 and L5 too)."
    )
    # IN-1K is whole: it alone has a place, and no rank over all domains.
    sections = published_sections(data)
    assert [section.name for section in sections] == ["published", "published-few-shots"]
    assert [text for _, text in sections[0].figures[0].x_ticks] == ["IN-1K"]
    write_report(data, tmp_path / "page.html")
    assert sentence in (tmp_path / "page.html").read_text()


def test_the_short_protocol_is_not_among_the_published() -> None:
    every = ("in1k", "l1", "l2", "l3", "l4", "l5")
    data = changed(run(like("ResNet50"), published="cog-v2"), every, protocol="cog-v2-short", draw="ours")
    assert comparison_notices(data) == [
        "Not compared with the numbers of ImageNet-CoG: the protocol is cog-v2-short, not cog-v2."
    ]
    assert published_sections(data) == []


def test_a_pruned_search_stands_among_the_published_with_its_name_in_the_same_line() -> None:
    every = ("in1k", "l1", "l2", "l3", "l4", "l5")
    data = changed(run(like("ResNet50"), published="cog-v2"), every, protocol="cog-v2-pruned")
    [sentence] = comparison_notices(data)
    assert sentence.startswith("Compared with the numbers of ImageNet-CoG, but not expected to agree")
    assert "the protocol is cog-v2-pruned, not cog-v2" in sentence
    section = named(data, "published")
    assert sentence in section.sentences
    for name in ("published", "ranks", "effective"):
        assert "mine (cog-v2-pruned) " in named(data, name).sentences[0]
    assert "this run, searched with cog-v2-pruned" in section.note
    assert "searched" not in named(run(like("ResNet50"), published="cog-v2"), "published").note


def test_of_several_backbones_those_that_differ_are_named() -> None:
    data = run(like("ResNet50"), ["mine", "other"], published="cog-v2")
    scored = [replace(s, images=FEW) if (s.backbone, s.domain) == ("other", "in1k") else s for s in data.scored]
    data = replace(data, scored=scored)
    [sentence] = comparison_notices(data)
    assert sentence.count("(other)") == 2  # training and test images
    levels = named(data, "published")
    points = {series.name: len(series.x) for series in levels.figures[0].series if series.strong}
    assert points == {"mine": 6, "other": 5}


def test_the_first_versions_numbers_are_not_behind_other_images() -> None:
    values = {("in1k", "kmeans", None, "purity"): 0.5, ("in1k", "logistic", None, "top1"): 0.7}
    data = run(values, published="cog-v2")
    few = changed(data, ("in1k",), images=FEW)
    lines = [len(named(d, "clusters").figures[0].series) for d in (data, few)]
    assert lines == [8, 1]
