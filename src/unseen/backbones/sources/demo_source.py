"""The demo's networks as backbones: `demo:supervised`, `demo:mixup`, `demo:simclr`, `demo:untrained`.

They were trained on drawings of 28 × 28 pixels, white ink on black, and accept any size that is a multiple of four. The
features of an image are the mean over positions. The demo itself first centres each drawing, which has no meaning for
an image of several objects.
"""

import hashlib
from pathlib import Path

from torch import Tensor, nn

from unseen.backbones.network import Network, Request, Source, refuse_checkpoint
from unseen.backbones.tiny_cnn import SIDE, load
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean

WEIGHTS = Path(__file__).parents[2] / "demo/weights"


class GreyMaps(nn.Module):
    """Images (b, 3, h, w) in 0 … 1 → maps (b, 256, h/4, w/4) of their mean over colours."""

    def __init__(self, layers: nn.Module) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, images: Tensor) -> Tensor:
        maps: Tensor = self.layers(images.mean(dim=1, keepdim=True))
        return maps


def demo_network(request: Request) -> Network:
    """The network of `demo:name`."""
    refuse_checkpoint(request)
    names = sorted(file.stem for file in WEIGHTS.glob("*.safetensors"))
    if request.name not in names:
        hint = did_you_mean(request.name, names) or f"; there are {', '.join(names)}"
        raise UserError(f"{request.id}: the demo has no network of that name{hint}")
    if request.random:
        raise UserError(f"{request.id}: has fixed weights; for random weights use demo:untrained")
    file, size = WEIGHTS / f"{request.name}.safetensors", request.size or SIDE
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    plain = Transform(size, size, "bilinear", mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    return Network(GreyMaps(load(file).layers), f"sha256:{digest}", plain, pool="avg", layer="maps")


SOURCE = Source("demo", demo_network)
