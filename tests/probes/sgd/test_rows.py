"""Rows on a device and rows streamed to it are the same rows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.features.features import Features
from unseen.features.store import Shards, read_store, write_store
from unseen.metrics.geometry import unit_rows
from unseen.probes.logistic import probe_logistic
from unseen.probes.protocol import COG_V2_SHORT
from unseen.probes.sgd import rows as rows_module
from unseen.probes.sgd.rows import Mapped, Resident, Streamed, copy_rows

DEVICES = [
    "cpu",
    pytest.param("cuda", marks=pytest.mark.gpu),
]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 5)).astype(np.float16)


def sources(rows: Tensor | Shards, device: str, dtype: torch.dtype) -> tuple[Resident, Streamed]:
    place = torch.device(device)
    return (
        Resident.load(rows, unit_rows, device=place, dtype=dtype, name="training"),
        Streamed(rows, unit_rows, device=place, dtype=dtype, name="training"),
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("shards", [None, 7])
def test_streamed_rows_are_those_on_the_device(device: str, dtype: torch.dtype, shards: int | None) -> None:
    rows = torch.from_numpy(X) if shards is None else Shards(np.array_split(X, shards))
    resident, streamed = sources(rows, device, dtype)
    assert resident.dimension == streamed.dimension == (8 if dtype == torch.float16 else 6)
    indices = [torch.randint(51, (16,), generator=torch.Generator().manual_seed(i)) for i in range(6)]
    outs = [torch.full((16, resident.dimension), 0.0, dtype=dtype, device=device) for _ in range(2)]
    pairs = zip(resident.blocks(indices, outs[0]), streamed.blocks(indices, outs[1]), indices, strict=True)
    for here, there, index in pairs:
        assert torch.equal(outs[0], outs[1])
        assert torch.equal(here.cpu(), index)
        assert torch.equal(there.cpu(), index)
        assert torch.equal(outs[0], streamed.take(index))
        assert torch.equal(outs[0], resident.take(index))
        expected = torch.nn.functional.normalize(torch.from_numpy(X).float(), dim=1)
        for row, i in zip(outs[0].float().cpu(), index.tolist(), strict=True):
            assert float(row[5]) == float(i < 50)
            assert torch.allclose(row[:5], expected[i] if i < 50 else torch.zeros(5), atol=1e-3)
            assert not row[6:].any()


@pytest.mark.parametrize("device", DEVICES)
def test_blocks_that_span_shards_arrive_in_order(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "READ", 8)
    for parts in ([X], np.array_split(X, 7)):
        resident, _ = sources(Shards(parts), device, torch.float32)
        assert torch.equal(resident.X, sources(torch.from_numpy(X), device, torch.float32)[0].X)
    out = np.empty((11, 5), np.float16)
    copy_rows(Shards(np.array_split(X, 7)), 13, out)
    assert np.array_equal(out, X[13:24])


def test_a_feature_store_is_streamed_from_its_files(tmp_path: Path) -> None:
    y = np.arange(50) % 3
    write_store(tmp_path / "store", [(X, y)], ["a", "b", "c"], provenance={}, shard_rows=20)
    stored: Features = read_store(tmp_path / "store")
    resident, streamed = sources(stored.X, "cpu", torch.float32)
    index = torch.randperm(50)
    assert torch.equal(resident.take(index), streamed.take(index))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64])
def test_mapped_rows_are_those_in_memory_to_the_bit(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows_module, "READ_HERE", 99 * 33)
    raw = 1000 * RNG.normal(size=(500, 99))
    raw[7] = 0
    shards = Shards(np.array_split(raw.astype(dtype), 3))
    mapped = Mapped(shards, name="training")
    resident = Resident.load(
        torch.from_numpy(raw.astype(dtype)), unit_rows, device=torch.device("cpu"), dtype=torch.float32, name="training"
    )
    room = mapped.room(200)
    for count in (200, 131, 1):
        index = torch.randint(500, (count,))
        assert torch.equal(mapped.draw(index, room), resident.take(index))
        assert torch.equal(mapped.take(index), resident.take(index))
    broken = raw.copy()
    broken[333, 5] = np.inf
    with pytest.raises(UserError, match="row 333"):
        Mapped(Shards([broken]), name="training")


@pytest.mark.parametrize("shots", [None, 3])
def test_features_that_stay_in_their_file_give_the_same_classifier(
    shots: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    y = torch.arange(300) % 3
    raw = (RNG.normal(size=(300, 5)) + 2 * np.eye(3, 5)[y.numpy()]).astype(np.float32)
    options = {"protocol": replace(COG_V2_SHORT, batch=64, trials=2, round_size=2, epochs=3), "shots": shots}
    ways = []
    for many in (1 << 26, 0):
        monkeypatch.setattr("unseen.probes.sgd.trainer.MANY", many)
        ways.append(probe_logistic(Shards([raw]), y, torch.from_numpy(raw), y, **options))
    assert torch.equal(ways[0].weights, ways[1].weights)
    assert (ways[0].top1, ways[0].trials) == (ways[1].top1, ways[1].trials)


@pytest.mark.parametrize("kind", [Resident.load, Streamed])
def test_bad_rows_are_named(kind: type) -> None:
    broken = torch.ones(20_000, 2)
    broken[17_000, 1] = torch.nan
    options = {"device": torch.device("cpu"), "dtype": torch.float32, "name": "training"}
    with pytest.raises(UserError, match="training features contain values that are not finite: row 17,000"):
        kind(broken, unit_rows, **options)


@pytest.mark.parametrize("kind", [Resident.load, Streamed])
def test_rows_of_zeros_keep_their_bias(kind: type) -> None:
    rows = torch.ones(20, 2)
    rows[18] = 0
    found = kind(rows, unit_rows, device=torch.device("cpu"), dtype=torch.float32, name="training")
    assert found.take(torch.tensor([18])).tolist() == [[0, 0, 1]]
