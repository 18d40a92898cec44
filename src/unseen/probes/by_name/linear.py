"""The probe `linear`: the many-shot linear probe of Ericsson et al. 2021.

The task study chooses the penalty on the validation split of a data set; elsewhere a part of the training samples is
drawn for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from unseen.errors import UserError, look_up
from unseen.features.by_hash import align_splits, split_labels
from unseen.features.features import Features
from unseen.images.multi_label import class_names, targets
from unseen.images.open_dataset import check_classes
from unseen.images.rows import SPLITS
from unseen.probes.calibration_values import calibration_values, read_calibrated
from unseen.probes.job import Fit, Job, Pairs
from unseen.probes.probe import DrawnProbe, ProbeData, Size
from unseen.probes.protocol import LogisticProtocol, Setting

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unseen.probes.many_shot import Labels, ManyShot, ManyShotProtocol, Metric
    from unseen.probes.newton.search import Stage
    from unseen.probes.newton.walk import Solved

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


@dataclass(frozen=True)
class Linear(DrawnProbe):
    """Logistic regression to its optimum, with the ℓ2 penalty chosen on a fifth of the training samples, then refitted.

    Features are not normalised; see `unseen.probes.many_shot`. Seeds draw the validation samples.

    Args:
        metric: "top1", or "mean-per-class" for mean per-class accuracy.
        protocol: "ericsson-2021", "ericsson-2021-exact", or a `ManyShotProtocol`.
    """

    name: ClassVar[str] = "linear"
    title: ClassVar[str] = "logistic regression to its optimum, its penalty chosen on validation data (Ericsson et al.)"
    random: ClassVar[bool] = True
    scored: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "mean-per-class", "map-11-point", "ece", "scaled-ece")
    commands: ClassVar[tuple[str, ...]] = ("unseen tasks",)
    revision: ClassVar[int] = 6
    metric: Literal["top1", "mean-per-class"] = "top1"
    protocol: "str | ManyShotProtocol" = "ericsson-2021"

    @property
    def protocol_name(self) -> str:
        return _resolved(self.protocol).name

    def with_protocol(self, protocol: Any) -> "Linear":
        return replace(self, protocol=_resolved(protocol))

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[tuple[str, Pairs, Mapping[str, Any]]]:
        from unseen.probes.many_shot import Labels, many_shot
        from unseen.probes.sampling import split_validation, stream

        kept, held = split_validation(data.y_train, VALIDATION, stream(seed, 0))
        if len(held) == 0:
            raise UserError("every class has a single training sample, so none is left to choose the penalty on")
        X_train, y_train, X_test, y_test = data.on_device(copies=8)
        parts = [
            (X_train[kept.to(data.device)], Labels(y_train[kept.to(data.device)])),
            (X_train[held.to(data.device)], Labels(y_train[held.to(data.device)])),
            (X_test, Labels(y_test)),
        ]
        result = many_shot(parts, self.metric, _resolved(self.protocol))
        values: list[tuple[str, float]] = [(self.metric, result.score)]
        if result.calibration is not None:
            values.append(("ece", result.calibration.error))
        details = {
            "penalty": result.penalty,
            "edge": result.edge,
            "validation": result.validation,
            "converged": result.refit_converged,
        }
        yield self.name, values, details

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """Logits of the fit to all training samples with the chosen penalty."""
        drawn = data.drawn(setting)
        if "penalty" not in kept:
            [(_, _, kept)] = self.fit_drawn(drawn, setting.seed)
        X_train, y_train, X_test, _ = drawn.on_device(copies=8)
        return iter([(self.name, refitted_scores(X_train, y_train, X_test, kept["penalty"], _resolved(self.protocol)))])

    def flops(self, size: Size, setting: Setting) -> float:
        return _flops(size.rows, size.dimension, size.classes, _resolved(self.protocol))

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the features, the fits in their basis, and the temporary scores."""
        return 4 * 8 * size.rows * size.dimension

    @classmethod
    def in_study(cls, protocol: LogisticProtocol) -> "Linear":
        return cls(protocol=_resolved(cls.protocol))


def refitted_scores(
    X: "Tensor", y: "Tensor", X_test: "Tensor", penalty: float, protocol: "ManyShotProtocol"
) -> "Tensor":
    """(m, c) logits of the regression on all samples with a known penalty."""
    import torch

    from unseen.probes.newton.path import logistic_path

    penalties = torch.tensor([penalty], dtype=torch.float64)
    path = logistic_path(X, y, penalties, tol=protocol.tol, max_iterations=protocol.max_iterations)
    return X_test.double() @ path.weights[0] + path.bias[0]


