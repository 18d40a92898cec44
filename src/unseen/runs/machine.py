"""The devices or the cluster that jobs run on: from the user's options to `Means`."""

import re
from collections.abc import Sequence

from unseen.device import gpu_count, on_gpu
from unseen.errors import UserError, argument, option
from unseen.runs.executors import check_executor
from unseen.runs.means import Means

RAY = "ray"


def chosen_means(
    workers: int,
    *,
    devices: str | Sequence[str | int] | None = None,
    executor: str | None = None,
    every_gpu: bool = False,
) -> Means:
    """The hardware to run jobs on.

    Args:
        workers: number of processes if jobs run on the CPU of this machine; with 0, there is one job at a time, and its
            process decodes images too.
        devices: "all" visible GPUs, or some of them such as "0,1,3"; "cpu,cpu" for two processes without a GPU.
        executor: name of an executor; "ray:ADDRESS" for a cluster at an address.
        every_gpu: use all GPUs if `devices` is not given.
    """
    if workers < 0:
        raise UserError(f"{argument('workers')} must be at least 0, not {workers}")
    decoders, workers = (0, 1) if workers == 0 else (None, workers)
    executor, address = _executor(executor)
    if devices is not None and executor not in {None, "devices"}:
        raise UserError(
            f"{argument('devices')} selects GPUs of this machine, but {option('executor', executor)} chooses its own; "
            "leave out one of them"
        )
    if executor == RAY:
        return Means(workers, executor=RAY, ray_address=address, decoders=decoders)
    if devices is None and every_gpu and executor is None:
        found = visible_gpus()
        chosen = found if len(found) > 1 else ()
    else:
        chosen = () if devices is None else parse_devices(devices)
    count = len(chosen) if chosen and chosen[0] == "cpu" else workers
    return Means(count, devices=chosen, executor=executor or "", decoders=decoders)


def _executor(word: str | None) -> tuple[str | None, str]:
    """The name of an executor, and the address of a cluster if one is given."""
    if word is None:
        return None, ""
    name, colon, address = word.partition(":")
    if colon and (name != RAY or not address):
        raise UserError(f"{option('executor', word)}: only {RAY} has an address: {RAY}:ADDRESS")
    check_executor(name)
    return name, address


def decoders_each(means: Means) -> int:
    """Number of processes that decode images per job; a worker without a GPU decodes by itself."""
    if not means.spread:
        return means.decoding
    return max(means.workers // means.places, 1) if on_gpu() else 0


def parse_devices(devices: str | Sequence[str | int]) -> tuple[str, ...]:
    """Devices as `cuda:0` or `cpu`; devices that this machine does not have are refused."""
    words = [str(word).strip() for word in (devices.split(",") if isinstance(devices, str) else devices)]
    gpus = visible_gpus()
    if words == ["all"]:
        if not gpus:
            raise UserError(f"{option('devices', 'all')}: PyTorch finds no GPU on this machine")
        return gpus
    found = tuple(_device(word) for word in words)
    if set(found) == {"cpu"}:
        if gpus:
            raise UserError(
                f"{option('devices', 'cpu')}: jobs on this machine are planned for its GPU; hide it first "
                "(CUDA_VISIBLE_DEVICES=)"
            )
        return found
    lacking = next((name for name in found if name not in gpus), None)
    if lacking == "cpu":
        raise UserError(
            f"{argument('devices')}: CPUs and GPUs cannot be mixed, since they round differently; give only one kind"
        )
    if lacking is not None:
        has = f"{len(gpus)} GPUs, counted from 0" if gpus else "no GPU"
        number = int(lacking.removeprefix("cuda:"))
        raise UserError(f"{option('devices', number)}: PyTorch finds {has} on this machine")
    if len(set(found)) < len(found):
        raise UserError(f"{argument('devices')}: a GPU is given twice; each is used by one process")
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
            f"{argument('devices')} must be all, numbers of GPUs such as 0,1,3, or cpu once per process, not '{word}'"
        )
    return f"cuda:{int(number[1])}"
