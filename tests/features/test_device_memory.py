"""Memory of a GPU, and numbers sent to it."""

import pytest
import torch

from unseen.features.device_memory import SPARE, free_bytes, sent

CPU = torch.device("cpu")


def test_a_cpu_has_no_bound_and_nothing_is_copied_to_it() -> None:
    assert free_bytes(CPU) > 1 << 50
    values = torch.arange(5)
    assert sent(values, CPU) is values


def test_a_limit_of_the_process_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (
        ("mem_get_info", (60 << 30, 80 << 30)), ("memory_reserved", 6 << 30), ("memory_allocated", 4 << 30),
        ("get_per_process_memory_fraction", 0.25),
    ):  # fmt: skip
        monkeypatch.setattr(torch.cuda, name, lambda _, value=value: value)
    assert free_bytes(torch.device("cuda")) == (20 - 4 << 30) - SPARE
    monkeypatch.setattr(torch.cuda, "get_per_process_memory_fraction", lambda _: 1.0)
    assert free_bytes(torch.device("cuda")) == (60 + 2 << 30) - SPARE


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
