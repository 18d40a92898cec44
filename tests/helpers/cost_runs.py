"""Runs whose backbones have costs and known accuracies, made up instead of measured."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hit_runs import normal_hits, write_hit_run

from unseen.features.costs import BackboneCost, ForwardSpeed
from unseen.runs.record import read_record, write_run


def cost(
    parameters: int | None,
    multiply_adds: int | None = None,
    seconds: float | None = None,
    device: str = "NVIDIA H200",
    together: int = 1,
) -> BackboneCost:
    """A cost; `seconds` are those of 1,000 images."""
    speed = None if seconds is None else ForwardSpeed(1000, seconds, device, "half", 128, together)
    return BackboneCost(384, parameters, multiply_adds, "" if multiply_adds else "not counted here", 224, speed)


def write_cost_run(
    folder: Path, accuracy: Mapping[str, float], costs: Mapping[str, BackboneCost | None], **options: Any
) -> Path:
    """A finished run of backbones with these accuracies and costs."""
    write_hit_run(folder, [*accuracy], options.pop("hits", None) or normal_hits(accuracy, 600), **options)
    data, keys = read_record(folder)
    write_run(
        folder, replace(data, backbones=[replace(each, cost=costs.get(each.name)) for each in data.backbones]), keys
    )
    return folder
