"""Pooling the positions of a layer's output into one vector per image."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Pool, device_of
from unseen.backbones.forward_pass import find_layer
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, setting

CLASS_TOKENS = ("cls_token", "class_token", "class_embedding")
OTHER_TOKENS = ("dist_token", "distillation_token")


@dataclass(frozen=True)
class Layout:
    """The layout of a network's outputs.

    Attributes:
        prefix: number of tokens before the image's patch tokens in an output (b, n, c).
        class_token: whether the first of them is a class token; others are registers or a distillation token.
        channels_last: whether four-dimensional outputs are (b, h, w, c), not (b, c, h, w).
    """

    prefix: int = 0
    class_token: bool = False
    channels_last: bool = False


PLAIN = Layout()


def layout_of(network: nn.Module) -> Layout:
    """The layout, from the names that timm, torchvision, open_clip, transformers and DINO use for their tokens."""
    holders = (network, getattr(network, "embeddings", None))

    def count(names: tuple[str, ...]) -> int:
        return sum(isinstance(getattr(holder, name, None), Tensor) for holder in holders for name in names)

    class_token = count(CLASS_TOKENS) > 0
    registers = max(getattr(holder, "num_register_tokens", 0) for holder in (network, getattr(network, "config", None)))
    prefix = getattr(network, "num_prefix_tokens", None)
    if prefix is None:
        prefix = class_token + count(OTHER_TOKENS) + registers
    return Layout(int(prefix), class_token, getattr(network, "output_fmt", "NCHW") == "NHWC")


def default_pool(output: Tensor, layout: Layout, own: Pool) -> Pool:
    """The network's own pooling if it fits the output, otherwise the mean over positions."""
    if output.ndim == 2:
        return "none"
    if output.ndim == 3 and _prefix(output, layout):
        return own if own != "none" else "cls" if layout.class_token else "avg"
    return "avg"


def patch_grid(output: Tensor, layout: Layout) -> tuple[Tensor, tuple[int, int]]:
    """(b, h·w, c) features of the positions of (b, n, c) or (b, c, h, w), row by row, and the grid (h, w).

    Tokens that are not patches of the image are left out.
    """
    if output.ndim == 3:
        tokens = output[:, _prefix(output, layout) :]
        side = isqrt(tokens.shape[1])
        if side**2 != tokens.shape[1] or not side:
            raise UserError(f"its output has {tokens.shape[1]} patches, which do not form a square")
        return tokens, (side, side)
    if output.ndim == 4:
        maps = output if layout.channels_last else output.permute(0, 2, 3, 1)
        return maps.flatten(1, 2), (maps.shape[1], maps.shape[2])
    raise UserError(f"its output has the shape {_shape(output)}: one vector per image has no patches; name a layer")


def pool_positions(output: Tensor, pool: Pool, layout: Layout) -> Tensor:
    """One vector per image from (b, d), (b, n, c) or (b, c, h, w); a pooling without meaning there is refused.

    The mean is over the image's own positions: tokens before them (class, distillation, registers) are left out.
    """
    if output.ndim == 2:
        if pool != "none":
            raise UserError(
                f"its output is one vector per image, so {setting('backbone.pool', pool)} has nothing to pool; leave "
                "it out"
            )
        return output
    if output.ndim == 3:
        prefix = _prefix(output, layout)
        tokens = output
    elif output.ndim == 4:
        prefix = 0
        tokens = output.flatten(1, 2) if layout.channels_last else output.flatten(2).transpose(1, 2)
    else:
        raise UserError(f"its output has the shape {_shape(output)}, which is neither a map, tokens nor a vector")
    if pool == "none":
        if tokens.shape[1] > 1:
            raise UserError(
                f"its output has {tokens.shape[1]} positions; pool them ({setting('backbone.pool', 'avg')})"
            )
        return tokens[:, 0]
    if "cls" in pool and not (layout.class_token and prefix):
        raise UserError(
            f"its output, {_shape(output)}, has no class token; pool it ({setting('backbone.pool', 'avg')})"
        )
    if "avg" in pool and tokens.shape[1] == prefix:
        raise UserError(f"its output has a class token only; take that ({setting('backbone.pool', 'cls')})")
    if pool == "cls":
        return tokens[:, 0]
    mean = tokens[:, prefix:].mean(dim=1)
    return mean if pool == "avg" else torch.cat((tokens[:, 0], mean), dim=1)


