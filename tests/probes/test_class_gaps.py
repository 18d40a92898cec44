"""Probes on data with classes that have no training or validation samples, against fits to the other classes."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from unseen.probes.by_name.knn import KNN
from unseen.probes.by_name.linear import Linear, refitted_scores
from unseen.probes.by_name.ridge import Ridge
from unseen.probes.class_gaps import TrainedFirst
from unseen.probes.many_shot import ERICSSON_2021, Labels, many_shot
from unseen.probes.probe import ProbeData, ValidationData
from unseen.probes.protocol import Setting
from unseen.probes.samples import ClassCounts
from unseen.probes.vectors import Vectors

TRAIN, VAL, TEST = (0, 2, 5), (0, 3, 5), (0, 1, 2, 3, 4, 5)
"""Class 3 has validation samples only, and classes 1 and 4 have test samples only."""


def samples(classes: tuple[int, ...], each: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = np.random.default_rng(seed)
    y = np.repeat(classes, each)
    X = np.eye(6, 12)[y] * 2 + rng.normal(size=(len(y), 12))
    return torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y)


@pytest.fixture
def data() -> ProbeData:
    (X, y), (X_val, y_val), (X_test, y_test) = samples(TRAIN, 20, 0), samples(VAL, 10, 1), samples(TEST, 30, 2)
    return ProbeData(X, y, X_test, y_test, 6, validation=ValidationData(X_val, y_val))


def test_the_order_of_classes() -> None:
    order = TrainedFirst.of(*(torch.tensor(classes) for classes in (TRAIN, VAL, TEST)))
    assert order.places.tolist() == [0, 4, 1, 3, 5, 2]
    assert (order.trained, order.fitted, order.whole) == (3, 4, False)
    scores = order.scores(torch.tensor([[1.0, 5.0, 3.0]]))
    assert scores[0, [0, 2, 5]].tolist() == [1.0, 5.0, 3.0]
    assert scores[0, [1, 3, 4]].max() < -1e5


def test_the_linear_probe_is_that_of_the_classes_it_knows(data: ProbeData) -> None:
    held = data.validation
    assert held is not None
    parts = [(data.X_train, Labels(data.y_train)), (held.X, Labels(held.y)), (data.X_test, Labels(data.y_test))]
    found = many_shot(parts, "top1")
    values = []
    for penalty in ERICSSON_2021.penalties.tolist()[20::2]:
        fit = LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=5000).fit(data.X_train, data.y_train)
        values.append(float((fit.predict(held.X) == held.y.numpy()).mean()))
    assert found.validation[found.place] == pytest.approx(max(values), abs=0.034)  # one image of thirty
    both, y = torch.cat([data.X_train, held.X]), torch.cat([data.y_train, held.y])
    refit = LogisticRegression(C=1 / found.penalty, tol=1e-8, max_iter=5000).fit(both, y)
    predicted = refit.predict(data.X_test)
    assert found.score == float((predicted == data.y_test.numpy()).mean())
    assert found.units.arrays["correct"].tolist() == (predicted == data.y_test.numpy()).tolist()
    assert not found.units.arrays["correct"][np.isin(data.y_test, (1, 4))].any()
    assert found.score > 0.4  # two thirds of the test samples are of classes that it knows
    assert found.calibration is not None
    assert np.isfinite([found.calibration.error, found.calibration.scaled_error]).all()


def test_scores_of_the_refit_for_metrics_of_ones_own(data: ProbeData) -> None:
    [fit] = Linear().fit(data, [Setting(None, 0)])
    [(_, scores)] = Linear().test_scores(data, Setting(None, 0), fit.details) or []
    assert scores.shape == (180, 6)
    assert bool(scores.isfinite().all())
    assert float((scores.argmax(1) == data.y_test).double().mean()) == dict(fit.values)["top1"]
    known = torch.isin(data.y_test, torch.tensor([0, 2, 5]))
    plain = refitted_scores(data.X_train, data.y_train, data.X_test, 1.0, ERICSSON_2021, data.y_test)
    assert set(plain[known].argmax(1).tolist()) <= {0, 2, 5}


def test_neighbours_never_vote_for_classes_without_samples(data: ProbeData) -> None:
    [fit] = KNN(k=5).fit(data, [Setting(None, 0)])
    assert 0.3 < dict(fit.values)["top1"] <= 0.5


def test_which_probes_take_such_data() -> None:
    counts = ClassCounts((10, 0, 10), (5, 5, 5))
    vectors = Vectors("net", "data", {"train": 20, "val": 4, "test": 15}, 3, 8, counts=counts, gaps=True)
    assert vectors.untrained == [1]
    assert vectors.takes(Linear())
    assert vectors.takes(KNN())
    assert not vectors.takes(Ridge())
    whole = Vectors("net", "data", {"train": 20, "val": 4, "test": 15}, 3, 8, counts=counts)
    assert whole.takes(Ridge())
    assert "classes without samples" not in whole.reads
    assert vectors.reads["classes without samples"] == "stay"
