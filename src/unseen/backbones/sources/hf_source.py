"""Backbones of transformers: `hf:facebook/dinov2-small`, or a folder written by `save_pretrained`.

Of an image-text model, the image tower is used. Features are the model's pooled output. A pooler with its own linear
layer is a pre-training head that classifiers do not use; in that case the class token is used.
"""

from inspect import signature
from pathlib import Path
from typing import Any, cast

from torch import Tensor, nn

from unseen.backbones.backbone import RANDOM
from unseen.backbones.forward_pass import Call, NetworkStep, Part
from unseen.backbones.network import Network, Request, Source, downloading, refuse_checkpoint
from unseen.backbones.pooling import layout_of
from unseen.data.core.decoding.transform import Interpolation, Transform
from unseen.errors import UserError

PILLOW_FILTERS: dict[int, Interpolation] = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic"}
INTERPOLATE = "interpolate_pos_encoding"
UNLIKE = ("Levit", "Perceiver", "EfficientNet")  # their processors give the same settings another meaning


def hf_network(request: Request) -> Network:
    import transformers

    refuse_checkpoint(request)
    advice = (
        f"run 'hf download {request.name}' where there is a network, copy the folder here and give its path (hf:FOLDER)"
    )
    if not Path(request.name).is_dir() and len(request.name.split("/")) != 2:
        raise UserError(f"{request.id}: expected hf:owner/model or a folder with config.json")
    with downloading(request.id, advice):
        settings, _ = transformers.ImageProcessingMixin.get_image_processor_dict(request.name)
        model, missing = _build(request)
    model = getattr(model, "vision_model", model)
    by_class_token = _has_linear(getattr(model, "pooler", None)) and layout_of(model).class_token
    if by_class_token:
        model.pooler = None
    missing = [key for key in missing if key.removeprefix("vision_model.") in model.state_dict()]
    if missing:
        raise UserError(f"{request.id}: {len(missing)} keys of the network have no weights, {', '.join(missing[:5])}")
    revision = getattr(model.config, "_commit_hash", None)
    other_size = request.size not in (None, getattr(model.config, "image_size", None))
    # Some models interpolate position embeddings only on request, others always, others have none.
    told = ((INTERPOLATE, True),) if other_size and INTERPOLATE in signature(model.forward).parameters else ()
    run = Call("pixel_values", told)
    return Network(
        module=model,
        weights=RANDOM if request.random else f"revision {revision}" if revision else "of a folder",
        transform=hf_transform(settings, request),
        pool="cls" if by_class_token else "none",
        vector=NetworkStep((Part(run, _class_token if by_class_token else _pooled),)),
        positions=NetworkStep((Part(run, _positions),)),
        layout=layout_of(model),
        run=run,
    )


def _build(request: Request) -> tuple[Any, list[str]]:
    """The model, and the keys without weights in its files, which transformers initialises at random."""
    import transformers

    auto: Any = transformers.AutoModel
    try:  # code beside the weights is never executed
        if request.random:
            config = transformers.AutoConfig.from_pretrained(request.name, trust_remote_code=False)
            return auto.from_config(config), []
        model, info = auto.from_pretrained(request.name, trust_remote_code=False, output_loading_info=True)
    except ValueError as error:
        raise UserError(f"{request.id}: {' '.join(str(error).split())[:200]}") from None
    return model, sorted(info["missing_keys"])


def hf_transform(settings: dict[str, Any], request: Request) -> Transform:
    """The transform described by an image processor's settings."""
    kind = settings.get("image_processor_type") or settings.get("feature_extractor_type") or ""
    if kind.startswith(UNLIKE) or settings.get("do_pad") or not settings.get("do_rescale", True):
        raise UserError(f"{request.id}: its image processor ({kind}) is not supported; write a Python file")
    if abs(settings.get("rescale_factor", 1 / 255) * 255 - 1) > 1e-4:
        raise UserError(f"{request.id}: its image processor scales pixels by {settings['rescale_factor']}, not 1/255")
    resize, squash = _resize(settings.get("size", 224), settings.get("crop_pct"), request)
    size = resize
    if settings.get("crop_pct") and not squash:  # ConvNeXt: `size` is the size after the crop
        size = _one_side(settings["size"], request)
    elif settings.get("do_center_crop"):
        size = _one_side(settings.get("crop_size", resize), request)
    elif not squash:
        raise UserError(f"{request.id}: its image processor does not crop, so that images keep different shapes")
    if request.size is not None:
        resize, size = int(request.size * resize / size), request.size
    normalised = settings.get("do_normalize", True)
    return Transform(
        size=size,
        resize=resize if settings.get("do_resize", True) else None,
        interpolation=PILLOW_FILTERS[settings.get("resample", 2)],
        mean=tuple(settings["image_mean"]) if normalised else (0.0, 0.0, 0.0),
        std=tuple(settings["image_std"]) if normalised else (1.0, 1.0, 1.0),
        squash=squash,
    )


def _resize(size: Any, crop_pct: float | None, request: Request) -> tuple[int, bool]:
    """(side, whether both sides are resized to it) from `size`, a number or a dictionary in one of two forms."""
    if isinstance(size, dict) and "height" in size:
        return _one_side(size, request), True
    side = _one_side(size, request)
    if crop_pct is None:
        return side, not isinstance(size, dict)  # a plain number meant both sides in old files
    return (int(side / crop_pct), False) if side < 384 else (side, True)


def _one_side(size: Any, request: Request) -> int:
    sides = set(size.values()) if isinstance(size, dict) else {size}
    if len(sides) != 1 or not set(size if isinstance(size, dict) else ()) <= {"height", "width", "shortest_edge"}:
        raise UserError(f"{request.id}: its image processor resizes to {size}, which is not supported")
    return int(sides.pop())


def _has_linear(pooler: object) -> bool:
    return isinstance(pooler, nn.Module) and any(isinstance(layer, nn.Linear) for layer in pooler.modules())


def _class_token(_model: nn.Module, output: Any) -> Tensor:
    return cast("Tensor", output.last_hidden_state[:, 0])


def _pooled(_model: nn.Module, output: Any) -> Tensor:
    pooled = getattr(output, "pooler_output", None)
    return cast("Tensor", output.last_hidden_state if pooled is None else pooled.flatten(1))


def _positions(_model: nn.Module, output: Any) -> Tensor:
    return cast("Tensor", output.last_hidden_state)


SOURCE = Source("hf", hf_network, ("transformers",))
