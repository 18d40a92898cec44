"""Where work is done if nobody says: on the GPU, if PyTorch finds one."""

import os
import platform
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def on_gpu() -> bool:
    """Whether there is a GPU to work on."""
    import torch

    return torch.cuda.is_available()


def default_device() -> "torch.device":
    """The GPU, or the CPU where there is none."""
    import torch

    return torch.device("cuda" if on_gpu() else "cpu")


def device_name() -> str:
    """What work is done on: the name of the GPU, or the processor's architecture and its number of cores."""
    import torch

    if on_gpu():
        return torch.cuda.get_device_name()
    return f"CPU ({platform.machine()}, {os.cpu_count()} cores)"
