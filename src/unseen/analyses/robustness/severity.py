"""Severity of the mistakes of models on a column of runs: how far wrong predictions are from the true classes.

The hierarchy is WordNet, the user's own taxonomy, or k-means on the class means of one model (`latent_hierarchy`): its
logits in the run, or features in a file. By default it is WordNet, and where classes are not its concepts, k-means on
the logits of the most accurate model, as in LCA-on-the-line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unseen.analyses.robustness.kept_predictions import KeptPredictions
from unseen.analyses.robustness.latent_hierarchy import class_means, latent_distances
from unseen.errors import UserError, did_you_mean
from unseen.metrics.comparisons import holm, is_resolved
from unseen.metrics.paired.estimate import Estimate
from unseen.metrics.severity import Floats, has_error, mean_severity, mistake_distances, severity_difference
from unseen.ontology.class_distances import By, ClassDistances, class_distances
from unseen.ontology.class_names import are_concepts

if TYPE_CHECKING:
    import pandas as pd

    from unseen.features.features import Rows

K_MEANS, WORDNET, AUTO = "k-means", "wordnet", "auto"
LOGITS = "logits"
UNITS: Mapping[By, str] = {"information": "bits", "depth": "edges"}


@dataclass(frozen=True, eq=False)
class Severity:
    """The severity of mistakes on a column.

    Attributes:
        source: the hierarchy, for a reader, and `note` why it is not another one.
        values: model → f → (n,) distance of each mistake, NaN for images that are classified correctly.
        images: number of images.
    """

    column: str
    source: str
    note: str
    values: Mapping[str, Mapping[By, Floats]]
    images: int

    @property
    def by(self) -> tuple[By, ...]:
        return tuple(next(iter(self.values.values())))

    def mean(self, model: str, by: By) -> Estimate | None:
        """The mean over a model's mistakes; None without mistakes, where it is not defined."""
        return mean_severity(self.values[model][by])

    def mistakes(self, model: str) -> int:
        """The number of images that a model classifies wrongly."""
        return int((~np.isnan(self.values[model][self.by[0]])).sum())

    def least_severe(self, by: By) -> tuple[str, list[str]] | None:
        """The model with the lowest severity, and the models that it is not resolved from, corrected by Holm's method.

        Models are compared image by image. None if fewer than two models make enough mistakes to be compared.
        """
        means = {model: mean.value for model in self.compared(by) if (mean := self.mean(model, by))}
        if len(means) < 2:
            return None
        best = min(means, key=lambda model: means[model])
        others = [model for model in means if model != best]
        apart = [severity_difference(self.values[model][by], self.values[best][by]) for model in others]
        adjusted = holm(np.array([each.p_value for each in apart if each]))
        return best, [model for model, p in zip(others, adjusted, strict=True) if not is_resolved(p)]

    def compared(self, by: By) -> list[str]:
        """The models that make enough mistakes, at different distances, for an interval and for comparisons."""
        return [model for model, values in self.values.items() if has_error(values[by])]

    def to_frame(self) -> "pd.DataFrame":
        """One row per model: mistakes, and for each f the mean with its interval, empty for too few mistakes."""
        import pandas as pd

        rows = []
        for model in self.values:
            row: dict[str, object] = {"model": model, "mistakes": self.mistakes(model), "hierarchy": self.source}
            for by in self.by:
                mean = self.mean(model, by)
                ends = mean.interval() if mean and np.isfinite(mean.error) else None
                numbers = mean and mean.value, ends and ends.low, ends and ends.high
                row |= dict(zip((f"lca-{by}", f"{by}_low", f"{by}_high"), numbers, strict=True))
            rows.append(row)
        return pd.DataFrame(rows)


def severity(kept: KeptPredictions, hierarchy: str = AUTO) -> Severity:
    """The severity of the mistakes of all models.

    Args:
        hierarchy: `wordnet`; a CSV file with the columns child,parent, or class,concept (names in WordNet); `k-means:`
            and a model or a file of features; or `auto`, the default.
    """
    distances, note = _hierarchy(kept, hierarchy)
    if distances.guessed:
        note = f"{len(distances.guessed)} class names have several meanings: {_guesses(distances.guessed)}."
    values = {
        model: {by: mistake_distances(kept.y, guess, matrix) for by, matrix in distances.by.items()}
        for model, guess in kept.models.items()
    }
    return Severity(kept.column, distances.source, note, values, len(kept.y))


