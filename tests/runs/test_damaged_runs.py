"""A run folder with anything in it is read, or is one sentence that names the file and the key."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from run_folders import write_concept_run
from test_record import FULL, rewrite

from unseen.errors import UserError
from unseen.runs.data import Backbone
from unseen.runs.provenance import provenance
from unseen.runs.record import FORMAT, RUN, read_record, read_run, write_run
from unseen.runs.results import RESULTS, read_result

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": FORMAT + 1}, f"has format {FORMAT + 1}, which this version of unseen does not know; update unseen"),
        ({"format": None}, "has format None"),
        ({"format": True}, "has format True, which this version of unseen does not know"),
        ({"told": [{"code": "new", "arguments": [], "domain": "", "runs": []}]}, "unknown to this version (new)"),
        ({"told": [{"code": "few-images", "arguments": [], "domain": "", "runs": []}]}, "lacks 'of'"),
        ({"told": [{"code": "few-images"}]}, "run.json, told, item 1: the key 'arguments' is missing"),
        ({"title": None}, "run.json: the key 'title' is missing"),
        ({"titel": "t"}, "run.json: unknown key 'titel'; did you mean title"),
        ({"levels": {"name": "x", "hash": 7}}, "run.json, levels, hash: must be text, not 7"),
        ({"seeds": [0, "1"]}, 'run.json, seeds, item 2: must be a whole number, not "1"'),
        ({"study": "tasks"}, "run.json: unknown key 'study'"),
        ({"keys": "k"}, 'run.json, keys: must be a list, not "k"'),
        ({"domains": []}, "no domains"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    write_run(tmp_path, FULL, ["k"])
    rewrite(tmp_path, **changes)
    with pytest.raises(UserError) as raised:
        read_record(tmp_path)
    assert message in str(raised.value)


@pytest.mark.parametrize("content", ["", "{", "[]", "7", "[" * 100_000, '{"format": 3, "title": "\\ud800"}', "\x00"])
def test_a_file_that_is_no_record_is_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / RUN).write_text(content)
    with pytest.raises(UserError, match=r"run\.json: damaged"):
        read_record(tmp_path)


def replaced(record: Any, path: list[int], value: Any) -> Any:
    """A record with another value somewhere inside, wherever the numbers lead."""
    if not path or not isinstance(record, dict | list) or not record:
        return value
    keys = sorted(record) if isinstance(record, dict) else range(len(record))
    key = keys[path[0] % len(keys)]
    new = dict(record) if isinstance(record, dict) else list(record)
    new[key] = replaced(record[key], path[1:], value)
    return new


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(tmp_path, FULL, ["k"])
    return tmp_path


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(path=st.lists(st.integers(0, 40), min_size=1, max_size=5), value=JSON)
def test_a_changed_record_is_read_or_refused_in_a_sentence(folder: Path, path: list[int], value: Any) -> None:
    place = folder / "changed"
    place.mkdir(exist_ok=True)
    record = json.loads((folder / RUN).read_text())
    (place / RUN).write_text(json.dumps(replaced(record, path, value)))
    try:
        data = read_run(place)
    except UserError as error:
        assert RUN in str(error)
    else:
        assert isinstance(provenance(data), dict)
        assert isinstance(data.notices, list)


@pytest.mark.parametrize("content", ["{", "[]", "[" * 100_000, "{}", '{"key": "k", "job": 1}'])
def test_a_damaged_result_counts_as_none(folder: Path, content: str) -> None:
    (folder / RESULTS).mkdir()
    (folder / RESULTS / "k.json").write_text(content)
    assert read_result(folder / RESULTS, "k") is None


@pytest.mark.parametrize("value", [None, [], [[]], {}, "x", -1, 7, 10**400, float("nan"), True, [{"place": 1}]])
def test_values_of_a_result_are_sound_or_refused_in_a_sentence(tmp_path: Path, value: Any) -> None:
    write_concept_run(tmp_path, [Backbone("a", "x")], lambda *_: 0.5, domains=["in1k"], seeds=1)
    [path] = (tmp_path / RESULTS).glob("*.json")
    record = json.loads(path.read_text())
    values, [fit] = record["values"], record["values"]["fits"]
    details = fit["details"] | {"correct": b64encode(b"\xf0").decode(), "images": 8}
    fit |= {"details": details, "interval": 0.1, "samples": {"fewest": 1, "median": 1, "most": 1}}
    inside_fits = [
        *({**fit, name: value} for name in fit),
        *({**fit, "values": fit["values"] | {name: value}} for name in fit["values"]),
        *({**fit, "details": details | {name: value}} for name in details),
        *({**fit, "samples": fit["samples"] | {name: value}} for name in fit["samples"]),
    ]
    damaged = [values | {name: value} for name in (*values, "zero_rows")]
    for each in [*damaged, *({**values, "fits": [fit]} for fit in inside_fits)]:
        path.write_text(json.dumps(record | {"values": each}))
        try:
            data = read_run(tmp_path)
        except UserError as error:
            assert path.name in str(error)
        else:
            assert all(0 <= score.value <= 1 for score in data.scores)


def test_a_result_that_contradicts_its_own_images_is_refused(tmp_path: Path) -> None:
    write_concept_run(tmp_path, [Backbone("a", "x")], lambda *_: 0.5, domains=["in1k"], seeds=1)
    [path] = (tmp_path / RESULTS).glob("*.json")
    record = json.loads(path.read_text())
    for bits, sound in ((b"\xf0", True), (b"\xff", False), (b"\0", False)):
        record["values"]["fits"][0]["details"] |= {"correct": b64encode(bits).decode(), "images": 8}
        path.write_text(json.dumps(record))
        if sound:
            assert len(read_run(tmp_path).scores) == 2
        else:
            with pytest.raises(UserError, match="differs from that of its own images"):
                read_run(tmp_path)
