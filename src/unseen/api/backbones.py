"""Backbones as the studies in Python take them: ids, or what `unseen.load_backbone` gave."""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.own_code import told_before

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone


def names_of(backbones: "Backbone | str | Sequence[Backbone | str]") -> list[str]:
    """What backbones are called."""
    return [each if isinstance(each, str) else each.label for each in _each(backbones)]


def loaded_backbones(
    backbones: "Backbone | str | Sequence[Backbone | str]",
    device: str,
    *,
    published: bool = True,
    patches: bool = False,
) -> "list[Backbone]":
    """Backbones on a device, called as commands call them; two of one name, or one given twice, are an error.

    Args:
        published: whether images are preprocessed as in ImageNet-CoG, and not as the backbone's authors do.
        patches: whether those that are given by their ids give the features of patches.
    """
    from unseen.backbones.load import default_label, load_backbone
    from unseen.studies.concepts.study import as_published

    found: list[Backbone] = []
    for each in _each(backbones):
        if isinstance(each, str):
            told_before(each, logging.getLogger("unseen").warning)
        loaded = load_backbone(each, device=device, patches=patches) if isinstance(each, str) else each
        loaded.module.to(device)
        loaded = as_published(loaded) if published else loaded
        named = replace(loaded, name=loaded.name or default_label(loaded.spec.id))
        same = next((other for other in found if other.label == named.label or other.spec == named.spec), None)
        if same is not None:
            raise UserError(f"{same.label} and {named.label}: one name or one backbone twice; give each once")
        found.append(named)
    return found


def _each(backbones: "Backbone | str | Sequence[Backbone | str]") -> "Sequence[Backbone | str]":
    from unseen.backbones.backbone import Backbone

    return [backbones] if isinstance(backbones, str | Backbone) else list(backbones)
