"""The demo's small convolutional network: one architecture, several sets of weights."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

SIDE = 28
FEATURES = 256


def centre(images: Tensor) -> Tensor:
    """Shift each drawing by whole pixels so that the bounding box of its ink is centred."""
    inked = images.squeeze(1) > 0.1
    for axis in (2, 3):
        lines = inked.any(dim=4 - axis)  # (n, side): which rows or columns contain ink
        before = lines.int().argmax(dim=1)  # empty lines before the first inked one; 0 if there is no ink
        after = lines.flip(1).int().argmax(dim=1)
        shift = torch.div(after - before, 2, rounding_mode="floor")
        side = images.shape[axis]
        source = (torch.arange(side, device=images.device) - shift[:, None]) % side
        index = source[:, None, :, None] if axis == 2 else source[:, None, None, :]
        images = images.gather(axis, index.expand_as(images))
    return images


class Block(nn.Module):
    """Two 3×3 convolutions and a skip connection, a 1×1 convolution if the shape changes."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.skip: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.skip = nn.Sequential(nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after))

    def forward(self, maps: Tensor) -> Tensor:
        """The maps after both convolutions, added to the input maps."""
        inner = torch.relu(self.norm1(self.conv1(maps)))
        return torch.relu(self.norm2(self.conv2(inner)) + self.skip(maps))


class TinyCNN(nn.Module):
    """A residual network of eight layers and 395,488 parameters, from drawings to 256 features."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 32, 3, 1, 1, bias=False),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            Block(32, 64, 2),  # 14×14 from here
            Block(64, 64, 1),
            Block(64, 128, 2),  # 7×7 from here
            nn.Conv2d(128, FEATURES, 1, bias=False),
            nn.BatchNorm2d(FEATURES),
            nn.ReLU(),
        )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, images: Tensor) -> Tensor:
        """Features (n, 256) of images (n, 1, 28, 28) with ink 1 on background 0; each is centred first."""
        return self.maps(images).mean(dim=(2, 3))

    def maps(self, images: Tensor) -> Tensor:
        """The last maps (n, 256, 7, 7) of such images, whose mean is their features."""
        maps: Tensor = self.layers(centre(images).contiguous(memory_format=torch.channels_last))
        return maps


def load(path: Path) -> TinyCNN:
    """The network with the weights stored in `path` (float16 there, float32 here), in evaluation mode."""
    network = TinyCNN()
    network.load_state_dict(load_file(path))
    return network.eval()
