"""A look at labels that are missing: classifiers of one domain applied to the test images of another.

ImageNet-CoG, supplementary A.3: an image of one domain that the classifier of another is almost certain about may show
that other concept too, without a label that says so. In the paper about 2.7 % of images are above 0.99.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from unseen.device import default_device
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.probes.correctness import linear_scores
from unseen.probes.rows import on_device
from unseen.studies.final_classifier import DomainClassifier

CONFIDENT = 0.99
COLUMNS = ["image", "domain", "concept", "classifier", "predicted", "confidence"]


@dataclass(frozen=True, eq=False)
class Inspection:
    """What classifiers were confident about.

    Attributes:
        table: a row for each image above the threshold, the most confident first: image (its id), domain and concept
            (its own), classifier (the other domain), predicted (that domain's concept), confidence.
        applied: (classifier, domain) → how many images it was applied to.
    """

    table: pd.DataFrame
    applied: Mapping[tuple[str, str], int]

    def share(self, classifier: str, domain: str) -> float:
        """Of the images of a domain, how many the classifier of another is confident about."""
        rows = (self.table["classifier"] == classifier) & (self.table["domain"] == domain)
        return int(rows.sum()) / self.applied[classifier, domain]


def inspect_labels(
    classifiers: Sequence[DomainClassifier], tests: Mapping[str, Features], *, threshold: float = CONFIDENT
) -> Inspection:
    """Apply the classifier of each domain to the test features of all others.

    Args:
        tests: test features by domain, of the backbone that the classifiers were fitted on.
        threshold: predictions of a greater probability are listed.
    """
    if not 0 <= threshold < 1:
        raise UserError(f"a threshold is a probability from 0 to below 1, not {threshold}")
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
