"""The feature maps of a backbone used by detectors and segmentation heads: C2 to C5, at strides 4, 8, 16 and 32."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import device_of
from unseen.errors import UserError

STRIDES = (4, 8, 16, 32)
STAGES = ("layer1", "layer2", "layer3", "layer4")
"""Names of a ResNet's stages, in torchvision and in timm."""
PROBED = 128
"""Side of the image used to find out which maps a network has."""


class Pyramid(nn.Module):
    """A network that returns its four maps: images (b, 3, h, w) → "0" … "3", (b, c, h/4, w/4) … (b, c, h/32, w/32).

    ResNets are cut at the ends of their stages. Other CNNs of timm declare where their maps are.

    Attributes:
        channels: channels of the four maps.
        resnet: whether it is a ResNet, like all networks of the paper.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.resnet = all(hasattr(network, name) for name in STAGES)
        if not self.resnet and not hasattr(network, "forward_intermediates"):
            raise UserError("is neither a ResNet nor a network of timm that gives the maps of its stages")
        with torch.inference_mode():
            maps = list(self.eval()(_probe(network)).values())
        if [round(PROBED / each.shape[-1]) for each in maps] != list(STRIDES):
            strides = ", ".join(f"{PROBED / each.shape[-1]:g}" for each in maps)
            raise UserError(f"gives maps at strides {strides}; 4, 8, 16 and 32 are needed, as CNNs have them")
        self.channels = tuple(each.shape[1] for each in maps)

    def forward(self, images: Tensor) -> "OrderedDict[str, Tensor]":
        if self.resnet:
            return self._by_stages(images)
        network: Any = self.network
        maps = network.forward_intermediates(images, indices=len(STRIDES), intermediates_only=True)
        return OrderedDict((str(place), each) for place, each in enumerate(maps))

    def _by_stages(self, images: Tensor) -> "OrderedDict[str, Tensor]":
        maps: OrderedDict[str, Tensor] = OrderedDict()
        x = images
        for name, part in self.network.named_children():
            x = part(x)
            if name in STAGES:
                maps[str(STAGES.index(name))] = x
            if name == STAGES[-1]:
                break
        return maps


class LastMap(nn.Module):
    """The last of a pyramid's maps."""

    def __init__(self, pyramid: Pyramid) -> None:
        super().__init__()
        self.pyramid = pyramid

    def forward(self, images: Tensor) -> Tensor:
        last: Tensor = self.pyramid(images)["3"]
        return last


def freeze(modules: Iterable[nn.Module]) -> None:
    """Freeze the parameters of modules."""
    for module in modules:
        module.requires_grad_(False)


class Frozen(nn.Module):
    """A frozen network: nothing in it is trained, and it always runs in evaluation mode."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network.requires_grad_(False)

    def train(self, mode: bool = True) -> "Frozen":
        super().train(mode)
        self.network.eval()
        return self

    def forward(self, images: Tensor) -> Any:
        return self.network(images)


class FrozenNorms(nn.Module):
    """A network with frozen batch norms (statistics, weights and biases) in any mode."""

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
    """Freeze the stem and all stages before the last: the paper's "frozen" detectors train stage 5.

    The last stage consists of the parameters that the last map depends on and the one before it does not, determined by
    gradients. In a ResNet this is `layer4`; other CNNs have no such names.
    """
    parameters = [each for each in pyramid.parameters() if each.requires_grad]
    with torch.enable_grad():
        maps = pyramid.eval()(_probe(pyramid.network))
        early, last = (
            torch.autograd.grad(maps[name].sum(), parameters, retain_graph=True, allow_unused=True)
            for name in ("2", "3")
        )
    for parameter, before, after in zip(parameters, early, last, strict=True):
        parameter.requires_grad_(after is not None and before is None)


def dilate(pyramid: Pyramid) -> None:
    """Modify a CNN in place so that its last map has stride 8 instead of 32: later layers get dilated kernels.

    A convolution of stride 2 becomes one of stride 1, and those after it are dilated, as in MIT's public code for
    semantic segmentation: a layer whose input had stride s is dilated by s/8.
    """
    inputs = _input_strides(pyramid)
    for module, stride in inputs.items():
        if stride < STRIDES[1]:
            continue
        reach = stride // STRIDES[1]
        if isinstance(module, nn.Conv2d):
            module.stride = (1, 1)
            if module.kernel_size[0] > 1:
                module.dilation = (reach, reach)
                if module.padding != (0, 0):  # layers with TensorFlow padding determine their padding themselves
                    module.padding = tuple(reach * (side // 2) for side in module.kernel_size)
        else:
            module.kernel_size = module.stride = 1  # ResNet-D pools in its shortcuts
    with torch.inference_mode():
        last = pyramid.eval()(_probe(pyramid.network))["3"]
    if last.shape[-1] != PROBED // STRIDES[1]:
        raise UserError("cannot be dilated to stride 8, as its layers have no padding that could grow with them")


def _input_strides(pyramid: Pyramid) -> dict[nn.Conv2d | nn.AvgPool2d, int]:
    """The stride, relative to the image, of the input of each convolution and of each pooling that halves a map."""
    strides: dict[nn.Conv2d | nn.AvgPool2d, int] = {}

    def note(module: Any, inputs: tuple[Tensor, ...]) -> None:
        strides[module] = round(PROBED / inputs[0].shape[-1])

    layers = [
        each
        for each in pyramid.modules()
        if isinstance(each, nn.Conv2d) or (isinstance(each, nn.AvgPool2d) and each.stride in (2, (2, 2)))
    ]
    handles = [layer.register_forward_pre_hook(note) for layer in layers]
    try:
        with torch.inference_mode():
            pyramid.eval()(_probe(pyramid.network))
    finally:
        for handle in handles:
            handle.remove()
    return strides


def _probe(network: nn.Module) -> Tensor:
    return torch.zeros(1, 3, PROBED, PROBED, device=device_of(network))


def _norms(network: nn.Module) -> list[nn.Module]:
    return [module for module in network.modules() if isinstance(module, nn.modules.batchnorm._BatchNorm)]
