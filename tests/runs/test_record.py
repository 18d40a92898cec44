"""What `run.json` says: every field comes back, earlier formats are read, unknown ones refused in a sentence."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from unseen.errors import UserError
from unseen.runs.data import Backbone, Domain, Example, FeatureKey, RunData, Step
from unseen.runs.flaws import Flaw
from unseen.runs.merge import merge_runs
from unseen.runs.notices import SENTENCES, Notice, notice, told
from unseen.runs.record import FORMAT, extend_run, read_record, write_run

FULL = RunData(
    title="t",
    scores=(),
    domains=[Domain("l1", "L1", False, 0.5, ["a (n1)"], [Example(b"png", "a cat")], 3, 20)],
    backbones=[Backbone("b", "yours", "8 features", ["web data"], 0.5, {"features": "weights, layer x"})],
    baseline="b",
    told=[notice("short-protocol", protocol="cog-v2-short", trials=10, epochs=30), told("in1k is so.", "in1k")],
    steps=[Step("rule", 1, 2)],
    provenance={"protocol": "p"},
    published="cog-v2",
    flaws=[Flaw("zero-rows", "b", "l1", "train", 1, 2, ("0",))],
    scored=[],
    features=[FeatureKey("b", "l1", "k")],
    study="tasks",
)


def rewrite(folder: Path, **changes: object) -> None:
    record = json.loads((folder / "run.json").read_text()) | changes
    (folder / "run.json").write_text(json.dumps({key: value for key, value in record.items() if value is not None}))


def test_a_record_comes_back_as_it_was_written(tmp_path: Path) -> None:
    write_run(tmp_path, FULL, ["k"])
    data, keys = read_record(tmp_path)
    assert (data, keys) == (FULL, ["k"])
    record = json.loads((tmp_path / "run.json").read_text())
    measured = {"scores", "concept_accuracy", "concept_hits"}
    assert record.keys() == {field.name for field in fields(RunData)} - measured | {"format", "keys"}


def test_a_run_of_format_1_is_read(tmp_path: Path) -> None:
    write_run(tmp_path, FULL, ["k"])
    text = f"{SENTENCES['blurred-faces']} A short form."
    backbone = {"name": "b", "category": "yours", "description": "", "cautions": []}
    rewrite(
        tmp_path, format=1, notice=text, told=None, study=None, backbones=[backbone],
        features=None, provenance={"ImageNet top-1 of b": "71.5", "backbone b": "w", "features of l1 by b": "k"},
    )  # fmt: skip
    data, _ = read_record(tmp_path)
    assert data.told == [Notice("blurred-faces"), told("A short form.")]
    assert data.notice == text
    assert (data.study, data.backbones[0].imagenet_top1) == ("concepts", pytest.approx(0.715))
    assert data.provenance.keys() == {"backbone b", "features of l1 by b"}
    assert (data.backbones[0].made, data.features) == ({"features": "w"}, [FeatureKey("b", "l1", "k")])
    extended, _ = extend_run(tmp_path, replace(data, told=[notice("blurred-faces")]), ["k2"])
    assert [each.code for each in extended.told] == ["blurred-faces", "told"]
    assert json.loads((tmp_path / "run.json").read_text())["format"] == FORMAT


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format": FORMAT + 1}, f"of format {FORMAT + 1}, .*update unseen"),
        ({"told": [{"code": "new", "arguments": [], "domain": "", "runs": []}]}, r"unknown to this version \(new\)"),
        ({"told": [{"code": "few-images"}]}, "damaged"),
    ],
)
def test_what_this_version_cannot_read_is_one_sentence(tmp_path: Path, changes: dict[str, object], match: str) -> None:
    write_run(tmp_path, FULL, ["k"])
    rewrite(tmp_path, **changes)
    with pytest.raises(UserError, match=match):
        read_record(tmp_path)


def test_merged_runs_say_what_all_say_once_and_name_who_says_the_rest() -> None:
    first = replace(FULL, told=[told("One."), told("Two.")])
    second = replace(FULL, told=[told("Two.")])
    merged = merge_runs([("a", first), ("b", second)])
    assert {each.sentence: each.runs for each in merged.told} == {"One.": ("a",), "Two.": ()}
    assert merged.notice == "a: One. Two."
