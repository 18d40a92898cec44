"""The linear evaluation of DINOv2: its choice among classifiers, against modules of PyTorch on real features."""

from typing import Any

import numpy as np
import pytest
import torch
from linear_grids import modules_after
from sklearn.datasets import load_digits
from torch import Tensor

from unseen.backbones.vector_parts import vector_parts
from unseen.errors import UserError
from unseen.probes import dinov2_linear as module
from unseen.probes.dinov2_linear import Grid, dinov2_linear
from unseen.probes.sampling import split_validation, stream
from unseen.probes.sgd.grid_protocol import DINOV2_LINEAR, GridProtocol, Range, ranges_of, read_ranges
from unseen.probes.sgd.schedule import sample_stream

SHORT = GridProtocol("dinov2-linear-short", steps=40, batch=128, rates=(1e-4, 1e-2, 1.0))
QUARTERS = (Range("cls1", 32, 48), Range("cls1-avg", 32, 64), Range("cls4", 0, 48), Range("cls4-avg", 0, 64))
Part = tuple[Tensor, Tensor]


@pytest.fixture(scope="module")
def digits() -> tuple[Part, Part, Part]:
    """Handwritten digits as 64 pixels: 900 for training, 300 for validation, the others for testing."""
    X, y = (torch.from_numpy(array) for array in load_digits(return_X_y=True))
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
    X, y = X[order].float() / 4, y[order]
    return (X[:900], y[:900]), (X[900:1200], y[900:1200]), (X[1200:], y[1200:])


def drawn_batches(rows: Tensor, ranges: tuple[Range, ...], seed: int) -> tuple[list[Tensor], Any]:
    """The initial weights and the batches that a seed draws."""
    generator = stream(seed, 2)
    initial = [SHORT.deviation * torch.randn(each.width, 10, generator=generator) for each in ranges]
    return initial, sample_stream(rows, SHORT.steps, SHORT.batch, 1, generator, -1)


@pytest.mark.parametrize("own_validation", [True, False])
def test_the_best_of_modules_is_chosen_and_has_the_same_hits(
    digits: tuple[Part, Part, Part], *, own_validation: bool
) -> None:
    (X, y), (X_val, y_val), (X_test, y_test) = digits
    given = (X_val, y_val) if own_validation else None
    found = dinov2_linear((X, y), (X_test, y_test), QUARTERS, validation=given, protocol=SHORT, seed=3)
    rows = torch.arange(len(y))
    if given is None:
        rows, held = split_validation(y, 0.2, stream(3, 0))
        X_val, y_val = X[held], y[held]
    heads = modules_after(X, y, QUARTERS, *modules_arguments(rows))
    for each, row in zip(found.classifiers, heads, strict=True):
        columns = each.input.columns
        scores = [float((head(X_val[:, columns]).argmax(1) == y_val).double().mean()) for head in row]
        assert list(each.validation) == scores
        best = scores.index(max(scores))
        assert each.rate == SHORT.rates[best]
        assert torch.allclose(each.weights, row[best].weight, atol=1e-5)
        assert torch.allclose(each.bias, row[best].bias, atol=1e-5)
        assert torch.equal(each.hits, row[best](X_test[:, columns]).argmax(1) == y_test)
        assert each.top1 == float(each.hits.double().mean())
        assert each.edge == {0: "smallest", 2: "largest"}.get(best)
    assert found.best is max(found.classifiers, key=lambda each: max(v for v in each.validation if v is not None))
    assert found.best.top1 > 0.85


def modules_arguments(rows: Tensor) -> tuple[list[Tensor], list[float], Any, int]:
    initial, batches = drawn_batches(rows, QUARTERS, 3)
    return initial, [rate * SHORT.batch / 256 for rate in SHORT.rates], batches, SHORT.steps


def grid(digits: tuple[Part, Part, Part], **options: Any) -> Grid:
    train, validation, test = digits
    return dinov2_linear(train, test, QUARTERS[:2], validation=validation, protocol=SHORT, **options)


def test_among_equals_the_first_is_chosen() -> None:
    """As in the public code; these classes are far apart, so that every classifier with a large rate is perfect."""
    y = torch.arange(200) % 2
    X = torch.where(y[:, None] == 0, -3.0, 3.0).expand(-1, 64).contiguous()
    found = dinov2_linear((X, y), (X, y), QUARTERS, validation=(X, y), protocol=SHORT)
    assert found.best.input.name == "cls1"
    first = next(rate for rate, score in zip(SHORT.rates, found.best.validation, strict=True) if score == 1)
    assert found.best.rate == first


def test_seeds_change_numbers_and_nothing_else_does(digits: tuple[Part, Part, Part]) -> None:
    first = grid(digits)
    assert grid(digits) == first
    assert all(
        torch.equal(a.weights, b.weights) for a, b in zip(grid(digits).classifiers, first.classifiers, strict=True)
    )
    assert not torch.equal(grid(digits, seed=1).best.weights, first.best.weights)


