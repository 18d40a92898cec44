"""The probe `linear`: the many-shot linear probe of Ericsson et al. 2021."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from unseen.data.core.dataset import Target
from unseen.errors import UserError
from unseen.probes.calibration_values import calibration_details, calibration_scores
from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, PublishedOn, Size, rows_on, samples_with_validation
from unseen.probes.protocol import Setting
from unseen.probes.samples import SamplesPerClass
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes.many_shot import Labels, ManyShot, ManyShotProtocol, Metric
    from unseen.probes.vectors import Vectors

VALIDATION = 0.2
"""Share of each class's training samples used for validation, as for data sets without a validation split."""
ROUGH_ITERATIONS = 5
"""Iterations of a fit that ends when validation predictions have settled, for time estimates."""
TRIED = 0.6
"""Share of the grid that is tried before the search ends."""
ITERATIONS = 60
"""Iterations of a fit to its optimum, on average over the grid and over kinds of features."""
BASIS_RATE = 3
"""How much faster the products of the eigendecomposition are than those of fits, with everything around them."""
TIMED = (16_384, 1024)
"""Samples and dimensions of the timed product, which exceeds the processor's caches, as in most fits."""
OTHER_WORK = 3.0
"""Factor for the work of a fit beside its products: softmax, line search, copies."""
WEIGHT_ON_GPU = 3.5e-6
"""Seconds per weight that the fits take on a GPU in addition to their products.

They are many short steps, limited by kernel launches and memory; their products alone would take a third of the time.
Measured on an H200 (benchmarks/README.md).
"""


