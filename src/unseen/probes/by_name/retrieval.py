"""The probe `retrieval`: how well images find others of their class, or the landmarks of a query."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from unseen.data.core.dataset import Target
from unseen.errors import UserError
from unseen.metrics.catalogue import DIFFICULTIES, FIRST_RANKS, REVISITED, SAME_CLASS
from unseen.metrics.from_units import known_means
from unseen.probes.job import Fit
from unseen.probes.probe import Probe, ProbeData, Size
from unseen.probes.protocol import Setting
from unseen.probes.samples import ClassCounts, Shortage
from unseen.probes.units import Units
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor

    from unseen.probes.retrieval.relevance import Relevance
    from unseen.probes.vectors import Vectors

COUNTING = 300
"""Dimensions whose products take as long as placing a row among the relevant ones, for time estimates."""


@dataclass(frozen=True)
class Retrieval(Probe):
    """Exact search by cosine similarity, with each test image as a query; nothing is trained.

    Of data with classes, images of the query's class are relevant. A query without any is skipped, and counted in the
    details of the fit. Of revisited Oxford and Paris, the database is searched under the three protocols of their
    authors (Radenović et al. 2018). See `unseen.probes.retrieval.ranks` and `unseen.metrics.retrieval`; 2·m·n·d flops
    for m queries among n images.
    """

    name: ClassVar[str] = "retrieval"
    title: ClassVar[str] = "search by cosine similarity for images of the same class, or for landmarks"
    citation: ClassVar[str] = "Musgrave et al. 2020, A Metric Learning Reality Check"
    purpose: ClassVar[str] = "a search engine: nothing is trained"
    targets: ClassVar[tuple[Target, ...]] = ("class", "ranking")
    keeps_units: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = (*SAME_CLASS, *REVISITED)
    gallery: Literal["test", "train"] = key("test", "images searched: other test images, or all for training")

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        if any(setting.shots is not None for setting in settings):
            raise UserError("retrieval trains nothing, so it has no shots; leave out shots")
        values, details = self._searched(data) if data.y_train.ndim == 1 else _revisited(data)
        arrays = {name: each.cpu().numpy() for name, each in values.items()}
        for setting in settings:
            units, means = Units("queries", arrays), list(known_means(arrays).items())
            yield Fit(self.name, setting.shots, setting.seed, means, details, units=units)

    def _searched(self, data: ProbeData) -> "tuple[dict[str, Tensor], dict[str, Any]]":
        """The values of all queries, and what was counted, for images with classes."""
        from unseen.metrics import retrieval
        from unseen.probes.retrieval.relevance import SameClass

        within, y = self.gallery == "test", data.y_test.to(data.device)
        queries = _directions(data, "test", copies=1)
        gallery = queries if within else _directions(data, "train", copies=2)
        relevance = SameClass(y, y if within else data.y_train.to(data.device), within)
        if not bool((relevance.counts > 0).any()):
            raise UserError(
                "retrieval: no class has two test images, so that no query has anything to find; search the training "
                "images (retrieval.gallery=train), or use data with more test images per class"
            )
        measures = (retrieval.average_precision_at_r, retrieval.recall_at_1, retrieval.average_precision)
        found = _measured(queries, gallery, relevance, dict(zip(SAME_CLASS, measures, strict=True)))
        skipped, searched = int((relevance.counts == 0).sum()), len(gallery) - int(within)
        counts = {"queries": len(y) - skipped, "skipped": skipped, "searched": searched}
        return found, counts | {"zero_vectors": _zeros(queries) + (0 if within else _zeros(gallery))}

    def planned(self, vectors: "Vectors", *, gpu: bool = False) -> "Sequence[Retrieval]":
        """Benchmarks with queries have a database, which is their training data."""
        return (replace(self, gallery="train") if vectors.target == "ranking" else self,)

    def takes_shots(self, shots: int | None) -> bool:
        """It is trained on nothing, so that only all samples make sense."""
        return shots is None

    def samples(self, data: ProbeData, shots: int | None) -> None:
        """It is trained on nothing."""

    def total_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """No class has two test images, if these are searched."""
        if self.gallery == "train" or max(counts.test, default=0) > 1:
            return None
        return Shortage(
            "nothing-to-find",
            (("classes", len(counts.test)),),
            "search the training images (retrieval.gallery=train), or use data with more test images per class",
        )

    def partial_shortage(self, counts: ClassCounts, shots: int | None) -> Shortage | None:
        """Some classes have a single test image, which finds no other."""
        alone = sum(number == 1 for number in counts.test)
        if self.gallery == "train" or not alone or self.total_shortage(counts, shots):
            return None
        return Shortage("queries-skipped", (("skipped", alone), ("queries", sum(counts.test))))

    def flops(self, size: Size, setting: Setting) -> float:
        return 2.0 * size.test_rows * self._searched_rows(size) * (size.dimension + COUNTING)

    def memory(self, size: Size, *, gpu: bool = False) -> int:
        """Bytes of the gallery and the queries, and of a block of rankings."""
        from unseen.probes.retrieval.ranks import BUDGET

        rows = size.test_rows + (size.rows if self.gallery == "train" else 0)
        return 4 * rows * size.dimension + BUDGET["cuda" if gpu else "cpu"]

    def _searched_rows(self, size: Size) -> int:
        return size.rows if self.gallery == "train" else size.test_rows


def _revisited(data: ProbeData) -> "tuple[dict[str, Tensor], dict[str, Any]]":
    """The values of all queries under each protocol, and the number of queries that count."""
    from functools import partial

    from unseen.data.core.ranking import CODES
    from unseen.metrics import retrieval
    from unseen.probes.retrieval.relevance import Listed

    queries, database = _directions(data, "test", copies=1), _directions(data, "train", copies=2)
    labels = data.y_train.to(data.device)
    easy, hard, junk = (labels == CODES[name] for name in ("easy", "hard", "junk"))
    protocols = {"easy": (easy, hard | junk), "medium": (easy | hard, junk), "hard": (hard, easy | junk)}
    found = dict[str, "Tensor"]()
    counts = {"searched": len(database), "zero_vectors": _zeros(queries) + _zeros(database)}
    for level in DIFFICULTIES:
        relevance = Listed(*protocols[level])
        counts[f"queries_{level}"] = int((relevance.counts > 0).sum())
        if not counts[f"queries_{level}"]:
            continue  # as in a small part of the data
        of_first = {f"precision-at-{k}-{level}": partial(retrieval.precision_at, k) for k in FIRST_RANKS}
        measures = {f"map-{level}": retrieval.trapezoid_average_precision, **of_first}
        found |= _measured(queries, database, relevance, measures)
    if not found:
        raise UserError("retrieval: no query has an image to find; use a complete copy of the data set")
    return {name: found[name] for name in REVISITED if name in found}, counts


def _measured(
    queries: "Tensor", gallery: "Tensor", relevance: "Relevance", measures: Mapping[str, Any]
) -> "dict[str, Tensor]":
    """(m,) each measure for each query in float64; NaN for queries without anything to find."""
    import torch

    from unseen.probes.retrieval.ranks import relevant_ranks

    found = {name: queries.new_full((len(queries),), torch.nan, dtype=torch.float64) for name in measures}
    for ranked in relevant_ranks(queries, gallery, relevance):
        for name, measure in measures.items():
            found[name][ranked.queries] = measure(ranked.ranks, ranked.counts)
    return found


def _zeros(units: "Tensor") -> int:
    """How many rows are all zeros, whose similarity to any other row is 0."""
    return int((~units.any(dim=1)).sum())


def _directions(data: ProbeData, side: Literal["train", "test"], *, copies: int) -> "Tensor":
    """The features of one side on the device with rows of length 1, checked."""
    from unseen.probes.arrays import checked_features, directions

    test = side == "test"
    X = data.test_rows(copies=copies) if test else data.train_rows(copies=copies)
    return directions(checked_features(X, "test" if test else "training"))


PROBE = Retrieval