def test_rates_that_do_not_fit_into_memory_are_trained_one_after_another(
    digits: tuple[Part, Part, Part], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = grid(digits)
    need = module._need(QUARTERS[:2], 10, 64, SHORT, 2, 4, gpu=False)
    monkeypatch.setattr(module, "free_bytes", lambda _: need)
    parts = grid(digits)
    for one, other in zip(whole.classifiers, parts.classifiers, strict=True):
        assert one.validation == other.validation
        assert torch.equal(one.hits, other.hits)
    monkeypatch.setattr(module, "free_bytes", lambda _: 1000)
    with pytest.raises(UserError, match="device memory"):
        grid(digits)


def test_features_beyond_16_bits_are_multiplied_in_32(digits: tuple[Part, Part, Part]) -> None:
    half = {"products": torch.float16}
    assert grid(digits, **half).products == "float16"
    for factor in (1e5, 1e-7):
        scaled = [(factor * X, y) for X, y in digits]
        assert grid((scaled[0], scaled[1], scaled[2]), **half).products == "float32"


def test_halves_classify_as_full_numbers_do(digits: tuple[Part, Part, Part]) -> None:
    one, other = grid(digits), grid(digits, products=torch.float16)
    for a, b in zip(one.classifiers, other.classifiers, strict=True):
        assert a.validation == pytest.approx(b.validation, abs=0.01)


def test_without_a_finite_classifier_there_is_no_number(digits: tuple[Part, Part, Part]) -> None:
    huge = [(1e30 * X, y) for X, y in digits]
    with pytest.raises(UserError, match="no classifier on"):
        grid((huge[0], huge[1], huge[2]))


def test_diverged_classifiers_are_named_and_not_chosen(digits: tuple[Part, Part, Part]) -> None:
    train, validation, test = digits
    rates = [[0.01, 1e38]] * 2
    found = dinov2_linear(train, test, QUARTERS[:2], validation=validation, protocol=SHORT, rates=rates)
    for each in found.classifiers:
        assert each.validation[1] is None
        assert each.rate == 0.01


def test_inputs_of_features_follow_from_their_parts() -> None:
    def names(layer: str, pool: str, dimension: int = 20) -> list[str]:
        return [each.text for each in ranges_of(vector_parts(layer, pool, dimension))]

    assert names("last-4", "cls+avg") == ["cls1=12:16", "cls1-avg=12:20", "cls4=0:16", "cls4-avg=0:20"]
    assert names("last-4", "cls") == ["cls1=15:20", "cls4=0:20"]
    assert names("blocks.8", "cls+avg") == ["cls1=0:10", "cls1-avg=0:20"]
    assert names("blocks.8", "cls") == ["cls1=0:20"]
    assert names("blocks.8", "avg") == names("layer4", "none") == names("layer3+layer4", "none") == []
    assert ranges_of(()) == ()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cls1"], "a name and a range"),
        (["cls1=3:3"], "no range of columns"),
        (["a=0:65"], "64 dimensions"),
        (["a=0:3", "a=0:4"], "two inputs have the name a"),
        (["a b=0:3"], "a name and a range"),
    ],
)
def test_wrong_inputs_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_ranges(words, 64)


def test_what_callers_get_wrong(digits: tuple[Part, Part, Part]) -> None:
    (X, y), held, test = digits
    one = torch.cat([torch.arange(10)])
    for train, validation, tested, message in (
        ((X, y[1:]), held, test, "do not match labels"),
        ((X, y), (held[0][:, 1:], held[1]), test, "validation features 63"),
        ((X, y), held, (test[0][:, 1:], test[1]), "test features 63"),
        ((X[:10], one), None, (X[:10], one), "single training sample"),
        ((torch.where(X == 0, torch.nan, X), y), held, test, "training features contain values that are not finite"),
        ((X, y), held, (test[0], torch.zeros_like(test[1])), "has no test sample"),
    ):
        with pytest.raises(UserError, match=message):
            dinov2_linear(train, tested, QUARTERS, validation=validation, protocol=SHORT)


def test_the_protocol_is_that_of_the_public_code() -> None:
    assert DINOV2_LINEAR.steps * DINOV2_LINEAR.batch == 10 * 1250 * 8 * 128
    assert np.allclose(np.array(DINOV2_LINEAR.rates) * DINOV2_LINEAR.scale, 4 * np.array(DINOV2_LINEAR.rates))
    assert (len(DINOV2_LINEAR.rates), min(DINOV2_LINEAR.rates), max(DINOV2_LINEAR.rates)) == (13, 1e-5, 0.1)
    assert [DINOV2_LINEAR.of_steps(steps).name for steps in (10, 12_500, 20_000)] == [
        "dinov2-linear-short", "dinov2-linear", "dinov2-linear-long",
    ]  # fmt: skip
