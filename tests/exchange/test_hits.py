"""Hits in results files: those of the run if asked for, checked against the scores, and named where they lack."""

import json
import shutil
from base64 import urlsafe_b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from build_results_schema import schema_text
from studies import run_of, study_of
from unseen.errors import UserError
from unseen.exchange.check import check_results
from unseen.exchange.export import export_runs
from unseen.exchange.hits import hits_size, record_hits, why_no_hits
from unseen.exchange.read import read_results_file
from unseen.exchange.record import ResultRecord
from unseen.probes.units import CORRECT
from unseen.runs.kept_units import kept_units
from unseen.runs.means import Means
from unseen.runs.record import read_results
from unseen.runs.results import RESULTS


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two probes that classify, with all samples and with shots, and one that does not."""
    folder = tmp_path_factory.mktemp("exported")
    rng = np.random.default_rng(0)
    (folder / "pets").mkdir()
    for name in ("train", "val", "test"):
        y = rng.permutation(np.arange(120) % 4)
        np.savez(folder / "pets" / f"{name}.npz", X=np.eye(4)[y] + rng.random((120, 4)), y=y, classes=list("abcd"))
    study = study_of(datasets=["pets"], probes=["knn", "ridge", "kmeans"], shots=["all", 5], seeds=2)
    run_of(study.replace(knn={"k": [1, 5]}), folder / "run", features=folder, means=Means(1))
    return folder / "run"


@pytest.fixture
def exported(run: Path, tmp_path: Path) -> Path:
    export_runs([run], tmp_path / "results.json", hits=True)
    return tmp_path / "results.json"


def test_hits_are_those_of_the_run(run: Path, exported: Path) -> None:
    records = read_results_file(exported).records
    found = {(each.variant, each.shots, each.seed): each for of in records for each in record_hits(of)}
    results = [each for each in read_results(run) if each.job["probe"] != "kmeans"]
    kept = [each for result in results for each in kept_units(run / RESULTS, result)]
    assert found.keys() == {(each.variant, each.shots, each.seed) for each in kept}
    for each in kept:
        own = found[each.variant, each.shots, each.seed]
        assert np.array_equal(own.arrays[CORRECT], each.arrays[CORRECT])
        assert own.images is not None
        assert each.images is not None
        assert own.images.difference(each.images) == ""
        assert own.scores == pytest.approx(each.scores)
    assert hits_size(records) > len(kept) * 120 / 6
    assert [each.severity for each in check_results(exported) if "hits" in each.text] == []
    validator = Draft202012Validator(json.loads(schema_text()))
    assert list(validator.iter_errors(json.loads(exported.read_text()))) == []


def test_files_without_hits_say_so(run: Path, tmp_path: Path) -> None:
    file = export_runs([run], tmp_path / "results.json")
    assert all(not each.hits for each in file.records)
    assert hits_size(file.records) == 0
    assert record_hits(file.records[0]) == []
    assert "export the run again with them" in why_no_hits(file.records[0])


def test_hits_of_results_that_have_none_are_left_out(run: Path, tmp_path: Path) -> None:
    """As of an earlier version."""
    copy = shutil.copytree(run, tmp_path / "run")
    for path in (copy / RESULTS).glob("*.json"):
        record = json.loads(path.read_text())
        for fit in record["values"]["fits"]:
            fit["details"].pop(CORRECT, None)
        path.write_text(json.dumps(record))
    assert all(not each.hits for each in export_runs([copy], tmp_path / "r.json", hits=True).records)


def changed(record: ResultRecord, **changes: Any) -> ResultRecord:
    return replace(record, hits=[replace(record.hits[0], **changes)])


def test_damaged_hits_are_refused(exported: Path, tmp_path: Path) -> None:
    record = next(each for each in read_results_file(exported).records if each.hits)
    [hits], first = record.hits, record.hits[0].fits[0]
    other = urlsafe_b64encode(bytes(15)).decode()
    broken: list[dict[str, Any]] = [
        {"images": 119}, {"images": 0}, {"images": 1 << 40}, {"labels": ""}, {"labels": "x"},
        {"labels": hits.labels[:20]}, {"classes": ["a"]},
        *({"fits": [replace(first, **each)]} for each in ({"correct": "x"}, {"correct": other}, {"seed": 7})),
    ]  # fmt: skip
    for each in broken:
        with pytest.raises(UserError, match="hits of .* are damaged"):
            record_hits(changed(record, **each))
    text = json.loads(exported.read_text())
    own = next(each for each in text["records"] if each["hits"])
    own["hits"][0]["fits"][0]["correct"] = other
    exported.write_text(json.dumps(text))
    assert any(each.severity == "error" and "damaged" in each.text for each in check_results(exported))