def _guesses(guessed: Mapping[str, str]) -> str:
    some = [f"{name} was taken as {concept}" for name, concept in list(guessed.items())[:3]]
    return ", ".join(some) + (" …" if len(guessed) > 3 else "")


def _hierarchy(kept: KeptPredictions, hierarchy: str) -> tuple[ClassDistances, str]:
    """The distances of the classes, and a sentence if another hierarchy than WordNet was taken by default."""
    kind, _, name = hierarchy.partition(":")
    if kind == K_MEANS:
        return _k_means(kept, name or _most_accurate(kept)), ""
    if hierarchy == WORDNET:
        return class_distances(kept.classes, where=kept.column), ""
    if hierarchy != AUTO:
        path = Path(hierarchy)
        if not path.is_file():
            raise UserError(
                f"no hierarchy '{hierarchy}': give {WORDNET}, a CSV file with the columns child,parent or "
                f"class,concept, or {K_MEANS}:MODEL{did_you_mean(hierarchy, [WORDNET, K_MEANS])}"
            )
        return class_distances(kept.classes, path, f"{kept.column} in {path.name}"), ""
    if are_concepts(kept.classes):  # a class that is no noun would be looked for among all that are spelt like it
        try:
            return class_distances(kept.classes, where=kept.column), ""
        except UserError:  # names with several meanings
            pass
    model = _most_accurate(kept)
    return _k_means(kept, model), f"Not all classes are nouns of WordNet with one meaning, so {model} defines them."


def _most_accurate(kept: KeptPredictions) -> str:
    return max(kept.models, key=lambda model: float((kept.models[model] == kept.y).mean()))


def _k_means(kept: KeptPredictions, name: str) -> ClassDistances:
    """k-means on the class means of a model of the run, or of a file or folder of features."""
    if name in kept.outputs:
        return _from_logits(kept, name)
    path = Path(name)
    if not path.exists():
        hint = did_you_mean(name, kept.outputs)
        raise UserError(f"{K_MEANS}: '{name}' is neither a model of this run nor a file of features{hint}")
    from unseen.features.readers import read_features

    features = read_features(path)
    place = {known: number for number, known in enumerate(kept.classes)}
    missing = [each for each in kept.classes if each not in features.classes]
    if missing:
        raise UserError(
            f"{path}: has no features of the class {missing[0]}, nor of {len(missing) - 1} others; give features of "
            f"images of all {len(kept.classes)} classes"
        )
    own = np.array([place.get(each, -1) for each in features.classes])[features.y]
    return _clustered(features.X, own, kept, path.name)


def _from_logits(kept: KeptPredictions, model: str) -> ClassDistances:
    """k-means on the logits that a run stores of a model on all images of the column."""
    from unseen.features.logits import read_logits

    folder, key = kept.outputs[model]
    stores = sorted((folder / LOGITS).glob(f"*-{key[:12]}"))
    if not stores:
        raise UserError(
            f"{folder / LOGITS}: the logits of {model} are not there, so k-means has no class means; give another "
            f"hierarchy, such as {K_MEANS}:FILE with a file of features"
        )
    logits = read_logits(stores[0])
    own = kept.y
    if len(logits) != len(own):  # a column on some of the classes of its test set
        place = {known: number for number, known in enumerate(kept.classes)}
        own = np.array([place.get(label, -1) for label in logits.image_labels])
    if int((own >= 0).sum()) != len(kept.y):
        raise UserError(
            f"{kept.column}: its classes are not those of the stored logits of {model}; give {K_MEANS}:FILE with "
            "features of images of these classes"
        )
    return _clustered(logits.values, own, kept, f"the logits of {model}")


def _clustered(rows: "Rows", y: NDArray[np.integer], kept: KeptPredictions, source: str) -> ClassDistances:
    return latent_distances(class_means(rows, y, len(kept.classes)), kept.classes, source)
