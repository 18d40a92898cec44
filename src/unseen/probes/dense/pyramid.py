"""The maps inside a backbone that detectors and segmentation heads build on: C2 to C5, at strides 4, 8, 16 and 32."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, device_of
from unseen.errors import UserError

STRIDES = (4, 8, 16, 32)
STAGES = ("layer1", "layer2", "layer3", "layer4")
"""Of a ResNet, in torchvision and in timm."""
PROBED = 128
"""Side of the image that shows which maps a network has."""


class Pyramid(nn.Module):
    """A network that gives its four maps: images (b, 3, h, w) → "0" … "3", (b, c, h/4, w/4) … (b, c, h/32, w/32).

    ResNets are cut at the ends of their stages. Other CNNs of timm say themselves where their maps are.

    Attributes:
        channels: of the four maps.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.stages = all(hasattr(network, name) for name in STAGES)
        if not self.stages and not hasattr(network, "forward_intermediates"):
            raise UserError("is neither a ResNet nor a network of timm that gives the maps of its stages")
        side = PROBED
        with torch.inference_mode():
            maps = list(self.eval()(torch.zeros(1, 3, side, side, device=device_of(network))).values())
        if [round(side / each.shape[-1]) for each in maps] != list(STRIDES):
            found = ", ".join(f"{side / each.shape[-1]:g}" for each in maps)
            raise UserError(f"gives maps at strides {found}; 4, 8, 16 and 32 are needed, as CNNs have them")
        self.channels = tuple(each.shape[1] for each in maps)

    def forward(self, images: Tensor) -> "OrderedDict[str, Tensor]":
        if self.stages:
            return self._by_stages(images)
        network: Any = self.network
        maps = network.forward_intermediates(images, indices=len(STRIDES), intermediates_only=True)
        return OrderedDict((str(place), each) for place, each in enumerate(maps))

    def _by_stages(self, images: Tensor) -> "OrderedDict[str, Tensor]":
        found: OrderedDict[str, Tensor] = OrderedDict()
        x = images
        for name, part in self.network.named_children():
            x = part(x)
            if name in STAGES:
                found[str(STAGES.index(name))] = x
            if name == STAGES[-1]:
                break
        return found


def pyramid_of(backbone: Backbone) -> Pyramid:
    """The pyramid of a loaded backbone, which shares its weights."""
    network = getattr(backbone.module, "network", backbone.module)
    try:
        return Pyramid(network)
    except UserError as error:
        raise UserError(f"{backbone.spec.id}: {error}") from None


def freeze(modules: Iterable[nn.Module]) -> None:
    """Keep the parameters of modules as they are."""
    for module in modules:
        module.requires_grad_(False)


class FrozenNorms(nn.Module):
    """A network whose batch norms stay as they are, statistics, weights and biases, whatever mode it is set to."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        freeze(_norms(network))

    def train(self, mode: bool = True) -> "FrozenNorms":
        super().train(mode)
        for norm in _norms(self.network):
            norm.eval()
        return self

    def forward(self, images: Tensor) -> Any:
        return self.network(images)


def freeze_early_stages(pyramid: Pyramid) -> None:
    """Keep the stem and the stages before the last as they are: the paper's "frozen" detectors train stage 5."""
    if not pyramid.stages:
        raise UserError("only of a ResNet is it known which layers are its last stage")
    last = STAGES[-1]
    freeze(part for name, part in pyramid.network.named_children() if name != last)


def dilate(network: nn.Module) -> None:
    """Change a ResNet, in place, so that its last map has stride 8 instead of 32: stages 4 and 5 get dilated kernels.

    A convolution of stride 2 becomes one of stride 1, and those after it see twice as far: the first of a stage by half
    the stage's dilation, as in the public code of MIT's semantic segmentation.
    """
    if not all(hasattr(network, name) for name in STAGES):
        raise UserError("only ResNets can be dilated")
    for name, dilation in (("layer3", 2), ("layer4", 4)):
        for module in network.get_submodule(name).modules():
            if isinstance(module, nn.Conv2d):
                strided = module.stride == (2, 2)
                reach = dilation // 2 if strided else dilation
                module.stride = (1, 1) if strided else module.stride
                if module.kernel_size == (3, 3):
                    module.dilation, module.padding = (reach, reach), (reach, reach)
            elif isinstance(module, nn.AvgPool2d) and module.stride in (2, (2, 2)):
                module.kernel_size = module.stride = 1  # ResNet-D pools in its shortcuts


def _norms(network: nn.Module) -> list[nn.Module]:
    return [module for module in network.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
