"""Memory and time of the probes on patch features at the size of ADE20K, under a limit on GPU memory.

    python benchmarks/dense_memory.py --folder made                   # a GPU, 47 GB of disk, 64 GB of main memory
    python benchmarks/dense_memory.py --folder made --train 30 --test 8 --context-test 4 --kept 10 --grid 6 \\
        --channels 16 --classes 5 --steps 20                          # a quick look on a CPU

Features and label maps are generated: 20,210 training and 2,000 test images with the sizes of ADE20K's, and features
of a ViT-B/14 at 518 pixels, 37 × 37 patches of 768 dimensions. All features are written to disk and memory-mapped, as
those of a study are; label maps are computed when they are read. Memory does not depend on the number of steps or of
test images, so that by default the linear probe trains for one epoch of its ten, and the in-context probe predicts 200
of the test images; its seconds for all of them are extrapolated.

The last lines compare scores of the same pictures at 512 and at 2048 pixels.
"""

import argparse
import shutil
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from machine import describe, timed
from unseen.data.core.dataset import Dataset
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import Entry
from unseen.features.patches import PatchFeatures
from unseen.features.store import Shards
from unseen.probes.by_name.patch_context import PatchContext
from unseen.probes.by_name.patch_linear import PatchLinear
from unseen.probes.patches.patch_probe import PatchProbe
from unseen.probes.patches.protocols import PATCH_LINEAR, PatchLinearProtocol
from unseen.probes.patches.task import PatchTask
from unseen.studies.inputs.patch_estimate import peak_memory

SHARD_BYTES = 1 << 28
COARSE = 29
"""Cells of a label map on each side: not those of the patches, so that some patches have several classes."""
SIZES = {(512, 683): 0.6, (683, 512): 0.15, (512, 512): 0.1, (600, 800): 0.1, (1200, 1600): 0.04, (2048, 2448): 0.01}
"""Heights and widths of images, and their shares: most images of ADE20K have a short side of 512 pixels."""


@dataclass(frozen=True, eq=False)
class Made:
    """A data set of maps with rectangles of classes; a source of images and a reader of labels."""

    coarse: NDArray[np.uint8]
    sizes: NDArray[np.int64]

    @classmethod
    def of(cls, images: int, classes: int, sizes: dict[tuple[int, int], float]) -> "Made":
        rng = np.random.default_rng(0)
        coarse = np.empty((images, COARSE, COARSE), np.uint8)
        for each in coarse:
            each[:] = rng.integers(classes)
            for top, left, height, width in rng.integers(0, COARSE, (8, 4)):
                each[top : top + height, left : left + width] = rng.integers(classes)
        coarse[:, -1, -3:] = 255  # without a label
        places = rng.choice(len(sizes), images, p=np.fromiter(sizes.values(), float))
        return cls(coarse, np.array([*sizes])[places])

    @property
    def entries(self) -> list[Entry]:
        return [Entry(f"{number:06d}", "image") for number in range(len(self.coarse))]

    @property
    def about(self) -> dict[str, str]:
        return {"kind": "made"}

    def place(self, number: int) -> str:
        return f"map {number}"

    def read(self, number: int) -> NDArray[np.uint8]:
        """The map; as an image, it has the right size."""
        rows, columns = (_cells(int(length), COARSE) for length in self.sizes[number])
        values: NDArray[np.uint8] = self.coarse[number][np.ix_(rows, columns)]
        return values

    def at_centres(self, grid: int) -> NDArray[np.uint8]:
        """(images, grid²) class at the centre of each patch."""
        cells = (np.arange(grid) * 2 + 1) * COARSE // (2 * grid)
        return self.coarse[:, cells][:, :, cells].reshape(len(self.coarse), -1)

    def opened(self, train: int, classes: int) -> OpenDataset:
        dataset = Dataset("made", "made", classes, target="map", names=tuple(map(str, range(classes))))
        splits = ["train"] * train + ["test"] * (len(self.coarse) - train)
        return OpenDataset(dataset, self, Manifest(self.entries, splits), self)


@lru_cache(maxsize=64)
def _cells(length: int, cells: int) -> NDArray[np.int64]:
    return np.arange(length) * cells // length


def write_features(made: Made, rows: range, grid: int, channels: int, folder: Path, device: torch.device) -> Shards:
    """Features of some images in memory-mapped files: a vector for each class, and noise."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator(device).manual_seed(rows.start)
    vectors = torch.randn(256, channels, generator=torch.Generator().manual_seed(1_000_000)).to(device)
    classes, size = made.at_centres(grid), 2 * channels * grid**2
    step, parts = max(1, SHARD_BYTES // size), list[NDArray[Any]]()
    for start in range(rows.start, rows.stop, step):
        some = torch.from_numpy(classes[start : min(start + step, rows.stop)]).to(device).long()
        features = torch.randn(*some.shape, channels, generator=generator, device=device, dtype=torch.float16)
        features = features.mul_(3).add_(vectors[some].half())
        path = folder / f"X-{start:06d}.npy"
        np.save(path, features.reshape(len(some), -1).cpu().numpy())
        parts.append(np.load(path, mmap_mode="r"))
    return Shards(parts)


def features_of(X: Any, first: int, grid: int) -> PatchFeatures:
    ids = [f"{number:06d}" for number in range(first, first + len(X))]
    return PatchFeatures(X, ids, (grid, grid), (), "made", Path("made"))


def scores_of(probe: PatchProbe, task: PatchTask) -> dict[str, float]:
    """The values of a fitted probe."""
    return dict(probe.predictor(task, seed=0)[0].values)


def measured(what: str, probe: PatchProbe, task: PatchTask) -> dict[str, float]:
    """Fit a probe; print its peak memory, the plan's, and its seconds."""
    gpu, size = task.device.type == "cuda", task.size
    planned = peak_memory([probe], "made", size, task.device.type)
    expected = planned.bytes
    if task.budget is not None:
        expected = probe.demand(size, task.dtype.itemsize).peak(task.budget)
    for notice in planned.notices if task.budget is None else ():
        print(f"  plan: {notice.sentence}")
    if gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if gpu else 0
    found = list[dict[str, float]]()
    seconds = timed(lambda: found.append(scores_of(probe, task)), task.device)
    peak = torch.cuda.max_memory_allocated() - before if gpu else 0
    reserved = torch.cuda.max_memory_reserved() if gpu else 0
    ratio = f", plan / peak {expected / peak:.2f}" if gpu else ""
    print(f"{what}: {seconds:.1f} s, mIoU {100 * found[0]['miou']:.2f}; memory: plan {expected / 1e9:.2f} GB, peak "
          f"{peak / 1e9:.2f} GB, reserved {reserved / 1e9:.2f} GB{ratio}", flush=True)  # fmt: skip
    return found[0]


