"""Occlusion saliency against captum, a plain loop and cases by hand."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from saliency import captum_map, ours, plain_loop
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.probes.saliency.attention import attention_map, diffusion, relative_errors
from unseen.probes.saliency.grid import GRIDS, Grid, parse_grid
from unseen.probes.saliency.occlusion import occluded, occlusion_errors
from unseen.probes.saliency.protocol import SaliencyProtocol


def network(size: int) -> Backbone:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 6, 3, 2), nn.ReLU(), nn.Conv2d(6, 8, 3), nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return Backbone(Spec("x", "", "", "avg", 32, 0, Transform(size, size)), layers.double().eval())


def picture(size: int) -> Tensor:
    return torch.randn(3, size, size, generator=torch.Generator().manual_seed(1)).double()


def test_the_passes_of_the_named_grids_are_those_of_the_paper_and_its_cheaper_kin() -> None:
    assert [grid.passes(224) for grid in GRIDS.values()] == [54_289, 13_456, 3_249, 841]
    assert [grid.padded(224) for grid in GRIDS.values()] == [242, 240, 232, 240]


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 40))
def test_every_pixel_is_covered_equally_often(cover: int, stride: int, size: int) -> None:
    grid = Grid(cover * stride, stride)
    places = torch.arange(grid.passes(size))
    hidden = occluded(torch.ones(3, size, size), grid, places)[:, 0] == 0
    assert (hidden.sum(dim=0) == cover**2).all()
    assert hidden.flatten(1).any(dim=1).all()  # no mask lies outside


def test_a_map_is_the_mean_over_the_masks_that_cover_a_pixel() -> None:
    grid, size = Grid(4, 2), 7  # the last masks hang over the edge by a pixel more than the first
    side = grid.side(size)
    errors = torch.rand(side, side, generator=torch.Generator().manual_seed(0)).double()
    hidden = occluded(torch.ones(3, size, size), grid, torch.arange(side**2))[:, 0] == 0
    means = (hidden * errors.reshape(-1, 1, 1)).sum(dim=0) / hidden.sum(dim=0)
    torch.testing.assert_close(attention_map(errors, grid, size), means)


@pytest.mark.parametrize(("grid", "size"), [(Grid(4, 1), 9), (Grid(4, 2), 12), (Grid(6, 3), 12)], ids=str)
def test_maps_are_those_of_captum_and_of_a_plain_loop(grid: Grid, size: int) -> None:
    backbone, image = network(size), picture(size)
    found = ours(backbone, image, grid, batch=7)
    torch.testing.assert_close(found, plain_loop(backbone, image, grid), rtol=1e-6, atol=0)
    torch.testing.assert_close(found, captum_map(backbone, image, grid, 5).double(), rtol=1e-5, atol=1e-7)


def test_errors_are_relative_to_the_spread_of_the_clean_features() -> None:
    clean = torch.tensor([1.0, 2.0, 3.0])  # squared distances from the mean: 1 + 0 + 1
    found = relative_errors(torch.tensor([[1.0, 2.0, 3.0], [2.0, 2.0, 4.0], [1.0, 4.0, 3.0]]), clean)
    assert found.tolist() == pytest.approx([0, 1, np.sqrt(2)])
    assert relative_errors(100 * torch.tensor([[2.0, 2.0, 4.0]]), 100 * clean).tolist() == pytest.approx([1])


def test_diffusion_is_the_share_above_the_mean() -> None:
    assert diffusion(torch.tensor([[0.0, 1.0], [1.0, 6.0]])) == 0.25  # the mean is 2
    assert diffusion(torch.tensor([[0.0, 5.0], [5.0, 6.0]])) == 0.75
    assert diffusion(torch.ones(3, 3)) == 0


def test_batches_do_not_matter_and_are_told() -> None:
    backbone, image, grid = network(8), picture(8), Grid(4, 2)
    told = list[int]()
    one = occlusion_errors(backbone, image, grid, 1, step=told.append)
    assert told == list(range(26))  # the clean image, then 5 × 5 masks
    many = occlusion_errors(backbone, image, grid, 100, step=told.append)
    assert told[-1] == 25
    torch.testing.assert_close(one, many)


def test_features_without_a_use_are_refused() -> None:
    image, grid = picture(8), Grid(4, 2)
    with pytest.raises(UserError, match="not finite numbers"):
        occlusion_errors(lambda images: torch.full((len(images), 3), torch.nan), image, grid, 9)
    with pytest.raises(UserError, match="same in all dimensions"):
        occlusion_errors(lambda images: torch.ones(len(images), 3), image, grid, 9)
    clean = picture(8)

    def fails_behind_masks(images: Tensor) -> Tensor:
        hidden = (images != clean).flatten(1).any(dim=1, keepdim=True)
        return torch.where(hidden, torch.inf, torch.arange(3.0))

    with pytest.raises(UserError, match="behind a mask"):
        occlusion_errors(fails_behind_masks, image, grid, 9)


@pytest.mark.parametrize("text", ["10", "10/3", "0/0", "4/8", "10:2", "-4/2"])
def test_grids_that_cannot_be(text: str) -> None:
    with pytest.raises(UserError, match="grid"):
        parse_grid(text)


def test_a_mask_larger_than_the_image_is_refused() -> None:
    with pytest.raises(UserError, match="28 × 28 pixels, smaller than the mask of 32 × 32"):
        Grid(32, 8).check(28, "mine")
    Grid(28, 4).check(28, "mine")


def test_images_are_prepared_as_in_the_paper_whatever_the_grid() -> None:
    protocols = [SaliencyProtocol.of(grid) for grid in GRIDS.values()]
    assert [each.name for each in protocols] == [
        "ericsson-2021-saliency", "saliency-10-2", "saliency-8-4", "saliency-16-8",
    ]  # fmt: skip
    found = {each.transform(Transform(224, 256)) for each in protocols}
    assert found == {Transform(224, 242, squash=True)}
    assert protocols[0].transform(Transform(28, 28)).resize == 30
