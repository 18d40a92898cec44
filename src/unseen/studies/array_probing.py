"""Any probe on arrays in memory, for `unseen.probe` and `unseen probe --probe`."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unseen.device import default_device
from unseen.errors import UserError, row_numbers
from unseen.extension.own_code import is_own_file
from unseen.metrics.own import OwnMetricFile
from unseen.probes.by_name import get_probe
from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData
from unseen.probes.protocol import LogisticProtocol, Setting
from unseen.probes.samples import ClassCounts, score_fields
from unseen.probes.vectors import Vectors
from unseen.runs.notices import Notice, notice
from unseen.runs.own_metric import measured
from unseen.runs.score import Score
from unseen.runs.shots import Shots, seeds_in_python, shot_notices, shots_in_python, usable_shots
from unseen.studies.own_code import read_own_metric, read_own_probe, refuse_same

if TYPE_CHECKING:
    import pandas as pd
    import torch

    from unseen.probes.many_shot import ManyShotProtocol
    from unseen.studies.watch import Watch


@dataclass(frozen=True)
class ArrayScores:
    """The scores of a probe on arrays.

    Attributes:
        probe: name of the probe.
        scores: one per variant, shots, seed and metric; accuracies are fractions between 0 and 1.
        fits: one per variant, shots and seed; `details` has the chosen hyper-parameters and how they were chosen.
        classes: names of the classes, in the order of class indices.
        samples: mean number of training samples per class, which is the position of "all" shots in plots.
        told: numbers of shots that were skipped, or that some classes do not have.
    """

    probe: str
    scores: tuple[Score, ...]
    fits: tuple[Fit, ...]
    classes: tuple[str, ...]
    samples: float
    told: tuple[Notice, ...] = ()

    @property
    def notices(self) -> list[str]:
        """The notices of `told` as sentences."""
        return [each.sentence for each in self.told]

    def to_frame(self) -> "pd.DataFrame":
        """One row per score: probe, protocol, shots (a number or "all"), seed, metric, value.

        The training samples of the smallest, the median and the largest class follow.
        """
        from unseen.runs.tables import SAMPLES, score_table

        return score_table(self.scores)[["probe", "protocol", "shots", "seed", "metric", "value", *SAMPLES]]

    def summary(self) -> "pd.DataFrame":
        """Mean, standard deviation and 95% interval over seeds, one row per variant, shots and metric."""
        from unseen.runs.tables import SAMPLES, score_table, summarise

        table = summarise(score_table(self.scores))
        return table[["probe", "protocol", "shots", "metric", "mean", "deviation", "low", "high", "seeds", *SAMPLES]]


def probe_arrays(
    arrays: tuple[Any, Any, Any, Any],
    probe: "str | PathLike[str] | Probe",
    metric: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    protocol: "str | LogisticProtocol | ManyShotProtocol | None",
    shots: Shots,
    seeds: int | Iterable[int],
    device: str | None,
    watch: "Watch",
    tell: Callable[[str], None],
) -> ArrayScores:
    """`unseen.probe` with its progress shown by `watch` and its notices passed to `tell`."""
    if not isinstance(probe, str | PathLike | Probe):
        raise UserError(
            f"probe must be a name, a Python file, or a probe such as unseen.probes.KNN(k=20), not {probe!r}"
        )
    chosen, metrics = _chosen(probe, metric, tell)
    if chosen.input != "vectors":
        raise UserError(f"{chosen.name} needs {chosen.input}, not feature vectors; use unseen.run with a backbone")
    if metrics and not chosen.scored:
        raise UserError(f"the probe {chosen.name} returns no class scores, which metrics of your own need")
    if protocol is not None:
        chosen = chosen.with_protocol(protocol)
    asked, repeats = chosen.default_shots if shots is None else shots_in_python(shots), seeds_in_python(seeds)
    data, classes = probe_data(*arrays, device)
    counts = ClassCounts.of_labels(data.y_train, data.y_test, data.classes)
    lacking, short = partial(chosen.total_shortage, counts), partial(chosen.partial_shortage, counts)
    usable = usable_shots(asked, lacking)
    told = [*shot_notices(asked, lacking), *shot_notices(usable, short)]
    rows = {"train": len(data.y_train), "test": len(data.y_test)}
    vectors = Vectors("", "", rows, data.classes, data.X_train.shape[1], parts=data.parts)
    settings = chosen.settings(usable, chosen.telling_seeds(vectors, repeats))
    told += [notice(code, **about) for code, about in chosen.data_notices(vectors, "")]
    place = {setting: number for number, setting in enumerate(settings)}
    total = len(settings) * chosen.variants(data)
    for remark in told:
        tell(remark.sentence)
    fitted = watch.track(chosen.fit(data, settings), f"{chosen.name}: fits", total)
    fits = sorted(fitted, key=lambda fit: place[Setting(fit.shots, fit.seed)])
    values = [(fit, name, value) for fit in fits for name, value in fit.values]
    for each in metrics:
        for setting in settings:
            kept = next(fit.details for fit in fits if Setting(fit.shots, fit.seed) == setting)
            for found in measured(each, chosen, data, setting, kept):
                if found.value is None:
                    tell(f"{found.variant}: {each.metric.name} is not defined, as for a classifier without mistakes.")
                else:
                    fit = Fit(found.variant, setting.shots, setting.seed, ())
                    values.append((fit, each.metric.name, found.value))
    for fit, name, value in values:
        if not isfinite(value):
            raise UserError(
                f"{fit.variant}: {name} is {value:g}, which is not a finite number; check the features and the "
                "settings of the probe"
            )
    samples = {number: chosen.samples(data, number) for number in usable}
    scores = (
        Score(
            "probe", chosen.protocol_name, "yours", "yours", fit.variant, fit.shots, fit.seed, name, value,
            **score_fields(samples[fit.shots]),
        )
        for fit, name, value in values
    )  # fmt: skip
    fits = [replace(fit, samples=samples[fit.shots]) for fit in fits]
    mean = len(data.y_train) / len(classes)
    return ArrayScores(chosen.name, tuple(scores), tuple(fits), classes, mean, tuple(told))


def _chosen(
    probe: "str | PathLike[str] | Probe",
    metric: "str | PathLike[str] | Sequence[str | PathLike[str]]",
    tell: Callable[[str], None],
) -> tuple[Probe, list[OwnMetricFile]]:
    """The probe, and metrics of the user's own."""
    own = [] if isinstance(probe, Probe) or not is_own_file(fspath(probe)) else [read_own_probe(fspath(probe), tell)]
    places = [metric] if isinstance(metric, str | PathLike) else metric
    metrics = [read_own_metric(fspath(place), tell) for place in places]
    refuse_same(own, metrics)
    chosen = probe if isinstance(probe, Probe) else own[0].probe if own else get_probe(fspath(probe))
    return chosen, metrics


