"""Backbones of timm: `timm:resnet50.a1_in1k`, or without the tag for timm's default weights.

Features are those before the classifier, as timm gives them with `num_classes=0`: for a CNN the pooled map (after any
layers between pooling and classifier, as in MobileNetV3), for a transformer the class token or the mean, as the network
was trained. A distilled DeiT gives the mean of its class and distillation tokens; `cls` is the class token alone.
"""

from math import floor
from typing import Any, cast, get_args

from unseen.backbones.backbone import Pool
from unseen.backbones.forward_pass import Method
from unseen.backbones.network import Network, Request, Source, downloading, fill
from unseen.backbones.pooling import Layout, layout_of
from unseen.data.core.decoding.transform import Interpolation, Transform
from unseen.errors import UserError, did_you_mean, setting


def timm_network(request: Request) -> Network:
    import timm

    _check_name(request)
    pretrained = not request.random and request.checkpoint is None
    with downloading(request.id, _advice(request.name)):
        model: Any = timm.create_model(request.name, pretrained=pretrained, num_classes=0)
    config = model.pretrained_cfg
    tag = f"{config['architecture']}.{config['tag']}" if config.get("tag") else request.name
    weights, notes = fill(model, request, tag, _heads(config))
    transform = timm_transform(model, request)
    if request.size is not None and hasattr(model, "set_input_size"):
        model.set_input_size(img_size=request.size)
    layout = layout_of(model)
    return Network(
        module=model,
        weights=weights,
        transform=transform,
        pool=_own_pool(model, layout),
        positions=Method("forward_features"),
        after_pool="fc_norm" if hasattr(model, "fc_norm") else None,
        layout=layout,
        notes=notes,
    )


def timm_transform(model: Any, request: Request) -> Transform:
    """The transform of the weights' authors; the shortest side is floor(size / crop_pct), as in timm's evaluation."""
    import timm.data

    config = cast("Any", timm.data).resolve_model_data_config(model)
    channels, height, width = config["input_size"]
    if channels != 3 or height != width:
        raise UserError(f"{request.id}: takes images of {channels} × {height} × {width}, not square ones in colour")
    if config["crop_mode"] not in ("center", "squash"):
        raise UserError(
            f"{request.id}: its authors pad images to a square (crop mode {config['crop_mode']}), not done here"
        )
    if config["interpolation"] not in get_args(Interpolation):
        raise UserError(f"{request.id}: resizing by {config['interpolation']} is not supported")
    size = request.size or height
    return Transform(
        size=size,
        resize=floor(size / config["crop_pct"]),
        interpolation=config["interpolation"],
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        squash=config["crop_mode"] == "squash",
    )


def _check_name(request: Request) -> None:
    import timm

    architecture = request.name.split(".")[0]
    if architecture not in timm.list_models():
        raise UserError(f"{request.id}: timm has no such model{did_you_mean(architecture, timm.list_models())}")
    tagged = timm.list_pretrained(f"{architecture}.*") + timm.list_pretrained(architecture)
    if request.name != architecture and request.name not in tagged:
        hint = did_you_mean(request.name, tagged) or f"; it has {', '.join(tagged) or 'none'}"
        raise UserError(f"{request.id}: timm has no such weights{hint}")
    if not tagged and not request.random and request.checkpoint is None:
        raise UserError(
            f"{request.id}: timm has no pretrained weights for it; give a checkpoint "
            f"({setting('backbone.checkpoint', 'FILE')}) or ask for random weights "
            f"({setting('backbone.weights', 'random')})"
        )


def _advice(name: str) -> str:
    from timm.models import get_pretrained_cfg

    config = get_pretrained_cfg(name)
    repository = config.hf_hub_id if config else None
    if config is not None and repository:
        # timm writes "timm/" if the repository has the name of the model
        repository = f"{repository}{config.architecture}.{config.tag}" if repository.endswith("/") else repository
        command = f"run 'hf download {repository}' where there is a network"
    else:
        command = f"fetch {config.url if config else name} where there is a network"
    file, random = setting("backbone.checkpoint", "FILE"), setting("backbone.weights", "random")
    return f"{command} and give the file ({file}), or ask for random weights ({random})"


def _heads(config: dict[str, Any]) -> tuple[str, ...]:
    names = config.get("classifier") or ()
    return (names,) if isinstance(names, str) else tuple(names)


def _own_pool(model: Any, layout: Layout) -> Pool:
    pool = getattr(model, "global_pool", None)
    if pool is None:
        pool = getattr(getattr(model, "head", None), "global_pool", None)
    if pool == "token" and layout.class_token:
        return "none" if hasattr(model, "head_dist") else "cls"  # for distilled networks, the mean of two tokens
    kind = pool if isinstance(pool, str) else getattr(pool, "pool_type", "")
    return "avg" if kind in ("avg", "fast", "fastavg") else "none"


SOURCE = Source("timm", timm_network, ("timm",))
