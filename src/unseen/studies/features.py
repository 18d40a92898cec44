"""The descriptions of feature stores, for all studies."""

from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.features.about import StoreAbout
from unseen.features.store import MANIFEST, read_manifest

FEATURES = "features"
"""Name of the folder of features in the folder of a run."""


def read_about(store: Path) -> dict[str, Any]:
    """The description of a store; an unfinished store is an error."""
    about = about_finished(store)
    if about is None:
        raise UserError(f"{store}: its extraction is unfinished; run it again to continue")
    return about


def about_finished(store: Path) -> dict[str, Any] | None:
    """The description of a store; None if it is not finished."""
    return read_manifest(store).provenance if (store / MANIFEST).is_file() else None


def damaged_images(what: str, store: Path) -> str:
    """A sentence about the damaged images that a store skipped; empty if there are none.

    Args:
        what: name of the features.
    """
    damaged = StoreAbout.of(read_about(store)).damaged
    if not damaged:
        return ""
    are = "damaged image was" if len(damaged) == 1 else "damaged images were"
    first = f"{damaged[0].id}: {damaged[0].reason}"
    return f"{what}: {len(damaged):,} {are} left out, first {first}; all are listed in {store / MANIFEST}"