def _prefix(output: Tensor, layout: Layout) -> int:
    """Number of tokens of (b, n, c) that are not patches of the image.

    Some layers, such as the patch embedding, do not have the class token yet. Images are square, so the number of
    patches is a square number, which distinguishes the two cases.
    """
    number = output.shape[1]
    if layout.prefix in (0, number):
        return layout.prefix
    if number > layout.prefix and _is_square(number - layout.prefix):
        return layout.prefix
    if _is_square(number):
        return 0
    raise UserError(
        f"its output has {number} tokens, which is not a square of patches, with or without the {layout.prefix} "
        "that come before them; choose another layer"
    )


def _is_square(number: int) -> bool:
    return isqrt(number) ** 2 == number


def _shape(output: Tensor) -> str:
    return "(b" + "".join(f", {side}" for side in output.shape[1:]) + ")"


def last_map(network: nn.Module, images: Tensor) -> Tensor:
    """(b, c, h, w): the last output of the network's direct children that still has positions, in one forward pass."""
    caught: list[Tensor] = []

    def keep(_module: nn.Module, _inputs: object, output: object) -> None:
        if isinstance(output, Tensor) and output.ndim == 4 and output.shape[2] * output.shape[3] > 1:
            caught[:] = [output.clone()]

    handles = [part.register_forward_hook(keep) for part in network.children()]
    try:
        network(images)
    finally:
        for handle in handles:
            handle.remove()
    if not caught:
        raise UserError(
            f"none of its parts gives a map of positions; name a layer inside it ({setting('backbone.layers')})"
        )
    return caught[0]


def pooled(_network: nn.Module, output: Tensor, *, pool: Pool, layout: Layout) -> Tensor:
    """The output of a layer, pooled; to be used by a `Part`."""
    return pool_positions(output, pool, layout)


def repooled(
    network: nn.Module, output: Tensor, *, pool: Pool, layout: Layout, before: str | None = None, after: str | None
) -> Tensor:
    """An output, pooled, between what the network applies before and after its own pooling; used by a `Part`.

    Args:
        before, after: names of these modules. Hooks on them are not called.
    """
    if before is not None:
        output = network.get_submodule(before).forward(output)
    parts: tuple[Pool, ...] = ("cls", "avg") if pool == "cls+avg" else (pool,)
    vectors = [pool_positions(output, part, layout) for part in parts]
    if after is not None:
        vectors = [network.get_submodule(after).forward(vector) for vector in vectors]
    return torch.cat(vectors, dim=1)


def layout_at(network: nn.Module, layer: str, layout: Layout) -> Layout:
    """The layout of one layer's output: convolutions are (b, c, h, w) even in channels-last networks."""
    if layout.channels_last and isinstance(find_layer(network, layer), nn.Conv2d | nn.BatchNorm2d):
        return Layout(layout.prefix, layout.class_token)
    return layout


def probed(module: nn.Module, step: Callable[[nn.Module, Tensor], Tensor], transform: Transform) -> Tensor:
    """The output of a function for one image of zeros."""
    size = transform.size
    try:
        with torch.inference_mode():
            output = step(module, torch.zeros(1, 3, size, size, device=device_of(module)))
    except (UserError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # a network may raise any exception for an unsupported image size
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(f"does not take an image of {size} × {size} pixels ({reason})") from None
    if not isinstance(output, Tensor):
        raise UserError(f"gives {type(output).__name__}, not one tensor")
    return output
