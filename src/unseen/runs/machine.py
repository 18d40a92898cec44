"""Which devices, or which cluster, jobs run on: from what a user asks for to `Means`."""

import re
from collections.abc import Sequence

from unseen.device import gpu_count, on_gpu
from unseen.errors import UserError
from unseen.runs.executors import check_executor
from unseen.runs.means import Means

RAY = "ray"


def chosen_means(
    workers: int,
    *,
    devices: str | Sequence[str | int] | None = None,
    executor: str | None = None,
    ray_address: str | None = None,
    every_gpu: bool = False,
) -> Means:
    """What to run jobs with.

    Args:
        workers: processes, where jobs run on a CPU of this machine; 0, where none but this one decodes, is one.
        devices: "all" GPUs that are visible, or some of them, as "0,1,3"; "cpu,cpu" for processes that stand in.
        executor: the name of one.
        ray_address: of a cluster, for the executor of that name.
        every_gpu: whether all GPUs are taken where nothing is said of devices.
    """
    workers = max(workers, 1)
    if executor is not None:
        check_executor(executor)
    if ray_address is not None and executor != RAY:
        raise UserError("--ray-address is for --executor ray; add that, or leave it out")
    if devices is not None and executor not in {None, "devices"}:
        raise UserError(f"--devices are of this machine, and --executor {executor} has its own; leave one of them out")
    if executor == RAY:
        return Means(workers, executor=RAY, ray_address=ray_address or "")
    if devices is None and every_gpu and executor is None:
        found = visible_gpus()
        chosen = found if len(found) > 1 else ()
    else:
        chosen = () if devices is None else parse_devices(devices)
    count = len(chosen) if chosen and chosen[0] == "cpu" else workers
    return Means(count, devices=chosen, executor=executor or "")


def decoders_each(means: Means) -> int:
    """Processes that decode images for each job: a worker without a GPU does that itself."""
    if not means.spread:
        return means.workers
    return max(means.workers // means.places, 1) if on_gpu() else 0


def parse_devices(devices: str | Sequence[str | int]) -> tuple[str, ...]:
    """Devices as `cuda:0` or `cpu`, if this machine has them."""
    words = [str(word).strip() for word in (devices.split(",") if isinstance(devices, str) else devices)]
    gpus = visible_gpus()
    if words == ["all"]:
        if not gpus:
            raise UserError("--devices all: PyTorch finds no GPU on this machine")
        return gpus
    found = tuple(_device(word) for word in words)
    if set(found) == {"cpu"}:
        if gpus:
            raise UserError("--devices cpu: jobs here are planned for a GPU; hide it first (CUDA_VISIBLE_DEVICES=)")
        return found
    lacking = next((name for name in found if name not in gpus), None)
    if lacking == "cpu":
        raise UserError("--devices: CPUs and GPUs cannot be mixed, as they round differently")
    if lacking is not None:
        has = f"{len(gpus)} GPUs, counted from 0" if gpus else "no GPU"
        raise UserError(f"--devices {lacking.removeprefix('cuda:')}: PyTorch finds {has} on this machine")
    if len(set(found)) < len(found):
        raise UserError("--devices: a GPU is given twice; one process drives each")
    return found


def visible_gpus() -> tuple[str, ...]:
    """The GPUs that PyTorch finds."""
    return tuple(f"cuda:{number}" for number in range(gpu_count()))


def _device(word: str) -> str:
    if word == "cpu":
        return word
    number = re.fullmatch(r"(?:cuda:)?([0-9]{1,4})", word)
    if not number:
        raise UserError(
            f"--devices is all, numbers of GPUs with commas, as 0,1,3, or cpu for each process, not '{word}'"
        )
    return f"cuda:{int(number[1])}"
