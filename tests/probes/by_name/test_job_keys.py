"""The keys of jobs, which name the results of earlier runs: from the definition, by exactly these fields."""

import hashlib
import json
import subprocess
import sys
from typing import Any

import pytest

from unseen.probes.by_name import all_probes, job_kinds
from unseen.probes.by_name.knn import KNN
from unseen.probes.probe import Size, StudyPart
from unseen.probes.protocol import COG_V2
from unseen.runs.job import job_key

FEATURES = {"study": "concepts", "backbone": "b", "domain": "l1", "train": "1", "test": "2"}
SEARCH = {"epochs": 100, "trials": 30, "round_size": 10, "batch": 1024, "momentum": 0.9, "validation": 0.2, "starts": 0}
LOGISTIC = {"name": "cog-v2", "rates": [0.1, 100.0], "decays": [1e-12, 1e-4], **SEARCH}
NETWORK = {"name": "cog-v2", "hidden": [2048, 2048], "decays": [1e-8, 1e-4], **SEARCH}
RELU, PLAIN = {"relu": True, "rates": [0.1, 100.0]}, {"relu": False, "rates": [0.01, 10.0]}
NEIGHBOURS = {"k": 20, "weights": "exponential", "temperature": 0.07}
SEED = {"seed": 7}
ONE = {**SEED, "revision": 1}
PART = StudyPart("concepts", COG_V2, "b", "l1", "1", "2", Size(100, 10, 3, (64,)))


def key(kind: str, **fields: Any) -> str:
    text = json.dumps({"job": kind, **FEATURES, **fields}, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ("logistic", [key("LogisticJob", **SEED, protocol=LOGISTIC, shots=None, products="float32", revision=2)]),
        ("pca", [key("PcaJob", **ONE, protocol=LOGISTIC, dimensions=32, products="float32", logistic_revision=2)]),
        ("mlp", [key("MlpJob", **ONE, protocol=NETWORK | each, arithmetic="float32") for each in (RELU, PLAIN)]),
        ("kmeans", [key("KMeansJob", protocol="cog-v2", seeds=[0, 1, 2], half=False, revision=1)]),
        ("geometry", [key("GeometryJob", protocol="cog-v2", revision=1)]),
        ("knn", [key("ProbeJob", **ONE, name="knn", probe=NEIGHBOURS, protocol="cog-v2", shots=None)]),
    ],
)
def test_keys_are_what_they_were(probe: str, expected: list[str]) -> None:
    assert [job_key(job) for job in all_probes()[probe].jobs(PART, [7])] == expected


def test_settings_and_revisions_of_a_probe_change_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    [job] = KNN.jobs(PART, [7])
    monkeypatch.setattr(KNN, "revision", 2)
    [revised] = KNN.jobs(PART, [7])
    monkeypatch.setattr(KNN, "in_study", classmethod(lambda cls, _: cls(k=5)))
    [other] = KNN.jobs(PART, [7])
    assert len({job_key(job), job_key(revised), job_key(other)}) == 3


def test_reading_scores_needs_no_torch() -> None:
    code = "import sys, unseen.runs.record; from unseen.probes.by_name import job_kinds; print(*job_kinds()); "
    code += "assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == set(job_kinds())
