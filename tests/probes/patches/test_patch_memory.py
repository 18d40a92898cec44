"""The memory that probes on patches are planned with, compared with what their tensors take."""

import weakref
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from unseen.probes.patches import context, linear, probe_patches
from unseen.probes.patches.codes import ClassCodes
from unseen.probes.patches.context import Memory, look_up
from unseen.probes.patches.labels import PatchLabels
from unseen.probes.patches.patch_probe import PatchSize
from unseen.probes.patches.probe_patches import choose_linear
from unseen.probes.patches.protocols import PATCH_CONTEXT, PATCH_LINEAR
from unseen.probes.patches.rows import PatchRows
from unseen.probes.patches.training import TrainingPatches

QUICK = replace(PATCH_LINEAR, epochs=0, least_steps=6, batch=512)


class Peak(TorchDispatchMode):
    """The most bytes that tensors of this thread take at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.most, self._sizes = 0, dict[int, int]()

    def __torch_dispatch__(self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        for each in tree_leaves(found):
            if isinstance(each, torch.Tensor) and each.untyped_storage()._cdata not in self._sizes:
                storage = each.untyped_storage()
                self._sizes[storage._cdata] = storage.nbytes()
                weakref.finalize(storage, self._sizes.pop, storage._cdata)
        self.most = max(self.most, sum(self._sizes.values()))
        return found


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes of blocks in proportion to small data."""
    for module, name, value in (
        (linear, "BLOCK_BYTES", 1 << 21), (linear, "SUMMED", 256), (probe_patches, "BLOCK", 1024),
        (context, "KEYS", 2048), (context, "QUERIES", 64), (context, "AT_ONCE", 2000),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(("channels", "codes"), [(256, 20), (64, 150)])
@pytest.mark.usefixtures("small")
def test_memory_is_within_a_third_of_the_plan(channels: int, codes: int) -> None:
    generator = np.random.default_rng(0)
    features = PatchRows([generator.standard_normal((6_000, channels)).astype(np.float16)], torch.device("cpu"),
                         torch.float32)  # fmt: skip
    labels = PatchLabels.of([100 * np.eye(codes, dtype=np.float32)[generator.integers(0, codes, 6_000)]], codes)
    patches = TrainingPatches(features, labels, torch.arange(12), 500)
    size = PatchSize(12, 500, 4, 500, channels, codes)
    queries = torch.from_numpy(generator.standard_normal((2000, channels)).astype(np.float16))
    planned, found = [], []
    for kept in (True, False):
        with Peak() as peak:
            choose_linear(patches.on_device() if kept else patches, QUICK, ClassCodes(codes))
        found.append(peak.most)
        with Peak() as peak:
            look_up(Memory.of(patches, resident=kept), queries.clone())
        found.append(peak.most)
        for demand in (linear.demand(size, QUICK, 4), context.demand(size, PATCH_CONTEXT, 4)):
            planned.append(demand.kept if kept else demand.read)
    ratios = [plan / most for plan, most in zip(planned, found, strict=True)]
    assert ratios[:2] == pytest.approx([1, 1], abs=0.3)
    # What another thread reads is not among the tensors of this one.
    assert all(0.8 < ratio < 1.6 for ratio in ratios[2:])
