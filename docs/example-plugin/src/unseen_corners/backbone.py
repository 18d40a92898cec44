"""A source of backbones: `quarters:mean` gives the mean brightness of the four quarters of an image."""

from torch import nn

from unseen.backbones.network import Network, Request, Source, refuse_checkpoint
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError

SIZE = 16


def quarters(request: Request) -> Network:
    refuse_checkpoint(request)
    if request.name != "mean":
        raise UserError(f"{request.id}: there is only quarters:mean")
    size = request.size or SIZE
    module = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten())
    return Network(module, weights="no weights", transform=Transform(size=size, resize=size), layer="output")


QUARTERS = Source("quarters", quarters)
