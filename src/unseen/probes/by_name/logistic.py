"""The probe `logistic`: the logistic regression of ImageNet-CoG."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, PublishedOn, Size
from unseen.probes.protocol import (
    COG_V2,
    PROTOCOLS,
    LogisticProtocol,
    PrunedProtocol,
    Setting,
    cuts_text,
    protocol_named,
)
from unseen.probes.units import hit_units
from unseen.reading.keys import key

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from unseen.probes.sgd.search import Trial
    from unseen.probes.vectors import Vectors


@dataclass(frozen=True)
class Logistic(Probe):
    """A linear classifier trained by SGD, with learning rate and weight decay searched on a part of the training set.

    Features are ℓ2-normalised; see `unseen.probes.logistic`.
    """

    name: ClassVar[str] = "logistic"
    title: ClassVar[str] = "logistic regression by SGD with searched hyper-parameters (ImageNet-CoG)"
    citation: ClassVar[str] = "Sariyildiz et al. 2021, Concept Generalization in Visual Representation Learning"
    purpose: ClassVar[str] = "papers on concepts: ImageNet-CoG, few shots to all"
    published_on: ClassVar[PublishedOn] = "levels"
    random: ClassVar[bool] = True
    scored: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5")
    revision: ClassVar[int] = 2
    protocol: str | LogisticProtocol = key(
        "cog-v2", "full, poor trials stopped early, or short for a quick look", choices=tuple(PROTOCOLS), hint=str
    )
    products: str | None = key(None, "number type of products; unset: 16 bits on a GPU", choices=("float32", "float16"))
    sequential: bool = key(False, "run one trial at a time, as in the paper", identity=False)

    @property
    def protocol_name(self) -> str:
        return self.search.name

    @property
    def resolved(self) -> "Logistic":
        return replace(self, protocol=self.search, sequential=False)

    @property
    def search(self) -> LogisticProtocol:
        """The protocol, with its trials in the requested order."""
        found = resolved(self.protocol)
        return found.sequential if self.sequential else found

    def usual(self, *, gpu: bool | None = None) -> Mapping[str, Any]:
        return {} if gpu is None else {"products": usual_products(gpu)}

    def with_protocol(self, protocol: Any) -> "Logistic":
        return replace(self, protocol=resolved(protocol))

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        from unseen.probes.logistic import probe_settings

        results = probe_settings(
            data.X_train,
            data.y_train,
            data.X_test,
            data.y_test,
            settings,
            protocol=self.search,
            device=data.device,
            products=self._products(data.device),
        )
        for setting, result in results:
            details = {
                "rate": result.rate,
                "decay": result.decay,
                "trials": listed(result.trials),
                "fewest_samples": result.fewest_samples,
            }
            values = (("top1", result.top1), ("top5", result.top5))
            yield Fit(self.name, setting.shots, setting.seed, values, details, units=hit_units(result.hits))

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """Logits; with the stored rate and decay, a single fit gives them."""
        import torch

        from unseen.probes.correctness import linear_scores
        from unseen.probes.logistic import final_fit

        if "rate" not in kept:
            kept = next(self.fit(data, [setting])).details
        products = self._products(data.device)
        weights, bias = final_fit(
            data.X_train, data.y_train.long(), data.classes, setting, (kept["rate"], kept["decay"]),
            protocol=self.search, device=torch.device(data.device), products=products,
        )  # fmt: skip
        scores = torch.cat([*linear_scores(data.test_rows(unit=True).to(products), weights, bias)])
        return iter([(self.name, scores)])

    def _products(self, device: str) -> "torch.dtype":
        import torch

        name = self.products or usual_products(device.startswith("cuda"))
        return getattr(torch, name)  # type: ignore[no-any-return]

    def flops(self, size: Size, setting: Setting) -> float:
        """Flops of products: trials on the larger part, then the final fit; few samples are trained in their span."""
        from unseen.probes.sgd.few_samples import WORTH
        from unseen.probes.sgd.schedule import steps_of_epoch

        protocol = self.search
        whole = size.rows if setting.shots is None else min(setting.shots * size.classes, size.rows)
        part = whole * (1 - protocol.validation) if setting.shots is None else whole
        wide = whole if whole <= WORTH * size.dimension else size.dimension + 1
        searched = protocol.for_steps(steps_of_epoch(ceil(part), protocol.batch))
        return 4.0 * wide * size.classes * (part * searched.trial_epochs + whole * protocol.epochs)

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the features, each with a 1 for the bias, and of one round of trials.

        Batches are drawn from the features themselves, in 16 bits on a GPU and in 32 on a CPU. A CPU has three copies
        of the weights (with momentum and result) and scores with their gradient for a batch.
        """
        from unseen.probes.sgd.kernels.layout import padded
        from unseen.probes.sgd.memory import SweepSize
        from unseen.probes.sgd.rows import ALIGNED

        protocol = self.search
        wide, trials = size.dimension + 1, protocol.round_size
        if gpu:
            sweep = SweepSize(1, trials, size.classes, size.dimension, protocol.batch, item=2)
            return size.rows * padded(wide, ALIGNED) * 2 + sweep.bytes
        weights, scores = trials * wide * size.classes, protocol.batch * trials * size.classes
        return 4 * (size.rows * wide + 3 * weights + 2 * scores)

    def remarks(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """That its search is not the paper's."""
        yield from search_remarks(self.search)

    @property
    def regression(self) -> LogisticProtocol:
        return self.search

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[Logistic]":
        return (replace(self.resolved, products=self.products or usual_products(gpu)),)


def resolved(protocol: str | LogisticProtocol) -> LogisticProtocol:
    """The protocol with that name, or the protocol itself."""
    return protocol_named(protocol) if isinstance(protocol, str) else protocol


def search_remarks(protocol: LogisticProtocol) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a reader must know of a search that is not the paper's."""
    if protocol.name == COG_V2.name:
        return
    about: dict[str, Any] = {"protocol": protocol.name, "trials": protocol.trials, "epochs": protocol.epochs}
    if isinstance(protocol, PrunedProtocol) and protocol.cuts:
        epochs, survivors = zip(*protocol.cuts, strict=True)
        about |= {"cuts": cuts_text(epochs, survivors), "many": protocol.many_steps, "least": protocol.least_steps}
        yield "pruned-search", about
    else:
        yield "short-search", about | {"starts": protocol.starts}


def usual_products(gpu: bool) -> str:
    """The default dtype of the factors in the products of regressions."""
    return "float16" if gpu else "float32"


def listed(trials: "Sequence[Trial]") -> list[list[float]]:
    """Rate, decay and score of each trial, in the order tried, and the epochs of those stopped early."""
    return [
        [trial.rate, trial.decay, trial.score, *([] if trial.stopped is None else [trial.stopped])] for trial in trials
    ]


PROBE = Logistic
