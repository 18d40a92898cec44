"""`unseen.probe`: any probe on features in memory."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import TYPE_CHECKING

from unseen.api.probe_result import ProbeResult
from unseen.extras import naming_extras
from unseen.probes.probe import Probe
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.shots import Shots
from unseen.studies.array_probing import probe_arrays
from unseen.studies.progress_bars import bars

if TYPE_CHECKING:
    import torch
    from numpy.typing import ArrayLike

    from unseen.probes.many_shot import ManyShotProtocol


@naming_extras()
def probe(
    X_train: "ArrayLike | torch.Tensor",
    y_train: "ArrayLike | torch.Tensor",
    X_test: "ArrayLike | torch.Tensor",
    y_test: "ArrayLike | torch.Tensor",
    *,
    probe: "str | PathLike[str] | Probe" = "logistic",
    metric: "str | PathLike[str] | Sequence[str | PathLike[str]]" = (),
    protocol: "str | LogisticProtocol | ManyShotProtocol | None" = None,
    shots: Shots = None,
    seeds: int | Iterable[int] = 5,
    device: str | None = None,
    progress: bool = True,
) -> ProbeResult:
    """Fit a probe to training features and score it on test features.

    Args:
        X_train, X_test: (n, d) numeric arrays or tensors; not modified.
        y_train, y_test: (n,) class labels, as integers or strings. Every class needs training and test samples.
        probe: name of a probe (logistic, linear, knn, ridge, kmeans, mlp, pca, centroids, geometry); a probe with your
            own settings, such as `unseen.probes.KNN(k=5)`; or the path of a Python file with your own probe, which is
            executed.
        metric: Python files with metrics of your own, for probes that return class scores (logistic, linear, knn,
            ridge, and your own).
        protocol: name of a protocol, for probes that have several: "cog-v2", "cog-v2-pruned" or "cog-v2-short" for
            logistic, pca and mlp; "ericsson-2021" or "ericsson-2021-exact" for linear. By default the first.
        shots: training samples per class: 8, "all", or a list such as [1, 8, "all"]. By default all, or 5 for few-shot
            episodes. Classes that have fewer samples use all of theirs; numbers that no class has are skipped.
        seeds: number of seeds, or a list of seeds. A probe without randomness is fitted once.
        device: "cpu" or "cuda"; by default a GPU if there is one.
        progress: show a progress bar in a terminal or a notebook.

    Returns:
        The scores, with `.summary()`, `.to_frame()` and `.plot()`; `.notices` names what was skipped.

    Example:
        >>> result = unseen.probe(*unseen.example("l5"), probe="knn", shots=[1, 8, "all"], seeds=3)
        >>> table = result.summary()
        >>> table[table.metric == "top1"][["shots", "mean", "deviation"]].round(4)
          shots    mean  deviation
        0     1  0.2393     0.0445
        2     8  0.4793     0.0174
        4   all  0.6267        NaN
    """
    with bars(show=progress) as watch:
        scores = probe_arrays(
            (X_train, y_train, X_test, y_test), probe, metric, protocol, shots, seeds, device, watch, watch.tell
        )
    return ProbeResult(**vars(scores))
