"""Accuracies of stacked classifiers."""

import pytest
import torch
from torch import Generator

from unseen.metrics.geometry import unit_rows
from unseen.probes.sgd import scoring
from unseen.probes.sgd.rows import Resident


@pytest.mark.parametrize("at_once", [1 << 26, 200])
def test_accuracies_are_those_of_each_classifier(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(scoring, "SCORES", at_once)
    generator = Generator().manual_seed(0)
    X, y = torch.randn(101, 6, generator=generator), torch.arange(101) % 7
    weights = torch.randn(3, 7, 7, generator=generator)
    source = Resident.load(X, unit_rows, device=torch.device("cpu"), dtype=torch.float32, name="test")
    index = torch.randperm(101, generator=generator)[:90]
    found = scoring.accuracies(source, index, y[index], weights, (1, 5))
    rows = torch.nn.functional.normalize(X[index], dim=1)
    for trial, classifier in enumerate(weights):
        scores = rows @ classifier[:-1] + classifier[-1]
        assert float(found[0, trial]) == pytest.approx(float((scores.argmax(1) == y[index]).double().mean()))
        hits = (scores.topk(5).indices == y[index, None]).any(1)
        assert float(found[1, trial]) == pytest.approx(float(hits.double().mean()))
