"""The nearest rows of a gallery against sorting all products, with ties, exclusions, and rows on disk."""

from pathlib import Path

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from torch import Generator, Tensor

from unseen.errors import UserError
from unseen.probes import neighbours
from unseen.probes.neighbours import NOBODY, TILE, UnitRows, nearest

TILES = neighbours.tiles


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


@pytest.mark.parametrize("ties", ["any", "first"])
def test_neighbours_over_tiles_equal_those_of_the_whole(ties: neighbours.Ties) -> None:
    rows, queries = numbers(2 * TILE + 4000, 4), numbers(30, 4, seed=1)
    values, found = nearest(queries, rows, 300, ties=ties)
    expected = (queries @ rows.T).sort(dim=1, descending=True)
    assert torch.allclose(values, expected.values[:, :300], atol=1e-5)
    assert torch.allclose((queries[:, None] * rows[found]).sum(dim=2), values, atol=1e-5)
    assert all(len(set(row)) == 300 for row in found.tolist())


@examples(60)
@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=40),
    st.integers(1, 12), st.integers(1, 9), st.booleans(),
)  # fmt: skip
def test_of_equal_products_the_first_rows_win(
    points: list[tuple[int, int]], k: int, tile: int, leave_one_out: bool
) -> None:
    """Products of small integers are exact, so ties are exact too; so are those of 0 and −0."""
    rows = torch.tensor(points, dtype=torch.float32)
    own = torch.arange(len(rows)) if leave_one_out else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "tiles", lambda gallery: TILES(gallery, tile))
        values, found = nearest(rows, rows, k, own)
    for query, (x, y) in enumerate(points):
        scored = sorted(((-(x * a + y * b), row) for row, (a, b) in enumerate(points)))
        expected = [(row, -score) for score, row in scored if not leave_one_out or row != query][:k]
        pairs = list(zip(found[query].tolist(), values[query].tolist(), strict=True))
        assert [pair for pair in pairs if pair[0] != NOBODY] == expected
        assert all(score == -torch.inf for row, score in pairs if row == NOBODY)


def test_rows_on_disk_are_read_in_tiles(tmp_path: Path) -> None:
    X = numbers(500, 8).numpy().astype(np.float16)
    X[7] = 0
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    units = torch.nn.functional.normalize(torch.from_numpy(X).float(), dim=1)
    values, found = nearest(units[:20], UnitRows(mapped, torch.device("cpu")), 6)
    direct = nearest(units[:20], units, 6)
    assert torch.allclose(values, direct[0], atol=1e-6)
    assert torch.equal(found, direct[1])
    assert not bool(values[7].any())
    assert found[7].tolist() == [0, 1, 2, 3, 4, 5]


def test_what_cannot_be_searched_is_refused() -> None:
    rows = numbers(4, 2)
    for queries, gallery, k, exclude in (
        (rows, rows, 0, None), (rows, rows[:0], 1, None), (rows, rows, 1, torch.tensor([0])),
    ):  # fmt: skip
        with pytest.raises(UserError):
            nearest(queries, gallery, k, exclude)
