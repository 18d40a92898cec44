"""The keys of jobs, which name their results: from the definition, by exactly these fields."""

import hashlib
import json
import os
import pickle
import subprocess
import sys
from base64 import b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from unseen.probes.by_name import all_probes, feature_probes
from unseen.probes.by_name.knn import KNN
from unseen.probes.by_name.linear import Linear
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Fit, Held, Job, fits_kept, fits_read
from unseen.probes.probe import Probe
from unseen.probes.protocol import COG_V2, Setting
from unseen.probes.samples import SamplesPerClass
from unseen.probes.units import hit_units
from unseen.probes.vectors import Vectors

READS = {"train": "1", "test": "2"}
SEARCH = {"epochs": 100, "trials": 30, "round_size": 10, "batch": 1024, "momentum": 0.9, "validation": 0.2, "starts": 0}
LOGISTIC = {"name": "cog-v2", "rates": [0.1, 100.0], "decays": [1e-12, 1e-4], **SEARCH}
NETWORK = {"name": "cog-v2", "hidden": [2048, 2048], "decays": [1e-8, 1e-4], **SEARCH}
RELU, PLAIN = {"relu": True, "rates": [0.1, 100.0]}, {"relu": False, "rates": [0.01, 10.0]}
ERICSSON = {
    "name": "ericsson-2021", "weakest": 1e-6, "strongest": 1e5, "steps": 45, "tol": 1e-6, "max_iterations": 1000,
    "converge": "chosen", "temperature": "validation", "folds": 5, "bins": 15,
}  # fmt: skip
GRID = {
    "name": "dinov2-linear", "steps": 12_500, "batch": 1024, "momentum": 0.9, "deviation": 0.01, "validation": 0.2,
    "rates": [1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1],
}  # fmt: skip
VECTORS = Vectors("b", "l1", {"train": 100, "test": 10}, 3, 64, READS)


