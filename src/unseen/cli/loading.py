"""From options to backbones."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

from unseen.cli.choices import choose
from unseen.cli.output import note
from unseen.errors import UserError
from unseen.extension.own_code import told_before
from unseen.text.words import counted

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone

PREPROCESSING = ("own", "published")


def load_backbones(
    names: Sequence[str],
    preprocessing: str,
    device: str,
    checkpoint: Path | None = None,
    pool: str | None = None,
    layer: str | None = None,
    size: int | None = None,
    weights: str = "pretrained",
    labels: Sequence[str] | None = None,
    normalise: Sequence[str] | None = None,
    patches: bool | int = False,
) -> "list[Backbone]":
    """Load backbones by their ids, and print their notices.

    Args:
        labels: one name per backbone; equal names are refused.
        normalise: one for all, or one per backbone. All other options apply to all.
        patches: whether to extract all patches, or their number; images are then resized to squares.
    """
    from dataclasses import replace

    from unseen.backbones.backbone import Pool
    from unseen.backbones.load import default_label, load_backbone
    from unseen.images.transform import NORMALISATIONS
    from unseen.studies.backbones import loaded_backbones

    if checkpoint is not None and len(names) > 1:
        raise UserError("--checkpoint is for a single backbone; for several, use --backbone timm:resnet50@FILE")
    if labels and len(labels) != len(names):
        numbers = f"{counted(len(labels), 'name')}, {counted(len(names), 'backbone')}"
        hint = "; put a name that contains a comma in double quotes" if len(labels) > len(names) else ""
        raise UserError(f"give one --name per --backbone: {numbers}{hint}")
    if normalise and len(normalise) not in {1, len(names)}:
        raise UserError(f"give one --normalize, or one per --backbone: {len(normalise)} for {len(names)} backbones")
    called = list(labels) if labels else [default_label(name) for name in names]
    clash = next((label for label in called if called.count(label) > 1), None)
    if clash is not None:
        raise UserError(f"{called.count(clash)} backbones are called {clash}; give each a name with --name")
    normalisations = [choose("--normalize", word, tuple(NORMALISATIONS)) for word in normalise or ()]
    if len(normalisations) < len(names):
        normalisations = normalisations * len(names)
    chosen = cast("Pool", choose("--pool", pool, get_args(Pool))) if pool else None
    kind = choose("--weights", weights, ("pretrained", "random"))
    published = choose("--preprocessing", preprocessing, PREPROCESSING) == "published"
    loaded: list[Backbone | str] = []
    for number, name in enumerate(names):
        told_before(name, note)
        found = load_backbone(
            name,
            pool=chosen,
            layer=layer,
            size=size,
            checkpoint=checkpoint,
            weights="random" if kind == "random" else "pretrained",
            normalise=normalisations[number] if normalisations else None,
            patches=patches,
            device=device,
        )
        for sentence in found.notes:
            note(sentence if len(names) == 1 else f"{called[number]}: {sentence}")
        loaded.append(replace(found, name=called[number]))
    return loaded_backbones(loaded, device, published=published)