class FitsSoFar(Protocol):
    """Stores the solved parts of a path, so that an interrupted probe can resume from there."""

    @property
    def solved(self) -> "Mapping[Stage, Sequence[Solved]]":
        """The parts that an earlier run has solved."""

    def add(self, stage: "Stage", stretch: "Solved", total: int) -> None:
        """Store a part that was just solved, of a path with `total` penalties."""


@dataclass(frozen=True)
class ManyShotJob(Job):
    """Everything that determines the scores of one probe on a data set of the task study.

    Attributes:
        train, val, test: content hashes of the features.
        metric: the data set's own.
    """

    study: str
    protocol: "ManyShotProtocol"
    backbone: str
    domain: str
    train: str
    val: str
    test: str
    metric: "Metric"
    revision: int = Linear.revision

    @property
    def features(self) -> tuple[str, ...]:
        return self.train, self.val, self.test

    def run(self, parts: Sequence[Features], device: "torch.device", fits: FitsSoFar) -> dict[str, Any]:
        """The measured values.

        Args:
            parts: training, validation and test features.
            fits: the fits solved so far, which receives further fits.
        """
        import torch

        from unseen.probes.many_shot import Labels, many_shot
        from unseen.probes.rows import on_device

        several, where = self.metric == "map-11-point", f"{self.domain} by {self.backbone}"
        aligned = align_splits(parts, where)
        words = split_labels(dict(zip(SPLITS, aligned, strict=True)))
        check_classes(words, where, "every class needs one", several=several)
        labels = _several_labels(aligned) if several else [Labels(torch.from_numpy(part.y)) for part in aligned]
        result = many_shot(
            [(on_device(part.X, device, copies=8), label) for part, label in zip(aligned, labels, strict=True)],
            self.metric,
            self.protocol,
            solved=fits.solved,
            watch=fits.add,
        )
        return _kept(result, self.metric)

    def flops(self, rows: Mapping[str, int], dimension: int, classes: int) -> float:
        """Flops of the path for these numbers of rows per split."""
        return _flops(rows["train"], dimension, classes, self.protocol)

    @classmethod
    def read(cls, job: Mapping[str, Any], values: Mapping[str, Any]) -> Iterator[Fit]:
        yield read_calibrated(Linear.name, job, values, seed=0)


def _flops(rows: int, dimension: int, classes: int, protocol: "ManyShotProtocol") -> float:
    """Flops of the fits for these numbers of rows, and of the eigendecomposition of all features."""
    chosen = protocol.steps * TRIED * ROUGH_ITERATIONS + ITERATIONS
    iterations = (protocol.steps * ITERATIONS if protocol.converge == "all" else chosen) + 1.25 * ITERATIONS
    fits = 4.0 * rows * dimension * classes * iterations
    basis = 1.25 * 4.0 * rows * dimension * min(rows, dimension) + 10.0 * min(rows, dimension) ** 3
    return fits + basis / BASIS_RATE


def _kept(result: "ManyShot", metric: "Metric") -> dict[str, Any]:
    """The stored values of a probe, as JSON; means of empty bins are null."""
    values: dict[str, Any] = {
        metric: result.score,
        "penalty": result.penalty,
        "edge": result.edge,
        "validation": list(result.validation),
        "iterations": list(result.iterations),
        "converged": list(result.converged),
        "refit_converged": result.refit_converged,
    }
    return values | calibration_values(result.calibration)


def _several_labels(parts: Sequence[Features]) -> "list[Labels]":
    """The targets of images with several classes."""
    import torch

    from unseen.probes.many_shot import Labels

    words = parts[0].classes
    classes = class_names(words)
    parts_targets = [targets([words[index] for index in part.y.tolist()], classes) for part in parts]
    # In training, difficult objects count as not shown; in scoring they are ignored.
    return [Labels(torch.from_numpy(part.positives), torch.from_numpy(part.ignored)) for part in parts_targets]


def _resolved(protocol: "str | ManyShotProtocol") -> "ManyShotProtocol":
    from unseen.probes.many_shot import PROTOCOLS

    return look_up(PROTOCOLS, protocol, "protocol", " of the probe linear") if isinstance(protocol, str) else protocol


PROBE = Linear