def probe_data(
    X_train: Any, y_train: Any, X_test: Any, y_test: Any, device: str | None
) -> tuple[ProbeData, tuple[str, ...]]:
    """Check arrays and convert them to the data of a probe, with the class names in the order of class indices."""
    import torch

    names = [_names(labels, what) for labels, what in ((y_train, "training"), (y_test, "test"))]
    kinds = [labels.dtype.kind == "U" for labels in names]
    if kinds[0] != kinds[1]:
        raise UserError("the labels are strings in one of y_train and y_test and integers in the other; use one kind")
    X, X_other = (_features(array, what) for array, what in ((X_train, "training"), (X_test, "test")))
    for what, features, labels in (("training", X, names[0]), ("test", X_other, names[1])):
        if features.ndim != 2 or labels.shape != (len(features),) or len(features) == 0:
            raise UserError(
                f"{what} features of shape {tuple(features.shape)} do not match labels of shape {labels.shape}; "
                "give (n, d) features and n labels"
            )
    classes = np.unique(names[0])
    for absent, where in ((np.setdiff1d(classes, names[1]), "test"), (np.setdiff1d(names[1], classes), "training")):
        if len(absent):
            raise UserError(f"class {absent[0]} has no {where} sample; every class needs training and test samples")
    if len(classes) < 2:
        raise UserError("a classifier needs at least two classes")
    if X.shape[1] != X_other.shape[1]:
        raise UserError(f"training features have {X.shape[1]} dimensions, but test features have {X_other.shape[1]}")
    for name, features in (("X_train", X), ("X_test", X_other)):
        refuse_not_finite(features, name)
    y, y_other = (torch.from_numpy(np.searchsorted(classes, labels)) for labels in names)
    place = device or default_device().type
    names_of_classes = tuple(map(str, classes.tolist()))
    return ProbeData(X, y, X_other, y_other, len(classes), place, names=names_of_classes), names_of_classes


def refuse_not_finite(X: "torch.Tensor", name: str) -> None:
    """Refuse features that are not finite, by their rows in the array that the caller gave."""
    import torch

    from unseen.probes.arrays import row_blocks

    bad = list[int]()
    for rows in row_blocks(len(X), 4 * X.shape[1], X.device) if X.is_floating_point() or X.is_complex() else ():
        bad += (torch.where(~torch.isfinite(X[rows]).all(dim=1))[0] + rows.start).tolist()
    if bad:
        raise UserError(f"{name} has values that are not finite: {row_numbers(bad)}")


def _names(labels: Any, what: str) -> NDArray[Any]:
    """Labels as an array of int64 or of strings."""
    array = labels.detach().cpu().numpy() if hasattr(labels, "detach") else np.asarray(labels)
    if array.dtype.kind in "USO" and all(isinstance(label, str) for label in array.ravel().tolist()):
        return array.astype(str)
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    raise UserError(f"the {what} labels have type {array.dtype}; give class labels as integers or strings")


def _features(array: Any, what: str) -> "torch.Tensor":
    import torch

    if isinstance(array, torch.Tensor):
        return array.detach()
    plain = np.asarray(array)
    if plain.dtype.kind not in "fiub":
        raise UserError(f"the {what} features must be numeric arrays, not arrays of {plain.dtype}")
    return torch.from_numpy(plain if plain.flags.writeable else plain.copy())
