"""The default device: the GPU, if PyTorch finds one."""

import ctypes
import os
import platform
import re
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

BUILT_FOR = re.compile(r"^(cuda|hip)\b[^=\n]*= *(?:'([0-9.]+)[^'\n]*'|None)", re.MULTILINE)
"""The lines of `torch/version.py` that state which GPUs PyTorch was built for."""


def on_gpu() -> bool:
    """Whether there is a GPU to work on.

    If PyTorch is not imported yet, the driver is queried instead: the answer is the same, and a command with nothing to
    compute, as for a finished run, does not wait seconds for the import.
    """
    known = _known_gpus()
    if known is not None:
        return known > 0
    import torch

    return torch.cuda.is_available()


def gpu_count() -> int:
    """Number of GPUs that PyTorch can use, determined in the same way."""
    known = _known_gpus()
    if known is not None:
        return known
    import torch

    return torch.cuda.device_count()


def _known_gpus() -> int | None:
    """Number of GPUs, if known without PyTorch."""
    return None if "torch" in sys.modules else _driver_gpus()


@cache
def _driver_gpus() -> int | None:
    """Number of GPUs according to the CUDA driver; None if only PyTorch itself can tell."""
    built = _built_for()
    if built is None or "hip" in built:
        return None
    if "cuda" not in built:
        return 0
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count, version = ctypes.c_int(0), ctypes.c_int(0)
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
        return 0
    # A driver supports programs built for its own major version and for earlier ones.
    driver.cuDriverGetVersion(ctypes.byref(version))
    return count.value if version.value // 1000 >= int(built["cuda"].split(".")[0]) else None


def _built_for() -> dict[str, str] | None:
    """What PyTorch was built for, with the version; None if unknown."""
    spec = find_spec("torch")
    if sys.platform != "linux" or spec is None or spec.origin is None:
        return None
    try:
        found = BUILT_FOR.findall(Path(spec.origin).with_name("version.py").read_text(encoding="utf-8"))
    except OSError:
        return None
    return {name: version for name, version in found if version} if found else None


def default_device_type() -> str:
    """`cuda`, or `cpu` if there is no GPU; does not import PyTorch."""
    return "cuda" if on_gpu() else "cpu"


def default_device() -> "torch.device":
    """The GPU, or the CPU if there is none."""
    import torch

    return torch.device(default_device_type())


def device_name() -> str:
    """The name of the GPU, or the processor's architecture and number of cores."""
    return _gpu_name() if on_gpu() else _processor()


def name_of(device: "torch.device") -> str:
    """The name of a device of PyTorch, as `device_name` writes it."""
    import torch

    return torch.cuda.get_device_name(device) if device.type == "cuda" else _processor()


def _processor() -> str:
    return f"CPU ({platform.machine()}, {os.cpu_count()} cores)"


def _gpu_name() -> str:
    """Name of the first GPU, from the driver if PyTorch is not imported."""
    if _known_gpus():
        driver, device, name = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(0), ctypes.create_string_buffer(256)
        if not driver.cuDeviceGet(ctypes.byref(device), 0) and not driver.cuDeviceGetName(name, 256, device):
            return name.value.decode()
    import torch

    return torch.cuda.get_device_name()
