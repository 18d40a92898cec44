"""The backbones of a study: ids, or backbones loaded with `unseen.load_backbone`."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.extension.own_code import told_before

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone


def names_of(backbones: "Backbone | str | Sequence[Backbone | str]") -> list[str]:
    """The ids or labels of backbones."""
    return [each if isinstance(each, str) else each.label for each in _each(backbones)]


def loaded_backbones(
    backbones: "Backbone | str | Sequence[Backbone | str]",
    device: str,
    *,
    published: bool = True,
    patches: bool = False,
) -> "list[Backbone]":
    """Load backbones onto a device, with the default names of the command line.

    Two backbones with the same name, or the same backbone twice, are an error.

    Args:
        published: preprocess images as in ImageNet-CoG instead of as the backbone's authors do.
        patches: extract patch features with the backbones that are given as ids.
    """
    from unseen.backbones.load import default_label, load_backbone
    from unseen.studies.concepts.study import as_published

    result: list[Backbone] = []
    for each in _each(backbones):
        if isinstance(each, str):
            told_before(each, logging.getLogger("unseen").warning)
        loaded = load_backbone(each, device=device, patches=patches) if isinstance(each, str) else each
        loaded.module.to(device)
        loaded = as_published(loaded) if published else loaded
        named = replace(loaded, name=loaded.name or default_label(loaded.spec.id))
        same = next((other for other in result if other.label == named.label or other.spec == named.spec), None)
        if same is not None:
            raise UserError(f"{same.label} and {named.label}: one name or one backbone twice; give each once")
        result.append(named)
    return result


def _each(backbones: "Backbone | str | Sequence[Backbone | str]") -> "Sequence[Backbone | str]":
    from unseen.backbones.backbone import Backbone

    return [backbones] if isinstance(backbones, str | Backbone) else list(backbones)
