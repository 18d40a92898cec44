"""Stores of features, as all studies look at them: what they say of themselves."""

from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.features.about import StoreAbout
from unseen.features.store import MANIFEST, read_manifest

FEATURES = "features"
"""The folder of a run that its features are in."""


def read_about(store: Path) -> dict[str, Any]:
    """What a store says of itself; one that is not finished is an error."""
    about = about_finished(store)
    if about is None:
        raise UserError(f"{store}: its extraction is not finished; run it again to continue")
    return about


def about_finished(store: Path) -> dict[str, Any] | None:
    """What a finished store says of itself; None for one that is not finished."""
    return read_manifest(store).provenance if (store / MANIFEST).is_file() else None


def damaged_images(what: str, store: Path) -> str:
    """A sentence on the images that a finished store had to leave out; empty where there are none.

    Args:
        what: the features, in a word or two.
    """
    damaged = StoreAbout.of(read_about(store)).damaged
    if not damaged:
        return ""
    are = "damaged image was" if len(damaged) == 1 else "damaged images were"
    first = f"{damaged[0].id}: {damaged[0].reason}"
    return f"{what}: {len(damaged):,} {are} left out, first {first}; all are listed in {store / MANIFEST}"
