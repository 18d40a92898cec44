"""A level of ImageNet-CoG at its true size: the time of a command besides its probe, and when nothing is left to do.

    PYTHONPATH=benchmarks python benchmarks/true_size.py --out FOLDER                                  # on a GPU
    PYTHONPATH=benchmarks python benchmarks/true_size.py --out FOLDER --rows 4000 --dimension 32 --protocol cog-v2-short

Features in 16 bits are written once, as a file (`np.savez`) and as a store, 4.5 GB each at full size. The command is
`unseen run cog-v2 --features … --datasets l5 --shots all --seeds 1`. The first time it reads all bytes, hashes them and
runs the probe; the second time nothing is left to do. Both are timed from outside, including the start of Python.
"Again, another run" is a new run on the same features, which have been hashed by then. The probe alone is timed in
this process, on features in memory. The files are in the file cache of the system when the command starts.
"""

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from machine import describe, timed
from unseen.device import default_device
from unseen.features.readers import read_features
from unseen.features.store import write_store
from unseen.probes.logistic import probe_settings
from unseen.probes.protocol import Setting, protocol_named

CLASSES = 1000
BLOCK = 50_000


def blocks(
    rows: int, dimension: int, seed: int, device: torch.device
) -> Iterator[tuple[NDArray[np.float16], NDArray[np.int64]]]:
    """Features of classes about random centres, some at a time."""
    centres = torch.randn(CLASSES, dimension, generator=torch.Generator(device).manual_seed(0), device=device)
    generator = torch.Generator(device).manual_seed(seed)
    for start in range(0, rows, BLOCK):
        y = torch.arange(start, min(start + BLOCK, rows), device=device) % CLASSES
        X = centres[y] + 4 * torch.randn(len(y), dimension, generator=generator, device=device)
        yield X.half().cpu().numpy(), y.cpu().numpy()


def make(folder: Path, counts: dict[str, int], dimension: int, kind: str, device: torch.device) -> None:
    """Training and test features below the folder of the level, unless they are there."""
    for seed, (split, rows) in enumerate(counts.items(), start=1):
        place = folder / "l5" / (f"{split}.npz" if kind == "file" else split)
        if place.exists():
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        made = blocks(rows, dimension, seed, device)
        if kind == "file":
            X, y = (np.concatenate(parts) for parts in zip(*made, strict=True))
            np.savez(place, X=X, y=y)
        else:
            names = [str(number) for number in range(CLASSES)]
            write_store(place, made, names, provenance={}, dtype="float16")
    time.sleep(0.1)  # a file that was written this moment is not noted


def command(features: Path, out: Path, protocol: str) -> tuple[float, str]:
    """Seconds of the command, and what it announced."""
    asked = ["--features", str(features), "--datasets", "l5", "--shots", "all", "--seeds", "1"]
    asked += ["--set", f"logistic.protocol={protocol}", "--out", str(out)]
    start = time.perf_counter()
    command = [sys.executable, "-m", "unseen", "run", "cog-v2", *asked]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"the command failed: {done.stderr[-2000:]}")
    said = [line for line in done.stderr.splitlines() if "jobs to do" in line or "hashed once" in line]
    return seconds, "; ".join(said)


def probe_seconds(features: Path, protocol: str, device: torch.device) -> float:
    """Seconds of the probe on features in memory, once the device is set up."""
    parts = []
    for split in ("train", "test"):
        place = features / "l5" / f"{split}.npz"
        read = read_features(place if place.exists() else place.with_suffix(""))
        parts += [torch.from_numpy(np.array(read.X[:])), torch.from_numpy(read.y)]

    X, y, X_test, y_test = parts
    chosen = protocol_named(protocol)
    if device.type == "cuda":
        torch.zeros(1, device=device)
    return timed(
        lambda: list(probe_settings(X, y, X_test, y_test, [Setting(None, 0)], protocol=chosen, device=device)), device
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for features and runs; features are kept")
    parser.add_argument("--rows", type=int, default=1_100_000)
    parser.add_argument("--test-rows", type=int, default=50_000)
    parser.add_argument("--dimension", type=int, default=2048)
    parser.add_argument("--kinds", nargs="+", default=["file", "store"], choices=["file", "store"])
    parser.add_argument("--protocol", default="cog-v2")
    parser.add_argument("--another-run", action="store_true", help="also a new run of the same features")
    options = parser.parse_args()
    device = default_device()
    counts = {"train": options.rows, "test": min(options.test_rows, options.rows)}
    print(f"{describe(device)}; {options.rows:,} × {options.dimension} in 16 bits, {options.protocol}\n", flush=True)
    alone = None
    for kind in options.kinds:
        folder, run = options.out / kind, options.out / f"run-{kind}"
        shutil.rmtree(run, ignore_errors=True)
        for note in folder.rglob("*checked*"):
            note.unlink()
        make(folder, counts, options.dimension, kind, device)
        torch.cuda.empty_cache()
        first, said = command(folder, run, options.protocol)
        job = sum(json.loads(file.read_text())["seconds"] for file in (run / "results").glob("*.json"))
        again, _ = command(folder, run, options.protocol)
        print(f"{kind}: {said}", flush=True)
        if options.another_run:
            shutil.rmtree(run)
            print(f"{kind}, again, another run: {command(folder, run, options.protocol)[0]:.1f} s", flush=True)
        alone = alone or probe_seconds(folder, options.protocol, device)
        print(
            f"{kind}: probe {alone:.1f} s, command {first:.1f} s (ratio {first / alone:.2f}), "
            f"of which its job with loading {job:.1f} s, "
            f"second time {again:.2f} s\n", flush=True,
        )  # fmt: skip


if __name__ == "__main__":
    main()
