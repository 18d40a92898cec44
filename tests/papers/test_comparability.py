"""What may be set beside published numbers: the same classes, counts and protocol, and what is told of the rest."""

from dataclasses import replace
from typing import Any

import pytest

from unseen.data.registry import DATASETS, task_sets
from unseen.papers.comparability import ScoredData, compare, published_dataset, published_domain

L5 = {"train": 1_141_662 - 50_000, "test": 50_000}


def level(**changes: Any) -> ScoredData:
    facts = {"protocol": "cog-v2", "classes": 1000, "images": L5, "draw": "given"} | changes
    return ScoredData("mine", "l5", **facts)


@pytest.mark.parametrize(
    ("changes", "codes", "allowed"),
    [
        ({}, [], True),
        ({"draw": "ours"}, ["own-draw"], True),
        ({"draw": "unknown"}, ["unknown-images"], True),
        ({"images": L5 | {"train": 1_091_660}}, ["similar-images"], True),  # two were damaged
        ({"images": L5 | {"test": 49_000}}, ["similar-images"], True),
        ({"images": L5 | {"test": 48_999}}, ["other-images"], False),
        ({"images": {"train": 12_000, "test": 4000}}, ["other-images"] * 2, False),
        ({"images": L5 | {"train": 732_000}, "variant": "class-balanced"}, ["other-variant", "other-images"], False),
        ({"classes": 8, "draw": "ours"}, ["other-classes", "own-draw"], False),
        ({"protocol": "cog-v2-short"}, ["other-protocol"], False),
        ({"protocol": "cog-v2-pruned"}, ["pruned-search"], True),
    ],
)  # fmt: skip
def test_levels(changes: dict[str, Any], codes: list[str], allowed: bool) -> None:
    printed = published_domain("cog-v2", "l5")
    assert printed is not None
    verdict = compare(level(**changes), printed)
    assert [reason.code for reason in verdict.reasons] == codes
    assert verdict.allowed == allowed


def test_what_a_run_does_not_record_is_not_compared() -> None:
    printed = published_domain("cog-v2", "in1k")
    assert printed is not None
    assert not compare(None, printed).allowed
    # ImageNet-1K is nobody's draw.
    whole = ScoredData("mine", "in1k", "cog-v2", 1000, {"train": 1_281_167, "test": 50_000}, "ours")
    assert compare(whole, printed).reasons == ()


def test_only_the_papers_domains_have_published_numbers() -> None:
    assert published_domain("cog-v2", "l6") is None
    assert published_domain("", "l1") is None
    assert published_domain("cog-v1", "l1") != published_domain("cog-v2", "l1")


@pytest.mark.parametrize("name", task_sets())
def test_a_complete_copy_is_the_data_set(name: str) -> None:
    dataset = DATASETS[name]
    whole = ScoredData("mine", name, "ericsson-2021", dataset.classes, dataset.counts, "given")
    assert compare(whole, published_dataset(dataset)).reasons == ()
    few = replace(whole, images=dict.fromkeys(dataset.counts, 6))
    assert {reason.code for reason in compare(few, published_dataset(dataset)).reasons} == {"other-images"}


def test_another_draw_of_validation_images_is_the_same_data() -> None:
    images = {"train": 2944 + 100, "val": 736 - 100, "test": 3669}
    pets = ScoredData("mine", "pets", "ericsson-2021", 37, images, "given")
    assert compare(pets, published_dataset(DATASETS["pets"])).reasons == ()