@dataclass(frozen=True)
class Linear(Probe):
    """Logistic regression to its optimum, with the ℓ2 penalty chosen on validation samples, then refitted to all.

    Features are not normalised; see `unseen.probes.many_shot`. A data set without validation samples of its own has a
    fifth of the training samples drawn for it, by the seed. Its own validation samples are all part of the refit, also
    with few shots.
    """

    name: ClassVar[str] = "linear"
    title: ClassVar[str] = "logistic regression to its optimum, its penalty chosen on validation data (Ericsson et al.)"
    citation: ClassVar[str] = "Ericsson et al. 2021, How Well Do Self-Supervised Models Transfer?"
    purpose: ClassVar[str] = "a product or a task: the best linear classifier"
    published_on: ClassVar[PublishedOn] = "tasks"
    divisible: ClassVar[bool] = True
    targets: ClassVar[tuple[Target, ...]] = ("class", "classes")
    validation: ClassVar[Literal["chooses", "joins"]] = "chooses"
    random: ClassVar[bool] = True
    scored: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "mean-per-class", "map-11-point", "ece", "scaled-ece")
    revision: ClassVar[int] = 6
    metric: "Metric" = "top1"
    protocol: "str | ManyShotProtocol" = key(
        "ericsson-2021",
        "our protocol, or exactly the authors' code",
        choices=("ericsson-2021", "ericsson-2021-exact"),
        hint=str,
    )
    converge: Literal["chosen", "all"] | None = key(
        None,
        "fits run to their optimum; all is slow; unset: protocol's",
        identity=False,
    )

    @property
    def protocol_name(self) -> str:
        return self.search.name

    @property
    def resolved(self) -> "Linear":
        return replace(self, protocol=self.search, converge=None)

    @property
    def search(self) -> "ManyShotProtocol":
        """The protocol, with its fits as requested."""
        from unseen.probes.many_shot import task_protocol

        return task_protocol(self.protocol, self.converge) if isinstance(self.protocol, str) else self.protocol

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        return {"converge": self.search.converge}

    def with_protocol(self, protocol: Any) -> "Linear":
        return replace(self, protocol=protocol).resolved

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        from unseen.probes.many_shot import many_shot

        for setting in settings:
            fits = data.checkpoint(setting)
            result = many_shot(_parts(data, setting), self.metric, self.search, solved=fits.solved, watch=fits.add)
            values = ((self.metric, result.score), *calibration_scores(result.calibration))
            yield Fit(self.name, setting.shots, setting.seed, values, _details(result), units=result.units)

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[Linear]":
        return (replace(self.resolved, metric=cast("Metric", vectors.metric)),)

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """Logits of the fit to all training samples with the chosen penalty."""
        if "penalty" not in kept:
            kept = next(self.fit(data, [setting])).details
        drawn, held = data.drawn(setting), data.validation
        X, y, X_test, _ = drawn.on_device(copies=8)
        if held is not None:
            import torch

            X, y = torch.cat([X, rows_on(held.X, data.device, copies=8)]), torch.cat([y, held.y.to(y)])
        return iter([(self.name, refitted_scores(X, y, X_test, kept["penalty"], self.search, data.y_test))])

    def samples(self, data: ProbeData, shots: int | None) -> SamplesPerClass | None:
        return samples_with_validation(data, shots)

    def remarks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.search.temperature == "test-folds":
            yield "temperature-on-test-data", {}

    def flops(self, size: Size, setting: Setting) -> float:
        return _flops(size.rows, size.dimension, size.classes, self.search)

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the features, the fits in their basis, and the temporary scores."""
        return 4 * 8 * size.rows * size.dimension

    def timed_product(self, size: Size, *, gpu: bool = False) -> tuple[int, int, int]:
        """The product of a gradient; with few classes it is limited by memory."""
        return (size.classes, *TIMED)

    def seconds(self, size: Size, setting: Setting, rate: float, *, gpu: bool = False) -> float:
        products = self.flops(size, setting) / rate
        return products + WEIGHT_ON_GPU * size.classes * size.dimension if gpu else products * OTHER_WORK


def refitted_scores(
    X: "Tensor",
    y: "Tensor",
    X_test: "Tensor",
    penalty: float,
    protocol: "ManyShotProtocol",
    y_test: "Tensor | None" = None,
) -> "Tensor":
    """(m, c) logits of the regression on all samples with a known penalty.

    Args:
        y_test: labels of the test samples, which may have classes that no training sample has.
    """
    import torch

    from unseen.probes.class_gaps import TrainedFirst
    from unseen.probes.newton.path import logistic_path

    order = TrainedFirst.of(y, y, y_test.to(y)) if y.ndim == 1 and y_test is not None else None
    if order is not None and not order.whole:
        return order.scores(refitted_scores(X, order.labels(y), X_test, penalty, protocol))
    penalties = torch.tensor([penalty], dtype=torch.float64)
    path = logistic_path(X, y, penalties, tol=protocol.tol, max_iterations=protocol.max_iterations)
    return X_test.double() @ path.weights[0] + path.bias[0]


def _parts(data: ProbeData, setting: Setting) -> "list[tuple[Tensor, Labels]]":
    """Training, validation and test samples; without validation samples of its own, a part of the data set is drawn."""
    from unseen.probes.many_shot import Labels
    from unseen.probes.sampling import split_validation, stream

    drawn, held = data.drawn(setting), data.validation
    X, y, X_test, y_test = drawn.on_device(copies=8)
    tested = X_test, Labels(y_test, data.ignored)
    if held is not None:
        X_val = rows_on(held.X, data.device, copies=8)
        return [(X, Labels(y)), (X_val, Labels(held.y, held.ignored)), tested]
    kept, rest = (rows.to(data.device) for rows in split_validation(drawn.y_train, VALIDATION, stream(setting.seed, 0)))
    if len(rest) == 0:
        raise UserError("every class has a single training sample, so none is left to choose the penalty on")
    return [(X[kept], Labels(y[kept])), (X[rest], Labels(y[rest])), tested]


def _flops(rows: int, dimension: int, classes: int, protocol: "ManyShotProtocol") -> float:
    """Flops of the fits for these numbers of rows, and of the eigendecomposition of all features."""
    chosen = protocol.steps * TRIED * ROUGH_ITERATIONS + ITERATIONS
    iterations = (protocol.steps * ITERATIONS if protocol.converge == "all" else chosen) + 1.25 * ITERATIONS
    fits = 4.0 * rows * dimension * classes * iterations
    basis = 1.25 * 4.0 * rows * dimension * min(rows, dimension) + 10.0 * min(rows, dimension) ** 3
    return fits + basis / BASIS_RATE


def _details(result: "ManyShot") -> dict[str, Any]:
    """How a probe was chosen, as JSON; means of empty bins are null."""
    return {
        "penalty": result.penalty,
        "edge": result.edge,
        "validation": list(result.validation),
        "iterations": list(result.iterations),
        "converged": list(result.converged),
        "refit_converged": result.refit_converged,
        **calibration_details(result.calibration),
    }


PROBE = Linear
