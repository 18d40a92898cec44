"""A search for missing labels: classifiers of one domain are applied to the test images of another.

ImageNet-CoG, supplementary A.3: if the classifier of one domain is almost certain about an image of another domain, the
image may show that other concept too, without a label for it. In the paper about 2.7% of images are above 0.99.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from unseen.analyses.core.final_classifier import DomainClassifier
from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.probes.correctness import linear_scores
from unseen.probes.rows import on_device

CONFIDENT = 0.99
COLUMNS = ["image", "domain", "concept", "classifier", "predicted", "confidence"]


@dataclass(frozen=True, eq=False)
class Inspection:
    """The confident predictions of classifiers on the images of other domains.

    Attributes:
        table: one row per image above the threshold, the most confident first: image (its id), its domain and concept,
            classifier (the other domain), predicted (concept of that domain), confidence.
        applied: (classifier, domain) → number of images that the classifier was applied to.
    """

    table: pd.DataFrame
    applied: Mapping[tuple[str, str], int]

    def share(self, classifier: str, domain: str) -> float:
        """The share of a domain's images about which the classifier of another domain is confident."""
        rows = (self.table["classifier"] == classifier) & (self.table["domain"] == domain)
        return int(rows.sum()) / self.applied[classifier, domain]


def inspect_labels(
    classifiers: Sequence[DomainClassifier], tests: Mapping[str, Features], *, threshold: float = CONFIDENT
) -> Inspection:
    """Apply the classifier of each domain to the test features of all others.

    Args:
        tests: test features by domain, of the backbone that the classifiers were fitted on.
        threshold: predictions with a higher probability are listed.
    """
    if not 0 <= threshold < 1:
        raise UserError(f"the threshold must be a probability of at least 0 and below 1, not {threshold}")
    rows = list[tuple[object, ...]]()
    applied = {}
    for classifier in classifiers:
        for domain, features in tests.items():
            if domain == classifier.domain:
                continue
            applied[classifier.domain, domain] = len(features)
            rows += _confident(classifier, domain, features, threshold)
    table = pd.DataFrame(rows, columns=COLUMNS)
    return Inspection(table.sort_values("confidence", ascending=False, kind="stable", ignore_index=True), applied)


def _confident(
    classifier: DomainClassifier, domain: str, features: Features, threshold: float
) -> list[tuple[object, ...]]:
    import torch

    if features.dimension != classifier.weights.shape[1]:
        raise UserError(
            f"the test features of {domain} have {features.dimension} dimensions, but the classifier of "
            f"{classifier.domain} {classifier.weights.shape[1]}; are they of the same backbone?"
        )
    device = default_device()
    units = on_device(features.X, device, unit=True).to(classifier.products)
    found = list[tuple[object, ...]]()
    start = 0
    for scores in linear_scores(units, classifier.weights, classifier.bias):
        confidence, place = (part.cpu() for part in scores.softmax(dim=1).max(dim=1))
        for row in torch.where(confidence > threshold)[0].tolist():
            number = start + row
            image = features.ids[number] if features.ids else f"row {number}"
            concept = features.classes[int(features.y[number])]
            predicted = classifier.classes[int(place[row])]
            found.append((image, domain, concept, classifier.domain, predicted, float(confidence[row])))
        start += len(scores)
    return found
