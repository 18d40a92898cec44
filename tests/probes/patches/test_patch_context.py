"""The in-context probe, against a plain loop over patches."""

import numpy as np
import pytest
import torch

from unseen.device import default_device
from unseen.errors import UserError
from unseen.probes.patches import context, rows
from unseen.probes.patches.context import Memory, look_up, nearest
from unseen.probes.patches.labels import PatchLabels
from unseen.probes.patches.protocols import ContextProtocol
from unseen.probes.patches.rows import PatchRows
from unseen.probes.patches.training import TrainingPatches


def test_equal_to_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    X, Y = torch.randn(90, 5, generator=generator), torch.randint(0, 4, (90, 3), generator=generator).float()
    Y[::7] = 0
    queries = torch.randn(11, 5, generator=generator)
    protocol = ContextProtocol(neighbours=8, temperature=0.1)
    expected = []
    for query in queries:
        rows = [place for place in range(90) if Y[place].sum() > 0]
        cosine = torch.stack([torch.nn.functional.cosine_similarity(query, X[place], dim=0) for place in rows])
        best = cosine.argsort(descending=True)[:8]
        weights = torch.exp(cosine[best] / 0.1)
        shares = torch.stack([Y[rows[place]] / Y[rows[place]].sum() for place in best])
        expected.append((weights[:, None] * shares).sum(0) / weights.sum())
    memory = Memory.of(TrainingPatches.of(X, Y), protocol)
    assert torch.allclose(look_up(memory, queries, protocol), torch.stack(expected), atol=1e-5)
    # In blocks of queries and keys, and by groups of keys, too.
    for name, value in (("QUERIES", 3), ("GROUP", 4), ("KEYS", 50), ("GROUP", 7), ("KEYS", 5)):
        monkeypatch.setattr(context, name, value)
        assert torch.allclose(look_up(memory, queries, protocol), torch.stack(expected), atol=1e-5)


def test_equal_similarities_are_ordered_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constant areas of images have many equal patches; which of them are near must not depend on blocks."""
    generator = torch.Generator().manual_seed(0)
    few = torch.eye(8).roll(1, 0) - torch.eye(8) + torch.eye(8).roll(2, 0) + torch.eye(8).roll(4, 0)  # exact cosines
    few = few[:6]
    X = few[torch.randint(6, (400,), generator=generator)]
    labels = torch.randint(5, (400,), generator=generator)
    protocol = ContextProtocol(neighbours=7, temperature=0.1)
    memory = Memory.of(TrainingPatches.of(X, torch.nn.functional.one_hot(labels, 5)), protocol)
    unit = torch.nn.functional.normalize(few, dim=1)
    expected = torch.argsort(-(unit @ torch.nn.functional.normalize(X, dim=1).T), dim=1, stable=True)[:, :7]
    for name, value in (("KEYS", 400), ("GROUP", 8), ("KEYS", 99), ("QUERIES", 2)):
        monkeypatch.setattr(context, name, value)
        similar, places = nearest(memory, few, protocol)
        assert torch.equal(places, expected)
        assert torch.allclose(similar, torch.gather(unit @ memory.keys.T, 1, places))  # type: ignore[union-attr]


@pytest.mark.gpu_too
@pytest.mark.parametrize("resident", [True, False])
@pytest.mark.parametrize("bad", [float("inf"), float("nan"), 1e30])
def test_features_without_a_finite_length_are_refused(bad: float, resident: bool) -> None:
    """A single NaN would drop its whole group of keys, and a row of infinite length would be a row of zeros."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((5000, 8)).astype(np.float32)
    labels = PatchLabels.of([generator.integers(1, 3, (5000, 4)).astype(np.float32)], 4)
    queries = torch.from_numpy(X[:20].copy()).to(default_device())

    def found(values: np.ndarray) -> torch.Tensor:
        rows = PatchRows([values], default_device(), torch.float32)
        patches = TrainingPatches(rows, labels, torch.arange(1250), 4)
        return look_up(Memory.of(patches, resident=resident), queries)

    assert found(X).isfinite().all()
    with pytest.raises(UserError, match="not finite or beyond"):
        found(np.where(np.arange(5000)[:, None] == 3, bad, X).astype(np.float32))
    queries[3, 2] = bad
    with pytest.raises(UserError, match="not finite or beyond"):
        found(X)


@pytest.mark.gpu_too
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_keys_read_from_files_give_the_same_bits(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same products of the same blocks: where the keys are kept does not change them."""
    monkeypatch.setattr(context, "KEYS", 64)
    monkeypatch.setattr(rows, "PIECE_BYTES", 10 * 1024)  # ten patches
    generator = np.random.default_rng(0)
    parts = [generator.standard_normal((size, 512)).astype(np.float16) for size in (70, 1, 129)]
    labels = PatchLabels.of([generator.integers(0, 3, (200, 4)).astype(np.float32)], 4)
    patches = TrainingPatches(PatchRows(parts, default_device(), dtype), labels, torch.arange(50), 4)
    queries = torch.from_numpy(np.concatenate(parts)[::3]).to(default_device())
    kept, read = (Memory.of(patches, ContextProtocol(memory=150), resident=each) for each in (True, False))
    assert kept.keys is not None
    assert read.keys is None
    assert torch.equal(look_up(kept, queries), look_up(read, queries))
    # A cosine of 16 bits would have an error of 0.0005, and its weight one of 2.5%.
    similar = nearest(kept, queries, ContextProtocol())[0].cpu()
    exact = torch.nn.functional.normalize(queries.cpu().double(), dim=1)
    cosines = exact @ torch.nn.functional.normalize(torch.from_numpy(np.concatenate(parts)).double(), dim=1).T
    assert torch.allclose(similar, cosines[:, kept.places].topk(30, dim=1).values.float(), atol=1e-4)


def test_a_larger_memory_than_allowed_is_a_fixed_draw() -> None:
    X, Y = torch.randn(50, 4), torch.ones(50, 2)
    found = [Memory.of(TrainingPatches.of(X, Y), ContextProtocol(memory=20)) for _ in range(2)]
    assert len(found[0]) == 20
    assert torch.equal(found[0].places, found[1].places)


def test_a_memory_needs_a_label() -> None:
    with pytest.raises(UserError, match="no patch"):
        Memory.of(TrainingPatches.of(torch.randn(3, 2), torch.zeros(3, 2)))
