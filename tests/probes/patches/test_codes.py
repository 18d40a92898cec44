"""Maps as codes and back."""

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.probes.patches.codes import (
    UNLABELLED,
    ClassCodes,
    DepthCodes,
    NormalCodes,
    normal_codes,
    patch_histograms,
)


def one_hot(codes: np.ndarray, count: int) -> torch.Tensor:
    return torch.nn.functional.one_hot(torch.tensor(codes.astype(np.int64)), count).permute(2, 0, 1).double()


def test_classes_are_their_own_codes() -> None:
    labels = np.array([[0, 2], [255, 1]], dtype=np.uint8)
    assert ClassCodes(3).encode(labels).tolist() == [[0, 2], [UNLABELLED, 1]]


def test_depths_come_back_within_half_a_bin() -> None:
    depths = np.random.default_rng(0).uniform(0.01, 9.9, (5, 7)).astype(np.float32)
    codes = DepthCodes().encode(depths)
    found = DepthCodes().decode(one_hot(codes, 256)).numpy()
    assert np.abs(found - depths).max() <= 0.5 * (10 - 0.001) / 256 + 1e-6
    assert DepthCodes().encode(np.zeros((1, 1), dtype=np.float32)).tolist() == [[UNLABELLED]]


def test_normals_come_back_as_their_nearest_direction() -> None:
    rng = np.random.default_rng(0)
    normals = rng.normal(size=(500, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    codes = normal_codes(torch.tensor(normals), 40)
    assert np.allclose(np.linalg.norm(codes.directions, axis=1), 1, atol=1e-6)
    maps = normals[:20].reshape(4, 5, 3).astype(np.float32)
    found = codes.decode(one_hot(codes.encode(maps), 40)).numpy()
    nearest = ((maps[:, :, None] - codes.directions) ** 2).sum(-1).argmin(-1)
    assert np.allclose(found, codes.directions[nearest], atol=1e-6)
    assert codes.encode(np.zeros((1, 2, 3), dtype=np.float32)).tolist() == [[UNLABELLED] * 2]
    with pytest.raises(UserError, match="40 directions"):
        normal_codes(torch.tensor(normals[:5]), 40)


def test_a_mean_of_opposite_directions_is_finite() -> None:
    codes = NormalCodes(np.array([[0, 0, 1], [0, 0, -1]], dtype=np.float32))
    assert torch.isfinite(codes.decode(torch.full((2, 1, 1), 0.5))).all()


@examples(40)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 5), st.integers(1, 5), st.integers(0, 2**31))
def test_histograms_count_every_labelled_pixel_once(height: int, width: int, h: int, w: int, seed: int) -> None:
    codes = np.random.default_rng(seed).integers(-1, 4, (height, width)).astype(np.int16)
    found = patch_histograms(codes, (h, w), 4)
    assert found.shape == (h * w, 4)
    assert found.sum(axis=0).tolist() == [(codes == code).sum() for code in range(4)]


def test_histograms_of_even_patches() -> None:
    codes = np.arange(16).reshape(4, 4).astype(np.int16) // 8
    assert patch_histograms(codes, (2, 2), 2).tolist() == [[4, 0], [4, 0], [0, 4], [0, 4]]
