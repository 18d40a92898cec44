"""What is wrong in results files, and what is only unlikely."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from result_records import concept_records

from unseen.data.registry import DATASETS
from unseen.errors import UserError
from unseen.exchange.check import Finding, check_results
from unseen.exchange.contributions import beside_published, read_contributions
from unseen.exchange.export import run_records, write_results
from unseen.exchange.read import run_of_records
from unseen.exchange.record import Interval95, Levels, ResultRecord, ResultsFile
from unseen.papers.comparability import ScoredData
from unseen.papers.concept_generalization import DOMAINS
from unseen.probes.many_shot import ERICSSON_2021
from unseen.probes.protocol import COG_V2, COG_V2_SHORT, LogisticProtocol
from unseen.reading.json_records import plain
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.score import Score
from unseen.runs.setup import ProtocolUsed


def found(folder: Path, records: list[ResultRecord]) -> list[Finding]:
    write_results(ResultsFile("unseen-results", 1, "1", records), folder / "r.json")
    return check_results(folder / "r.json")


def with_score(record: ResultRecord, **changes: Any) -> ResultRecord:
    return replace(record, scores=[replace(record.scores[0], **changes), *record.scores[1:]])


def test_sound_results_of_the_published_kind_give_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, concept_records()) == []


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"value": 1.2, "values": [1.2]}, "range is 0 to 1"),
        ({"value": 0.4}, "mean of its values"),
        ({"values": []}, "0 values for 1 seeds"),
        ({"seeds": [0, 0], "values": [0.4, 0.4], "value": 0.4}, "2 values for 1 seeds"),
        ({"deviation": 0.1}, "standard deviation, but only one value"),
        ({"shots": 0}, "shots below 1"),
        ({"shots": 2_000_000}, "2000000 shots"),
        ({"seeds": [-1]}, "negative seed"),
        ({"intervals": [Interval95("images", 0.4, 0.5)]}, "interval 0.4 to 0.5 over images"),
        ({"intervals": [Interval95("seeds", 0.5, 0.4)]}, "above its upper end"),
        ({"intervals": [Interval95("episodes", 0.4, 0.6)]}, "centred on 0.5"),
        ({"intervals": [Interval95("concepts", 0.1, 0.2)]}, "interval over concepts is 0.1 to 0.2"),
        ({"value": 0.450012, "values": [0.450012], "intervals": []}, "no number of correct images out of 50,000"),
    ],
)
def test_scores_that_cannot_be_are_errors(tmp_path: Path, changes: dict[str, Any], part: str) -> None:
    first, *others = concept_records()
    [finding] = found(tmp_path, [with_score(first, **changes), *others])
    assert (finding.severity, part in finding.text) == ("error", True)
    assert finding.where == "mine, cog-v2, in1k"


@pytest.mark.parametrize("other", [COG_V2_SHORT, replace(COG_V2, validation=0.1)])
def test_settings_that_contradict_the_protocol_are_errors(tmp_path: Path, other: LogisticProtocol) -> None:
    first, *others = concept_records()
    wrong = replace(first, settings={"logistic": ProtocolUsed.of("logistic", other).settings})
    [finding] = found(tmp_path, [wrong, *others])
    assert (finding.severity, finding.where) == ("error", "mine, cog-v2, in1k")
    assert ("those of cog-v2-short" in finding.text) == (other is COG_V2_SHORT)
    with pytest.raises(UserError, match="settings of logistic are not those of cog-v2"):
        read_contributions([tmp_path / "r.json"])
    sequential = replace(first, settings={"logistic": ProtocolUsed.of("logistic", COG_V2.sequential).settings})
    assert found(tmp_path, [sequential, *others]) == []


KEYS = [*ProtocolUsed.of("logistic", COG_V2).settings]


@pytest.mark.parametrize("dropped", [*([key] for key in KEYS), ["trials", "epochs"], KEYS])
def test_settings_that_are_not_stated_are_a_warning_and_not_ranked(tmp_path: Path, dropped: list[str]) -> None:
    records = concept_records(0.1)
    settings = {key: value for key, value in records[0].settings["logistic"].items() if key not in dropped}
    records = [replace(each, settings={"logistic": settings}) for each in records]
    warning, note = found(tmp_path, records)
    assert (warning.severity, note.severity) == ("warning", "note")
    assert all(key in warning.text and key in note.text for key in dropped[:3])
    ranked, why = beside_published(records, DOMAINS)
    assert (ranked, dropped[0] in why) == ([], True)
    without = [replace(each, settings={}) for each in records]
    assert [each.severity for each in found(tmp_path, without)] == ["warning", "note"]
    assert beside_published(without, DOMAINS)[0] == []


def test_settings_that_a_protocol_does_not_have_are_named(tmp_path: Path) -> None:
    records = concept_records()
    settings = records[0].settings["logistic"]
    more = [replace(each, settings={"logistic": {**settings, "augmentation": "strong"}}) for each in records]
    [unknown] = found(tmp_path, more)
    assert (unknown.severity, "augmentation" in unknown.text) == ("warning", True)
    assert beside_published(more, DOMAINS)[0] == more
    renamed = {f"my_{key}": value for key, value in settings.items()}
    other = [replace(each, settings={"logistic": renamed}) for each in records]
    assert [each.severity for each in found(tmp_path, other)] == ["warning", "warning", "note"]
    assert beside_published(other, DOMAINS)[0] == []


@pytest.mark.parametrize(("value", "shown"), [("30", 'the text "30"'), (True, "true"), ([30], "[30]")])
def test_settings_of_another_type_are_shown_as_they_are_written(tmp_path: Path, value: Any, shown: str) -> None:
    first, *others = concept_records()
    wrong = replace(first, settings={"logistic": {**first.settings["logistic"], "trials": value}})
    [finding] = found(tmp_path, [wrong, *others])
    assert (finding.severity, f"trials is {shown}, not 30" in finding.text) == ("error", True)


def test_a_truth_value_is_not_the_number_1(tmp_path: Path) -> None:
    first, *others = concept_records()
    one, true = (
        replace(first, settings={"logistic": {**first.settings["logistic"], "round_size": size}}) for size in (1, True)
    )
    assert found(tmp_path, [one, *others]) == []
    assert [each.severity for each in found(tmp_path, [true, *others])] == ["error"]


def test_records_that_cannot_be_are_errors(tmp_path: Path) -> None:
    first, *others = concept_records()
    stated = replace(first, backbone=replace(first.backbone, imagenet_top1=76.1))
    assert "imagenet_top1 is 76.1" in found(tmp_path, [stated])[0].text
    assert "no records" in found(tmp_path, [])[0].text
    assert "twice" in found(tmp_path, [first, first])[0].text
    levels = replace(first, data=replace(first.data, levels=Levels("cog-v2", "0" * 16)))
    assert "hash" in found(tmp_path, [levels, *others])[0].text
    assert "no scores" in found(tmp_path, [replace(first, scores=[])])[0].text
    for name in ("", " ", "x" * 201):
        assert "name" in found(tmp_path, [replace(first, backbone=replace(first.backbone, name=name))])[0].text


def test_a_score_far_from_all_published_ones_is_a_warning_with_the_numbers(tmp_path: Path) -> None:
    # On L5 with all images the 31 models have 45.8% to 57.6% (Table 10): 75.0 is further above than these are apart.
    warnings = found(tmp_path, concept_records(more=0.23))
    assert {each.severity for each in warnings} == {"warning"}
    [far] = [each.text for each in warnings if each.where == "mine, cog-v2, l5" and "with" not in each.text]
    assert far == "top1 of logistic is 75.0%, but the 31 published models have 45.8% to 57.6%"
    assert found(tmp_path, concept_records(more=0.05)) == []


def test_tasks_are_set_beside_the_tables_of_tasks(tmp_path: Path) -> None:
    dataset = DATASETS["dtd"]
    images = {split: dataset.counts[split] for split in ("train", "val", "test")}

    def records(value: float, **changes: Any) -> list[ResultRecord]:
        scored = replace(ScoredData("m", "dtd", "ericsson-2021", dataset.classes, images, "given"), **changes)
        score = Score("tasks", scored.protocol, "m", "dtd", "linear", None, 0, dataset.metric, value)
        data = RunData(
            "", [score], [Domain("dtd", "DTD", axis="tasks")], [Backbone("m", "")], "m", scored=[scored],
            protocols=[ProtocolUsed.of("linear", ERICSSON_2021)],
        )  # fmt: skip
        return [replace(each, backbone=replace(each.backbone, digest="a")) for each in run_records(data)]

    assert found(tmp_path, records(0.75)) == []
    [far] = found(tmp_path, records(0.2))
    assert "14 published models" in far.text
    for changes in ({"limit": 5}, {"protocol": "other"}, {"classes": 46}):
        notes = found(tmp_path, records(0.2, **changes))
        assert {note.severity for note in notes} == {"note"}
        assert sum("not comparable" in note.text for note in notes) == 1
    unnamed = found(tmp_path, records(0.2, protocol=""))  # as of k nearest neighbours
    assert {note.where for note in unnamed} == {"m, dtd"}
    assert not any("does not know the settings" in note.text for note in unnamed)


def test_what_is_odd_in_itself_is_a_warning(tmp_path: Path) -> None:
    records = concept_records()
    by_name = {each.data.name: each for each in records}
    swapped = [
        replace(each, data=by_name[{"l1": "l5", "l5": "l1"}.get(each.data.name, each.data.name)].data)
        for each in records
    ]
    texts = [each.text for each in found(tmp_path, swapped)]
    assert sum("on L5, above" in text for text in texts) == 2
    low, high = records[5].scores
    turned = replace(records[5], scores=[replace(low, shots=None), replace(high, shots=1)])
    assert any("with 1 shots, but only" in each.text for each in found(tmp_path, [*records[:5], turned]))
    guessing = with_score(records[0], value=0.0001, values=[0.0001], intervals=[])
    assert any("below chance (0.10%)" in each.text for each in found(tmp_path, [guessing]))
    odd = with_score(records[0], metric="unheard-of")
    assert any("does not know" in each.text for each in found(tmp_path, [odd]))
    unfinished = with_score(records[0], seeds=[2])
    assert any("no value for the seed 0" in each.text for each in found(tmp_path, [unfinished]))
    facts = {"lower": 0.0, "upper": 0.1, "higher_is_better": True, "unit": "share"}
    own = replace(odd, settings={**odd.settings, "unheard-of": facts})
    assert any("its range is 0 to 0.1" in each.text for each in found(tmp_path, [own]))
    wide = replace(own, settings={**odd.settings, "unheard-of": facts | {"upper": None}})
    [unchecked] = found(tmp_path, [wide])
    assert (unchecked.severity, "only ranges and means were checked" in unchecked.text) == ("note", True)
    wrong = replace(own, settings={"unheard-of": facts | {"upper": "high"}})
    assert any("does not know" in each.text for each in found(tmp_path, [wrong]))
    place = replace(records[0], backbone=replace(records[0].backbone, description="of /home/jane/x"))
    assert any("a path of the machine" in each.text for each in found(tmp_path, [place]))
    nameless = replace(records[0], backbone=replace(records[0].backbone, digest=None))
    assert any("digest" in each.text for each in found(tmp_path, [nameless]))


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ('{"schema": "unseen-results", "version": 2}', "has version 2 of the schema, but this unseen reads version 1"),
        ('{"schema": "unseen-results", "version": 0}', "has version 0"),
        ('{"schema": "unseen-results", "version": true}', "has version True"),
        ('{"schema": "other"}', "not a results file"),
        ('{"schema": "unseen-results", "version": 1, "unseen": "1"}', "the key 'records' is missing"),
        ('{"schema": "unseen-results", "version": 1, "unseen": "1", "records": [], "x": NaN}', "JSON compliant"),
        ("[]", "it has no keys"),
    ],
)  # fmt: skip
def test_files_of_another_kind_get_one_sentence(tmp_path: Path, content: str, part: str) -> None:
    (tmp_path / "r.json").write_text(content)
    [finding] = check_results(tmp_path / "r.json")
    assert (finding.severity, part in finding.text) == ("error", True)


def places(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a record."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*before, key)
        yield from places(each, (*before, key))


def test_whatever_value_is_damaged_it_is_said_and_no_more(tmp_path: Path) -> None:
    path, draw = tmp_path / "r.json", random.Random(0)
    write_results(ResultsFile("unseen-results", 1, "1", concept_records()[:2]), path)
    whole = path.read_text()
    odd: list[Any] = [None, -1, 10**400, [], {}, {"a": 1}, "x", 0.5, float("nan"), True, "\udcff", 1e308]
    invalid = 0
    for way in places(json.loads(whole)):
        record = json.loads(whole)
        inner = record
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = draw.choice(odd)
        path.write_text(json.dumps(record))
        invalid += any(each.severity == "error" for each in check_results(path))
        with suppress(UserError):
            [run_of_records(each.records) for each in read_contributions([path])]
    assert invalid > 60


def changed(way: tuple[Any, ...], value: Any) -> str:
    """A results file of one record with one value changed."""
    record = plain(ResultsFile("unseen-results", 1, "1", concept_records()[:1]))
    inner: Any = record["records"][0]
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    return json.dumps(record)


SPLITS = {"seed": None, "test": None, "max_train": None, "hash": None}


@pytest.mark.parametrize(
    ("way", "value"),
    [
        (("data", "classes"), 0), (("data", "classes"), 10**18), (("data", "classes"), 10**400),
        (("data", "images"), {"test": -1}), (("data", "images"), {"test": 10**20}), (("data", "images"), {"test": 10}),
        (("data", "limit"), 0), (("data", "similarity"), 1e308), (("data", "splits"), SPLITS | {"test": -1}),
        (("backbone", "dimension"), 0), (("backbone", "dimension"), 10**15), (("backbone", "parameters"), -1),
        (("backbone", "imagenet_top1"), 1.5), (("made", "seconds"), -1.0), (("made", "last"), "yesterday"),
        (("made", "first"), "2026-13-01T00:00:00Z"), (("made", "first"), "2026-01-01T25:00:00Z"),
        (("backbone", "name"), "mine\rforged"), (("data", "title"), "a\nb"), (("scores", 0, "metric"), "\u202etop1"),
    ],
)  # fmt: skip
def test_facts_out_of_range_are_errors(tmp_path: Path, way: tuple[Any, ...], value: Any) -> None:
    (tmp_path / "r.json").write_text(changed(way, value))
    found = check_results(tmp_path / "r.json")
    assert {each.severity for each in found} == {"error"}
    assert all(len(each.text) < 400 and each.text.isprintable() for each in found)


def test_dates_are_in_order(tmp_path: Path) -> None:
    for first, last, wrong in (
        ("2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", True), ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", False),
        ("2026-01-01T01:00:00+02:00", "2026-01-01T00:00:00Z", False), ("2026-01-01", "2026-01-02", False),
    ):  # fmt: skip
        changed_dates = [
            replace(each, made=replace(each.made, first=first, last=last)) for each in concept_records()
        ]  # fmt: skip
        assert any("after last" in each.text for each in found(tmp_path, changed_dates)) == wrong


@pytest.mark.parametrize("key", ["version", "value"])
def test_a_key_that_is_there_twice_is_an_error(tmp_path: Path, key: str) -> None:
    text = changed(("data", "limit"), None)
    (tmp_path / "r.json").write_text(text.replace(f'"{key}": ', f'"{key}": 1, "{key}": ', 1))
    [finding] = check_results(tmp_path / "r.json")
    assert (finding.severity, f"'{key}'" in finding.text) == ("error", True)


@pytest.mark.parametrize("values", [[1.7e308] * 3, [1e308, -1e308, 1.0], [1.7e308]])
def test_the_largest_numbers_do_not_overflow(tmp_path: Path, values: list[float]) -> None:
    facts = {"lower": None, "upper": None, "higher_is_better": True, "unit": "score"}
    first = concept_records()[0]
    ends = [Interval95(over, -1.7e308, 1.7e308) for over in ("seeds", "concepts", "episodes", "images")]
    for intervals in ([], ends):
        odd = with_score(
            replace(first, settings={**first.settings, "mine": facts}), metric="mine", values=values, value=values[0],
            seeds=[*range(len(values))], deviation=0.0 if len(values) > 1 else None, intervals=intervals,
        )  # fmt: skip
        assert any(each.severity == "error" for each in found(tmp_path, [odd])) == (
            bool(intervals) or len({*values}) > 1
        )


def test_a_huge_seed_takes_no_memory(tmp_path: Path) -> None:
    records = concept_records()
    findings = found(tmp_path, [with_score(records[0], seeds=[10**300]), *records[1:]])
    assert [("no value for the seed 0" in each.text, each.severity) for each in findings] == [(True, "warning")]
