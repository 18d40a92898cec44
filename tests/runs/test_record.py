"""What `run.json` says: every field comes back, and other formats are refused in a sentence."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.papers.comparability import ScoredData
from unseen.probes.job import Job
from unseen.probes.protocol import COG_V2, COG_V2_SHORT
from unseen.runs.cautions import caution
from unseen.runs.data import Backbone, Domain, Example, RunData, Step
from unseen.runs.flaws import Flaw
from unseen.runs.merge import merge_runs
from unseen.runs.notices import notice, told
from unseen.runs.provenance import provenance
from unseen.runs.record import FORMAT, MEASURED, RUN, extend_run, read_record, refuse_other_run, write_run
from unseen.runs.setup import (
    Extraction,
    FeatureKey,
    ImagesUsed,
    LevelsUsed,
    ProtocolUsed,
    Setup,
    SplitsUsed,
)

ABOUT = BackboneAbout("timm:x", "x.in1k", "layer3", "avg", 8, 1000, Transform(), "d" * 64)
MADE = Extraction(ABOUT, "half", fast=False, exif=False)
PATCHES = replace(MADE, backbone=replace(ABOUT, pool="patches"))
FULL = RunData(
    title="t",
    scores=(),
    domains=[Domain("l1", "L1", False, 0.5, ["a (n1)"], [Example(b"png", "a cat")], 3, 20, "CC BY 4.0", shifted=True)],
    backbones=[
        Backbone(
            "b", "yours", "8 features", [caution("layer", layer="layer3")], 0.5, ["web"], MADE, PATCHES, ABOUT, "c" * 64
        )
    ],
    baseline="b",
    told=[
        notice("short-protocol", protocol="cog-v2-short", trials=10, epochs=30),
        notice("told", "in1k", text="in1k is so."),
    ],
    steps=[Step("rule", 1, 2)],
    protocols=[ProtocolUsed.of("logistic", COG_V2)],
    levels=LevelsUsed("cog-v2", "0" * 16),
    splits=SplitsUsed(0, 50, 1300),
    images=[ImagesUsed("l1", "train", 13_153_500, "imagenet-21k-winter-2021", blurred=False, pool=True)],
    seeds=[0, 1],
    remarks={"machine": "two cores"},
    published="cog-v2",
    flaws=[Flaw("zero-rows", "b", "l1", "train", 1, 2, ("0",))],
    scored=[ScoredData("b", "l1", "cog-v2", 3, {"train": 20, "test": 5}, "ours")],
    features=[FeatureKey("b", "l1", {"train": "k", "test": "q"}, {"train": "train.npz"})],
)


def jobs(*names: str) -> list[Job]:
    return [Job("logistic", 1, "b", name) for name in names]


def rewrite(folder: Path, **changes: object) -> None:
    record = json.loads((folder / RUN).read_text()) | changes
    (folder / RUN).write_text(json.dumps({key: value for key, value in record.items() if value is not None}))


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_run(tmp_path, FULL, ["k"])
    data, keys = read_record(tmp_path)
    assert (replace(data, written=None), keys) == (FULL, ["k"])
    record = json.loads((tmp_path / RUN).read_text())
    assert record.keys() == {field.name for field in fields(RunData)} - {*MEASURED} | {"format", "keys"}


def test_it_says_when_with_what_and_where_it_was_written(tmp_path: Path) -> None:
    write_run(tmp_path, FULL, [job.key for job in jobs("k")])
    content = (tmp_path / RUN).read_bytes()
    extend_run(tmp_path, FULL, jobs("k"))
    assert (tmp_path / RUN).read_bytes() == content  # nothing was added, and nothing changed
    rewrite(tmp_path, written={"first": "2020-01-01T00:00:00Z", "last": "2020-01-01T00:00:00Z", "versions": {},
                               "device": "", "command": ""})  # fmt: skip
    extend_run(tmp_path, FULL, jobs("more"))
    data, keys = read_record(tmp_path)
    assert keys == [job.key for job in jobs("k", "more")]
    assert data.written
    assert data.written.first == "2020-01-01T00:00:00Z" < data.written.last
    assert {"unseen", "torch", "numpy"} <= data.written.versions.keys()
    assert data.written.device
    shown = provenance(data)
    assert shown["date"].startswith("2020-01-01 00:00 UTC, last changed 20")
    assert {"versions", "device"} <= shown.keys()


def other(**changes: Any) -> Backbone:
    return replace(FULL.backbones[0], **changes)


@pytest.mark.parametrize(
    ("planned", "field", "first", "second"),
    [
        (Setup(protocols=[ProtocolUsed.of("logistic", COG_V2_SHORT)]), "protocol", "cog-v2", "cog-v2-short"),
        (Setup(protocols=[ProtocolUsed.of("logistic", COG_V2.sequential)]), "round_size", "10", "1"),
        (Setup(levels=LevelsUsed("mine", "1" * 16)), "levels", "cog-v2, 0000000000000000", "mine, 1111111111111111"),
        (Setup(splits=SplitsUsed(0, 50, 732)), "max_train of the splits", "1300", "732"),
        (Setup(images=[ImagesUsed("l2", "test", 7, pool=True)]), "number of the images of the levels", "13153500", "7"),
        (Setup(extractions={"b": replace(MADE, precision="single")}), "precision of b", "half", "single"),
        (
            Setup(extractions={"b": replace(MADE, backbone=replace(ABOUT, transform=Transform(resize=None)))}),
            "resize of b", "224", "none",
        ),
        (Setup(patches={"b": replace(PATCHES, fast=True)}), "fast decoding of the patches of b", "False", "True"),
        (Setup(finetunings={"b": replace(ABOUT, pool="cls")}), "pooling of b in fine-tuning", "avg", "cls"),
        (Setup(features=[FeatureKey("b", "l1", {"test": "other"})]), "test features of l1 by b", "q", "other"),
        (Setup(limits={"l1": None}), "key limit on l1", "20", "none"),
    ],
)  # fmt: skip
def test_another_run_is_refused_with_the_field_and_both_values(
    tmp_path: Path, planned: Setup, field: str, first: str, second: str
) -> None:
    write_run(tmp_path, FULL, ["k"])
    with pytest.raises(UserError) as raised:
        refuse_other_run(tmp_path, planned)
    assert field in str(raised.value)
    assert f"({first}, not {second})" in str(raised.value)


def test_what_one_part_does_not_know_is_no_difference(tmp_path: Path) -> None:
    write_run(tmp_path, FULL, ["k"])
    unknown = other(features=Extraction(BackboneAbout(weights="x.in1k")), finetuning=None, training_data=None)
    bare = RunData("t", (), [replace(FULL.domains[0])], [unknown], "b")
    extend_run(tmp_path, bare, jobs("k2"))
    data, _ = read_record(tmp_path)
    assert (data.levels, data.splits, list(data.protocols)) == (FULL.levels, FULL.splits, FULL.protocols)
    assert (data.backbones[0].finetuning, data.backbones[0].training_data) == (ABOUT, ["web"])


@pytest.mark.parametrize("format_", range(1, FORMAT))
def test_a_run_of_an_earlier_format_is_refused_and_its_features_are_offered(tmp_path: Path, format_: int) -> None:
    write_run(tmp_path, FULL, ["k"])
    rewrite(tmp_path, format=format_)
    with pytest.raises(UserError) as raised:
        read_record(tmp_path)
    assert f"format {format_}" in str(raised.value)
    assert str(tmp_path / "features") in str(raised.value)


def test_merged_runs_say_what_all_say_once_and_name_who_says_the_rest() -> None:
    first = replace(FULL, told=[told("One."), told("Two.")])
    second = replace(FULL, told=[told("Two.")])
    merged = merge_runs([("a", first), ("b", second)])
    assert {each.sentence: each.runs for each in merged.told} == {"One.": ("a",), "Two.": ()}
    assert merged.notice == "a: One. Two."
    assert provenance(merged).keys() == {f"{run}: {label}" for run in "ab" for label in provenance(FULL)}


def test_runs_whose_probes_have_other_settings_are_not_merged() -> None:
    def knn(temperature: float, **more: float) -> RunData:
        settings = {"temperature": temperature, "k": "20", **more}
        return replace(FULL, protocols=[*FULL.protocols, ProtocolUsed("knn", "", settings)])

    merge_runs([("a", knn(0.07)), ("b", knn(0.07)), ("c", FULL)])
    merge_runs([("a", knn(0.07, arithmetic=16)), ("b", knn(0.07, arithmetic=32))])  # of two kinds of device
    with pytest.raises(UserError, match=r"knn\.temperature \(0\.07 and 0\.1\)"):
        merge_runs([("a", FULL), ("b", knn(0.07)), ("c", knn(0.1))])


LIKE = {"a": 0.2, "b": 0.5, "c": 0.3, "d": None}


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("b", "a", "ba"),  # levels come by similarity, whichever was run first
        ("a", "b", "ba"),
        ("ab", "", "ab"),  # the user's own order stays
        ("ab", "ab", "ab"),
        ("ab", "bc", "abc"),
        ("bca", "d", "bcad"),
        ("da", "b", "dab"),
        ("d", "a", "ad"),
    ],
)
def test_domains_stay_in_the_order_of_the_first_run(first: str, then: str, expected: str, tmp_path: Path) -> None:
    def part(names: str) -> RunData:
        domains = [Domain(name, name, similarity=LIKE[name]) for name in names]
        return RunData("t", (), [Domain("seen", "seen", seen=True), *domains], [Backbone("b", "yours")], "b")

    for names in (first, then):
        extend_run(tmp_path, part(names), jobs("k"))
    assert [domain.name for domain in read_record(tmp_path)[0].domains] == ["seen", *expected]
    merged = merge_runs([("one", part(first)), ("two", part(then))])
    assert [domain.name for domain in merged.domains] == ["seen", *expected]
