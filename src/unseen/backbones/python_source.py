"""A user's own backbones: `path/to/file.py:function`, or `path/to/file.py`, with a function named `backbone`.

The function takes no arguments and returns (module, Transform), where the module maps normalised images to features, or
a Backbone. The file is the user's own code, and is executed.
"""

from pathlib import Path

from torch import nn

from unseen.backbones.backbone import Backbone
from unseen.backbones.network import Network, Request, refuse_checkpoint
from unseen.backbones.pooling import layout_of
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.extension.own_code import attribute_of, own_file, own_place, running

FUNCTION = "backbone"
"""Default name of the function."""


def python_network(request: Request) -> Network | Backbone:
    refuse_checkpoint(request)
    if request.random:
        raise UserError(f"{request.id}: its function determines the weights; write one that gives random weights")
    place, name = own_place(request.name)
    file = own_file(Path(place))
    function = attribute_of(file, [name or FUNCTION], "function")
    with running(file):
        made = function()
    if isinstance(made, Backbone):
        return made
    if isinstance(made, tuple) and len(made) == 2:
        module, transform = made
        if isinstance(module, nn.Module) and isinstance(transform, Transform):
            if request.size not in (None, transform.size):
                raise UserError(f"{request.id}: the size is in its Transform ({transform.size}); change it there")
            # The same weights may give another network when the code changes, so the file is part of their identifier.
            return Network(
                module=module,
                weights=f"sha256:{file.digest} ({file.path.name})",
                transform=transform,
                layer="output",
                layout=layout_of(module),
            )
    raise UserError(f"{request.id}: must return (module, Transform) or a Backbone, not {type(made).__name__}")
