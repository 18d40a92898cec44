"""Running statistics that are restored, and weights that are checked."""

import pytest
import torch
from torch import nn

from unseen.probes.finetuning.soundness import end_to_end, finite_tensors, restore_unless_finite


def test_buffers_laid_end_to_end_keep_their_values_and_are_views() -> None:
    model = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(70).double(), nn.BatchNorm1d(130)).train()
    for buffer in model.buffers():
        if buffer.is_floating_point():
            buffer.copy_(torch.randn(buffer.shape))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    vectors = end_to_end(model.buffers())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert [vector.dtype for vector in vectors] == [torch.float32, torch.float64]
    for vector in vectors:
        vector.fill_(7)
    assert all((value == 7).all() for name, value in model.state_dict().items() if "running" in name)
    model[0](torch.randn(4, 3))
    assert float(vectors[0].min()) < 7
    assert end_to_end([torch.ones(2, dtype=torch.int64)]) == []


@pytest.mark.parametrize(("loss", "expected"), [(1.0, 3.0), (float("inf"), 2.0), (float("nan"), 2.0)])
def test_statistics_are_restored_after_a_loss_that_is_not_finite(loss: float, expected: float) -> None:
    statistics, before = [torch.full((4,), 3.0)], [torch.full((4,), 2.0)]
    restore_unless_finite(torch.tensor(loss), statistics, before)
    assert statistics[0].tolist() == 4 * [expected]


def test_weights_and_buffers_are_checked_by_name() -> None:
    model = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(3))
    model.register_buffer("mask", torch.tensor([0.0, -torch.inf]))
    every = {"1.weight", "1.bias", "1.running_mean", "1.running_var"}
    assert finite_tensors(model) == every
    assert finite_tensors(nn.Flatten()) == frozenset()
    for name in ("weight", "running_var"):
        model[1].state_dict()[name][1] = torch.nan
    assert finite_tensors(model) == every - {"1.weight", "1.running_var"}