def key(probe: str, revision: int, settings: dict[str, Any], **fields: Any) -> str:
    job = {"probe": probe, "revision": revision, "backbone": "b", "dataset": "l1", "reads": READS, **fields}
    text = json.dumps(job | ({"settings": settings} if settings else {}), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@pytest.mark.parametrize(
    ("probe", "expected"),
    [
        ("logistic", [key("logistic", 2, {"protocol": LOGISTIC, "products": "float32"}, seed=7)]),
        (
            "pca",
            [
                key(
                    "pca", 1,
                    {"dimensions": 32, "protocol": LOGISTIC, "products": "float32", "logistic_revision": 2}, seed=7,
                )
            ],
        ),
        (
            "mlp",
            [
                key(
                    "mlp", 1, {"hidden": None, "relu": each["relu"], "protocol": NETWORK | each}, seed=7,
                    arithmetic="float32",
                )
                for each in (RELU, PLAIN)
            ],
        ),
        (
            "dinov2-linear",
            [
                key(
                    "dinov2-linear", 1, {"protocol": GRID, "inputs": ["all=0:64"], "products": "float32"}, seed=7,
                )
            ],
        ),
        ("kmeans", [key("kmeans", 1, {"starts": 3, "clusters": None, "half": False}, seed=7)]),
        ("geometry", [key("geometry", 1, {"alpha": 2.0, "t": 2.0}, seed=7)]),
        ("spectrum", [key("spectrum", 1, {"features": "train", "images": 5000}, seed=7)]),
        ("knn", [key("knn", 1, {"k": 20, "weights": "exponential", "temperature": 0.07}, seed=7)]),
        ("linear", [key("linear", 6, {"metric": "top1", "protocol": ERICSSON}, seed=7)]),
    ],
)  # fmt: skip
def test_keys_are_hashes_of_exactly_these_fields(probe: str, expected: list[str]) -> None:
    jobs = list(all_probes()[probe]().jobs(VECTORS, [7]))
    assert [job.key for job in jobs] == expected


def test_a_probe_without_parameters_has_no_settings_and_defaults_are_left_out() -> None:
    job = Job("p", 1, "b", "l1", READS)
    assert job.described == {"probe": "p", "revision": 1, "backbone": "b", "dataset": "l1", "reads": READS}
    assert job.key == key("p", 1, {})
    assert replace(job, make=Held(KNN())).key == job.key


def test_everything_in_a_job_changes_its_key() -> None:
    job = Job("p", 1, "b", "l1", READS, {"protocol": {"name": "x", "steps": 3}}, 8, 1, "top1", "float16", "c", ())
    changes: list[dict[str, Any]] = [
        {"probe": "q"}, {"revision": 2}, {"backbone": "c"}, {"dataset": "l2"}, {"reads": {"train": "1", "test": "3"}},
        {"reads": {"train": "1", "val": "2"}}, {"settings": {"protocol": {"name": "x", "steps": 4}}}, {"shots": None},
        {"shots": 4}, {"seed": 0}, {"metric": "ece"}, {"arithmetic": ""}, {"code": "d"},
        {"needs": (Job("n", 1, "b", "d"),)},
    ]  # fmt: skip
    jobs = [job, *(replace(job, **change) for change in changes)]
    assert len({each.key for each in jobs}) == len({*jobs}) == len(jobs)
    assert replace(job) == job


def test_settings_and_revisions_of_a_probe_change_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    [job], [other] = (list(probe.jobs(VECTORS, [7])) for probe in (KNN(), KNN(k=5)))
    monkeypatch.setattr(KNN, "revision", 2)
    [revised] = KNN().jobs(VECTORS, [7])
    assert len({job.key, other.key, revised.key}) == 3


@pytest.mark.parametrize("probe", [KNN(), Logistic(), Linear()])
def test_a_name_of_a_protocol_is_the_protocol(probe: Probe) -> None:
    assert [job.key for job in probe.jobs(VECTORS, [0])] == [job.key for job in probe.resolved.jobs(VECTORS, [0])]


def test_the_order_of_classes_and_several_labels_are_a_part_of_the_key() -> None:
    alike = [VECTORS, replace(VECTORS, order="sorted"), replace(VECTORS, target="classes", metric="map-11-point")]
    keys = {job.key for vectors in alike for job in Linear().jobs(vectors, [0])}
    assert len(keys) == 3


def test_seeds_change_nothing_where_a_data_set_has_its_own_validation_samples() -> None:
    with_val = replace(VECTORS, rows={"train": 80, "val": 20, "test": 10}, hashes={**READS, "val": "3"})
    assert [job.seed for job in Linear().jobs(with_val, [0, 1, 2])] == [0]
    assert [(job.shots, job.seed) for job in Linear().jobs(with_val, [0, 1], [4, None])] == [(4, 0), (None, 0), (4, 1)]
    assert [job.seed for job in Linear().jobs(VECTORS, [0, 1, 2])] == [0, 1, 2]


def test_every_probe_of_vectors_plans_jobs_that_can_be_told_apart() -> None:
    jobs = [job for probe in feature_probes().values() for job in probe().jobs(VECTORS, [0, 1])]
    assert {job.probe for job in jobs} == set(feature_probes())
    assert len({job.key for job in jobs}) == len(jobs)


def test_a_job_that_was_sent_computes_the_same() -> None:
    [job] = Logistic(COG_V2).jobs(VECTORS, [3], [8])
    sent: Job = pickle.loads(pickle.dumps(job))
    assert sent == job
    assert sent.fitted == job.fitted == Logistic(COG_V2, "float32")
    assert (sent.setting, sent.protocol) == (Setting(8, 3), "cog-v2")


def test_fits_are_read_as_they_were_written() -> None:
    job, samples = Job("knn", 1, "b", "l1", shots=5, seed=2), SamplesPerClass(5, 5, 3)
    fits = [
        Fit("knn-20", 5, 2, [("top5", 1.0), ("top1", 0.5)], {"k": 20}, interval=0.1, samples=samples),
        Fit("knn-5", 5, 2, [("top1", 0.25)], units=hit_units(np.array([True, False] * 5))),
    ]
    first, second = fits_read(json.loads(json.dumps(job.described)), json.loads(json.dumps(fits_kept(fits))), "k.json")
    assert (first, first.samples) == (fits[0], samples)
    assert second.details["images"] == 10
    assert np.unpackbits(np.frombuffer(b64decode(second.details["correct"]), np.uint8))[:4].tolist() == [1, 0, 1, 0]
    assert replace(second, details={}) == replace(fits[1], units=None)


def test_a_key_is_the_same_in_every_process_and_needs_no_torch() -> None:
    code = "import sys, unseen.runs.record; from unseen.probes.by_name import all_probes; "
    code += "from test_job import VECTORS; print(*(j.key for j in all_probes()['knn']().jobs(VECTORS, [7]))); "
    code += "assert 'torch' not in sys.modules"
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    answer = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == [job.key for job in KNN().jobs(VECTORS, [7])]
