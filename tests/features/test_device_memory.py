"""Memory of a GPU, and numbers sent to it."""

import pytest
import torch

from unseen.features.device_memory import SPARE, free_bytes, sent

CPU = torch.device("cpu")


def test_a_cpu_has_no_bound_and_nothing_is_copied_to_it() -> None:
    assert free_bytes(CPU) > 1 << 50
    values = torch.arange(5)
    assert sent(values, CPU) is values


@pytest.mark.gpu
def test_what_earlier_work_has_given_up_is_free() -> None:
    device = torch.device("cuda")
    before = free_bytes(device)
    taken = torch.empty(1 << 30, dtype=torch.uint8, device=device)
    assert before - free_bytes(device) >= 1 << 29
    del taken
    assert torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device) >= 1 << 30
    assert free_bytes(device) > torch.cuda.mem_get_info(device)[0] - SPARE + (1 << 29)


@pytest.mark.gpu
def test_what_is_sent_arrives() -> None:
    device = torch.device("cuda")
    there = [sent(torch.full((1000,), float(number)), device) for number in range(200)]  # their memory is used again
    assert all((values == number).all() for number, values in enumerate(there))
    assert sent(there[0], device) is there[0]
    assert sent(there[0], CPU).device == CPU
