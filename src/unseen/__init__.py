"""unseen: how well a visual representation generalises to concepts, tasks and shifts it has not seen."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unseen.ontology.levels import Levels

__version__ = "0.1.0"
__all__ = ["__version__", "levels"]


def levels(name: str) -> "Levels":
    """Concept levels by name (`cog-v2`, `cog-v1`) or from a CSV file."""
    from unseen.ontology.levels import load_levels

    return load_levels(name)
