"""The networks of the pool as backbones: `backbones.py:m0` and so on, by their place in the pool.

This file is copied beside the pool's own files, from which it reads the weights.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from networks import image_encoder, projected  # type: ignore[import-not-found]  # a copy of emoji_shift.networks
from torch import nn

from unseen.data.core.decoding.transform import Transform
from unseen.reading.arrays import read_npz

HERE = Path(__file__).parent
WHITE = Transform(size=32, resize=32, mean=(1.0, 1.0, 1.0), std=(1.0, 1.0, 1.0))
"""White is 0."""


def encoder(number: int) -> tuple[nn.Module, Transform]:
    """The encoder of pictures of a model, and the transform of its pictures."""
    name = MODELS[number]
    network, group, _ = name.split(" ")
    module = projected(network) if group.endswith("-captions") else image_encoder(network)
    state = read_npz(HERE / "weights" / f"{number}.npz")
    module.load_state_dict({key: torch.from_numpy(array).float() for key, array in state.items()})
    return module.eval(), WHITE


MODELS: list[str] = json.loads((HERE / "models.json").read_text())
MAKERS: dict[str, Callable[[], tuple[nn.Module, Transform]]] = {
    f"m{number}": partial(encoder, number) for number in range(len(MODELS))
}
globals().update(MAKERS)
