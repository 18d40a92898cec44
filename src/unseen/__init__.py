"""unseen: how well a visual representation generalises to concepts, tasks and shifts it has not seen."""

from typing import TYPE_CHECKING, Any

from unseen.extras import naming_extras
from unseen.version import __version__

if TYPE_CHECKING:
    import pandas as pd

    from unseen.ontology.levels import Levels
    from unseen.studies.own_features import Probed
    from unseen.studies.shifts.study import ShiftStudy

__all__ = ["__version__", "effective_robustness", "levels", "probe", "published"]

# What is behind these functions is imported when they are called: `import unseen` is instant.


def levels(name: str) -> "Levels":
    """Concept levels by name (`cog-v2`, `cog-v1`) or from a CSV file."""
    from unseen.ontology.levels import load_levels

    return load_levels(name)


@naming_extras()
def probe(X_train: Any, y_train: Any, X_test: Any, y_test: Any, **options: Any) -> "Probed":
    """Train and test a linear classifier on frozen features, with its hyper-parameters searched.

    Args:
        X_train, X_test: (n, d) arrays or tensors of features.
        y_train, y_test: (n,) class indices from 0.
        options: `protocol` ("cog-v2" or a `LogisticProtocol`), `shots` (samples per class: 8, "all", or a list such as
            [1, 8, "all"]; by default "all"), `seeds` (how many, by default 5, or a list of them), `device`.
    """
    from unseen.studies.own_features import probe_arrays

    return probe_arrays(X_train, y_train, X_test, y_test, **options)


def published(name: str) -> "pd.DataFrame":
    """The numbers that a paper printed: `cog-v2`, `cog-v1`, `ericsson-2021` or `shi-2023`."""
    from unseen.papers import published as numbers

    return numbers(name)


def effective_robustness(table: Any, id: Any, ood: Any, **options: Any) -> "ShiftStudy":  # noqa: A002
    """Fit accuracies out of distribution on those in distribution, and score models by what they have beyond that.

    Args:
        table: a data frame with a row a model and a column a test set, in percent or as fractions.
        id, ood: a column's name, or a list of them.
        options: `fit_on` (an expression, or a function of the table), `group`, `model`, `unit`, `settings`.
    """
    from unseen.studies.shifts.study import effective_robustness

    return effective_robustness(table, id, ood, **options)
