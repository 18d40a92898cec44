"""Trainings in two processes: the first one measures, or both extract."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from small_training import SIDE, pictures, small, study_of

import unseen
from unseen.monitoring.records import SCORES

SCRIPT = Path(__file__).parents[1] / "helpers/trained_in_processes.py"


@pytest.mark.long_suite
@pytest.mark.parametrize("share", ["alone", "share"])
def test_two_processes(tmp_path: Path, share: str) -> None:
    data, out = pictures(tmp_path / "data"), tmp_path / "out"
    paths = os.pathsep.join([str(SCRIPT.parent), *filter(None, sys.path)])
    launched = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", "0",
         "--rdzv-backend", "c10d", "--rdzv-endpoint", "localhost:0", str(SCRIPT), str(data), str(out), share],
        env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
        timeout=300,
    )  # fmt: skip
    assert launched.returncode == 0, launched.stderr
    first, second = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1))
    assert first["same"]
    assert second["same"]
    assert [step for step, _, failures in first["steps"] if not failures] == [0, 2, 4]
    if share == "share":
        assert second["steps"] == first["steps"]
        assert second["best"] == first["best"]
    else:
        assert second["steps"] == []
        assert second["best"] is None
    ends = [line for line in (out / SCORES).read_text().splitlines() if '"check"' in line]
    assert len(ends) == 3
    network = small()
    network.load_state_dict({name: torch.tensor(value) for name, value in first["weights"].items()})
    alone = unseen.Monitor(
        study_of(data, "knn", "ridge", batch=7), every=1, out=tmp_path / "alone", transform=SIDE, features="encoder"
    )
    check = alone(4, network)
    assert check is not None
    assert check.means == first["steps"][-1][1]