def at_two_sizes(device: torch.device, protocol: PatchLinearProtocol) -> None:
    """The same pictures at 512 and 2048 pixels: a patch of the larger ones has 85,598 pixels on a grid of 7 × 7."""
    found, rng = {}, np.random.default_rng(1)
    vectors, noise = rng.standard_normal((256, 32)), rng.standard_normal((60, 49, 32))
    for side in (512, 2048):
        made = Made.of(60, 6, {(side, side): 1.0})
        X = (vectors[made.at_centres(7)] + noise).astype(np.float16).reshape(60, -1)
        task = PatchTask(made.opened(45, 6), features_of(X[:45], 0, 7), features_of(X[45:], 45, 7), device)
        for probe in (PatchLinear(protocol), PatchContext()):
            found[side, probe.name] = scores_of(probe, task)["miou"]
    for name in (PatchLinear.name, PatchContext.name):
        small, large = (found[side, name] for side in (512, 2048))
        verdict = "equal within a point" if abs(small - large) < 0.01 else "DIFFERENT"
        print(f"{name}: mIoU {100 * small:.2f} at 512 pixels, {100 * large:.2f} at 2048: {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="for the features, which are deleted at the end")
    parser.add_argument("--train", type=int, default=20_210)
    parser.add_argument("--test", type=int, default=2_000)
    parser.add_argument("--context-test", type=int, default=200, help="test images of the in-context probe")
    parser.add_argument("--kept", type=int, default=4_000, help="training images of a linear probe whose features fit")
    parser.add_argument("--grid", type=int, default=37)
    parser.add_argument("--channels", type=int, default=768)
    parser.add_argument("--classes", type=int, default=150)
    parser.add_argument("--limit", type=float, default=24, help="GB of GPU memory")
    parser.add_argument("--epochs", type=int, default=1, help="of the linear probe")
    parser.add_argument("--steps", type=int, default=500, help="of the linear probe at least")
    given = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type == "cuda":
        total = torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, given.limit * 1e9 / total))
    print(f"{describe(device)}; limit {given.limit:g} GB", flush=True)
    made = Made.of(given.train + given.test, given.classes, SIZES)
    start = time.perf_counter()
    X, tested = (
        write_features(made, rows, given.grid, given.channels, given.folder / name, device)
        for name, rows in (("train", range(given.train)), ("test", range(given.train, given.train + given.test)))
    )
    print(f"features: {(len(X) + len(tested)) * 2 * X.shape[1] / 1e9:.1f} GB, {time.perf_counter() - start:.1f} s")
    linear = replace(PATCH_LINEAR, epochs=given.epochs, least_steps=given.steps)
    probe, context = PatchLinear(linear), PatchContext()
    try:
        opened = made.opened(given.train, given.classes)
        train, test = features_of(X, 0, given.grid), features_of(tested, given.train, given.grid)
        task = PatchTask(opened, train, test, device)
        start = time.perf_counter()
        patches = len(task.training.labels)
        print(f"labels of {patches:,} training patches: {time.perf_counter() - start:.1f} s", flush=True)
        steps = linear.steps(round(0.9 * patches)) + linear.steps(patches)
        every = PATCH_LINEAR.steps(round(0.9 * patches)) + PATCH_LINEAR.steps(patches)
        some = features_of(tested[: given.context_test], given.train, given.grid)
        measured(f"linear, {steps:,} of {every:,} steps", probe, task)
        few = features_of(Shards(X.parts[: max(1, given.kept * len(X.parts) // len(X))]), 0, given.grid)
        measured(f"linear, {len(few):,} training images", probe, PatchTask(opened, few, some, device))
        kept, read = (_with_training(PatchTask(opened, train, some, device, budget=each), task) for each in (None, 1))
        start = time.perf_counter()
        first = measured(f"in-context, {given.context_test:,} of {given.test:,} test images", context, kept)
        whole = (time.perf_counter() - start) * given.test / given.context_test
        print(f"  all test images: at most {whole:.0f} s")
        second = measured("in-context, keys read for every group of images", context, read)
        print("  the same scores" if first == second else "  OTHER SCORES")
        at_two_sizes(device, replace(PATCH_LINEAR, least_steps=given.steps))
    finally:
        shutil.rmtree(given.folder / "train", ignore_errors=True)
        shutil.rmtree(given.folder / "test", ignore_errors=True)


def _with_training(task: PatchTask, known: PatchTask) -> PatchTask:
    """A task with the labels of another one, which are not read again."""
    task.__dict__["training"] = known.training
    return task


if __name__ == "__main__":
    main()
