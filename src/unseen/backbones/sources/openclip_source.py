"""Backbones of open_clip: `openclip:ViT-B-32.laion2b_s34b_b79k`, or a folder that open_clip saved a model to.

Features are the image embedding as `encode_image` gives it, not normalised; `layer` selects earlier layers.
"""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn

from unseen.backbones.backbone import RANDOM
from unseen.backbones.network import Network, Request, Source, downloading, refuse_checkpoint
from unseen.backbones.pooling import layout_of
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError, did_you_mean, setting
from unseen.files import read_text


def openclip_network(request: Request) -> Network:
    import open_clip

    refuse_checkpoint(request)
    folder = Path(request.name)
    if folder.is_dir():
        name, tag, weights = f"local-dir:{folder}", None, "of a folder"
        advice = "a folder needs open_clip_config.json and open_clip_model.safetensors, as open_clip saves them"
    else:
        name, tag = _split(request)
        weights = f"{name}.{tag}{', QuickGELU' if is_quick(name, tag) else ''}"
        advice = (
            "run it once where there is a network and copy the Hugging Face cache (~/.cache/huggingface), give a "
            "folder that open_clip saved the model to, or ask for random weights "
            f"({setting('backbone.weights', 'random')})"
        )
    with downloading(request.id, advice):
        model = create_model(name, tag, random=request.random, size=request.size)
    visual = model.visual
    if getattr(visual, "output_tokens", False):
        visual.output_tokens = False  # CoCa also returns its tokens
    return Network(
        module=visual,
        weights=RANDOM if request.random else weights,
        transform=_transform(open_clip.get_model_preprocess_cfg(model), request),
        layer="embedding",
        layout=layout_of(getattr(visual, "trunk", visual)),
        spatial=_map,
    )


def _map(visual: nn.Module, images: Tensor) -> Tensor:
    """(b, c, h, w): the last map or patch tokens of the image tower, normalised as the tower does before pooling."""
    outputs = cast("Any", visual).forward_intermediates(
        images, indices=1, normalize_intermediates=True, intermediates_only=True, output_fmt="NCHW"
    )
    return cast("Tensor", outputs["image_intermediates"][-1])


def create_model(name: str, tag: str | None, *, random: bool, size: int | None = None) -> Any:
    """The whole open_clip model, with the activation that the tag's weights were trained with.

    Args:
        name: name of the model, or `local-dir:FOLDER`, which has no tag.
    """
    import open_clip

    with warnings.catch_warnings(), _unlogged(random):
        warnings.filterwarnings(
            "ignore", message="QuickGELU mismatch"
        )  # for weights that do not specify their preprocessing
        return open_clip.create_model(
            name,
            pretrained=None if random else tag,
            load_weights=not random,
            require_pretrained=not random,
            pretrained_text=False,
            force_quick_gelu=is_quick(name, tag),
            force_image_size=size,
            weights_only=True,
        )


@contextmanager
def _unlogged(random: bool) -> Iterator[None]:
    """Suppress open_clip's warnings about random weights if they were requested."""
    root, before = logging.getLogger(), logging.getLogger().level
    if random:
        root.setLevel(logging.ERROR)
    try:
        yield
    finally:
        root.setLevel(before)


def load_tokenizer(name: str) -> Callable[[list[str]], Tensor]:
    """The tokenizer of a model: sentences → tokens (n, context); cached, since creating one takes a while."""
    file = Path(name.removeprefix("local-dir:")) / "open_clip_config.json"
    return _tokenizer(name, read_text(file) if file.is_file() else "")


@lru_cache(maxsize=8)
def _tokenizer(name: str, _config: str) -> Callable[[list[str]], Tensor]:
    import open_clip

    tokenizer: Callable[[list[str]], Tensor] = open_clip.get_tokenizer(name)
    return tokenizer


def is_quick(name: str, tag: str | None) -> bool:
    """Whether weights were trained with QuickGELU, x·σ(1.702x), instead of GELU.

    open_clip records this with the tag of some models and with the configuration of others, but builds a model only by
    its configuration. A folder has its own configuration.
    """
    import open_clip

    if tag is None:
        return False
    noted = open_clip.get_pretrained_cfg(name, tag), open_clip.get_model_config(name)
    return any((each or {}).get("quick_gelu", False) for each in noted)


def _split(request: Request) -> tuple[str, str | None]:
    """(model, tag); a tag is required, since open_clip has no default tags."""
    import open_clip

    name, _, tag = request.name.partition(".")
    known = open_clip.list_models()
    if name not in known:
        raise UserError(f"{request.id}: open_clip has no such model, nor is it a folder{did_you_mean(name, known)}")
    tags = open_clip.list_pretrained_tags_by_model(name)
    if tag not in tags and not (request.random and not tag):
        names = ", ".join(f"{name}.{known_tag}" for known_tag in tags)
        what = f"open_clip has no such weights{did_you_mean(tag, tags)}" if tag else "name the weights"
        raise UserError(f"{request.id}: {what}; it has {names or 'none'}")
    return name, tag or None


def _transform(config: dict[str, Any], request: Request) -> Transform:
    size = config["size"]
    width, height = (size, size) if isinstance(size, int) else size
    if width != height:
        raise UserError(f"{request.id}: takes images of {width} × {height}, not square ones")
    if config["resize_mode"] not in ("shortest", "squash"):
        raise UserError(f"{request.id}: its authors pad images to a square, which is not supported")
    return Transform(
        size=width,
        resize=width,
        interpolation=config["interpolation"],
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        squash=config["resize_mode"] == "squash",
    )


SOURCE = Source("openclip", openclip_network, ("open_clip",))
