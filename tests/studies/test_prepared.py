"""Probes of features as jobs: run where they are missing, and estimated."""

from pathlib import Path

import numpy as np

from unseen.features.readers import read_features
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.protocol import COG_V2_SHORT
from unseen.runs.means import ALONE
from unseen.runs.results import RESULTS
from unseen.studies.own_features import plan_own
from unseen.studies.probed_features import probed_features
from unseen.studies.study import run_prepared


def test_jobs_on_features_are_run_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        y = np.arange(24) % 3
        np.savez(tmp_path / f"{split}.npz", X=np.eye(3)[y] + 0.1 * rng.random((24, 3)), y=y)
    places = {split: tmp_path / f"{split}.npz" for split in ("train", "test")}
    features = probed_features("mine", "three", {split: read_features(p) for split, p in places.items()}, places)
    found = plan_own(features, ["0", "1", "2"], Logistic(COG_V2_SHORT), [1, None], 1)
    assert not (tmp_path / "run").exists()
    assert found.seconds(found.jobs, tmp_path / "run" / RESULTS, ALONE) > 0
    data = run_prepared(found, tmp_path / "run")
    assert [score.value for score in data.scores if score.shots is None] == [1.0, 1.0]
    assert found.seconds(found.jobs, tmp_path / "run" / RESULTS, ALONE) == 0
    assert list(found.work(found.jobs, tmp_path / "run" / RESULTS, ALONE)) == []
