"""The probe `linear`: how many samples its last fit is said to have."""

import pytest
import torch

from unseen.probes.by_name.linear import Linear
from unseen.probes.probe import ProbeData, ValidationData
from unseen.probes.samples import SamplesPerClass

Y, Y_VAL = (torch.arange(3).repeat_interleave(torch.tensor(counts)) for counts in ([1, 6, 4], [4, 2, 1]))


def data(y: torch.Tensor, *, own: bool) -> ProbeData:
    held = ValidationData(torch.zeros(len(Y_VAL), 2), Y_VAL) if own else None
    return ProbeData(torch.zeros(len(y), 2), y, torch.zeros(3, 2), torch.arange(3), 3, validation=held)


@pytest.mark.parametrize(
    ("shots", "own", "expected"),
    [(2, True, (3, 4, 5)), (None, True, (5, 5, 8)), (2, False, (1, 2, 2)), (None, False, (1, 4, 6))],
)
def test_validation_samples_are_counted_if_the_refit_has_them(
    shots: int | None, own: bool, expected: tuple[int, int, int]
) -> None:
    assert Linear().samples(data(Y, own=own), shots) == SamplesPerClass(*expected)
    assert Linear().samples(data(torch.eye(3).bool(), own=False), shots) is None
