"""The last row of Table 9 of Ericsson et al. 2021, from its other rows and the accuracies on ImageNet of Table 1."""

import pytest

from unseen.analyses.tasks.averages import averages, correlations
from unseen.papers import published
from unseen.papers.image_settings import IMAGE_SETTINGS, PRINTED
from unseen.papers.transfer import IMAGENET, imagenet_top1, published_task_scores

ROUNDED = 0.02
"""Of distances printed with two digits, the coefficient is not quite that of what they were rounded from."""


@pytest.mark.parametrize("printed", list(PRINTED))
def test_correlations_with_imagenet_are_the_printed_ones(printed: str) -> None:
    probe, metric = PRINTED[printed]
    table = published("ericsson-2021")
    row = table[(table["setting"] == printed) & table["model"].isna()]["value"].item()
    scores = [score for score in published_task_scores() if (score.probe, score.metric) == (probe, metric)]
    assert len(scores) == 14
    [pair] = correlations(averages([*imagenet_top1(), *scores]))
    assert (pair.first, pair.second) == (IMAGENET, f"{probe}-{metric}")
    assert pair.second in IMAGE_SETTINGS
    assert pair.correlation.pearson.value == pytest.approx(row, abs=ROUNDED if metric.startswith("lpips") else 0.0051)
