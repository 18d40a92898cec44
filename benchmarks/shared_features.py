"""Memory of a probe in several processes, relative to the size of the features.

    PYTHONPATH=benchmarks python benchmarks/shared_features.py --workers 1 2 4

A file of features in `.npz` is probed in several processes, and so is a small one. The difference is the memory of
the features: the peak sum of the proportional set sizes (PSS) of all processes, which counts a shared page once.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CODE = """
import sys
from pathlib import Path
from unseen.features.readers import read_features
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.means import Means
from unseen.studies.probed_features import probed_features
from unseen.studies.probing import run

if __name__ == "__main__":
    folder, workers = Path(sys.argv[1]), int(sys.argv[2])
    places = {split: folder / f"{split}.npz" for split in ("train", "test")}
    features = probed_features("b", "d", {split: read_features(place) for split, place in places.items()}, places)
    quick = LogisticProtocol(name="quick", epochs=2, trials=2, round_size=2)
    jobs = [*Logistic(quick).jobs(features, range(2 * max(workers, 2)), [None])]
    print(len(list(run(jobs, [features], folder / f"results-{workers}", Means(workers)))))
"""


def write_features(folder: Path, rows: int, dimension: int = 2048, classes: int = 10) -> int:
    """Write training features and a twentieth as many test features; the bytes of both."""
    rng, total = np.random.default_rng(0), 0
    folder.mkdir()
    for name, count in (("train", rows), ("test", max(rows // 20, 4 * classes))):
        y = np.arange(count) % classes
        X = rng.standard_normal((count, dimension), dtype=np.float32)
        np.savez(folder / f"{name}.npz", X=X, y=y)
        total += X.nbytes
    return total


def peak(folder: Path, workers: int) -> int:
    """Bytes of all processes at the worst moment."""
    process = subprocess.Popen([sys.executable, folder.parent / "run.py", folder, f"{workers}"], stdout=subprocess.PIPE)
    most = 0
    while process.poll() is None:
        most = max(most, sum(map(_own, _family(process.pid))))
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"the probe ended with code {process.returncode}")
    return most


def _family(process: int) -> list[int]:
    found = [process]
    for each in found:
        for task in Path(f"/proc/{each}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def _own(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--rows", type=int, default=24_000)
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "run.py").write_text(CODE)
        small, large = place / "small", place / "large"
        less, size = write_features(small, 200), write_features(large, arguments.rows)
        print(f"features of {(size - less) / 1e6:.0f} MB; workers, MB in all for them, times their size")
        for workers in arguments.workers:
            more = peak(large, workers) - peak(small, workers)
            print(f"{workers:>3} {more / 1e6:>8.0f} {more / (size - less):>8.2f}", flush=True)


if __name__ == "__main__":
    main()
