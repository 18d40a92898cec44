"""unseen: how well a visual representation generalises to concepts, tasks and shifts it has not seen."""

from typing import TYPE_CHECKING, Any

from unseen.version import __version__

if TYPE_CHECKING:
    from unseen.ontology.levels import Levels
    from unseen.studies.own_features import Probed

__all__ = ["__version__", "levels", "probe"]

# What is behind these functions is imported when they are called: `import unseen` is instant.


def levels(name: str) -> "Levels":
    """Concept levels by name (`cog-v2`, `cog-v1`) or from a CSV file."""
    from unseen.ontology.levels import load_levels

    return load_levels(name)


def probe(X_train: Any, y_train: Any, X_test: Any, y_test: Any, **options: Any) -> "Probed":
    """Train and test a linear classifier on frozen features, with its hyper-parameters searched.

    Args:
        X_train, X_test: (n, d) arrays or tensors of features.
        y_train, y_test: (n,) class indices from 0.
        options: `protocol` ("cog-v2" or a `LogisticProtocol`), `shots` (a list of samples per class, None for all),
            `seeds` (default 0 to 4), `device`.
    """
    from unseen.studies.own_features import probe_arrays

    return probe_arrays(X_train, y_train, X_test, y_test, **options)
