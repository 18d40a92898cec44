"""Backbones of the user's own: `path/to/file.py:function`, or `path/to/file.py`, whose function is `backbone`.

The function takes nothing and returns (module, Transform), where the module takes normalised images to features, or a
Backbone. The file is the user's own code, and runs.
"""

from pathlib import Path

from torch import nn

from unseen.backbones.backbone import Backbone
from unseen.backbones.network import Network, Request, refuse_checkpoint
from unseen.backbones.pooling import layout_of
from unseen.errors import UserError
from unseen.images.transform import Transform
from unseen.own_code import attribute_of, own_file, own_place, running

FUNCTION = "backbone"
"""What the function is called where the user does not say."""


def python_network(request: Request) -> Network | Backbone:
    refuse_checkpoint(request)
    if request.random:
        raise UserError(f"{request.id}: its weights are up to its function; write one that gives random ones")
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
            # Another network may come from the same weights when the code changes: the file is part of what they are.
            return Network(
                module=module,
                weights=f"sha256:{file.digest} ({file.path.name})",
                transform=transform,
                layer="output",
                layout=layout_of(module),
            )
    raise UserError(f"{request.id}: must return (module, Transform) or a Backbone, not {type(made).__name__}")
