"""The probe `knn`: votes of the nearest training samples."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from unseen.probes.probe import Drawn, DrawnProbe, ProbeData
from unseen.probes.protocol import Setting
from unseen.probes.units import hit_units
from unseen.reading.keys import key

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class KNN(DrawnProbe):
    """k-nearest-neighbour classification by cosine similarity; see `unseen.probes.knn`. No hyper-parameters are
    searched.
    """

    name: ClassVar[str] = "knn"
    title: ClassVar[str] = "k nearest neighbours by cosine similarity"
    purpose: ClassVar[str] = "a quick look: nothing is trained"
    scored: ClassVar[bool] = True
    keeps_units: ClassVar[bool] = True
    takes_gaps: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("top1", "top5")
    k: int | tuple[int, ...] = key(20, "number of neighbours that vote, or several numbers", least=1)
    weights: Literal["exponential", "uniform", "distance"] = key(
        "exponential", "votes by similarity s: exp(s/temperature), 1, or 1/(1 − s)"
    )
    temperature: float = key(0.07, "temperature of exponential votes", above=0)

    def fit_drawn(self, data: ProbeData, seed: int) -> Iterator[Drawn]:
        from unseen.probes.knn import knn

        used = [min(k, len(data.y_train)) for k in self._ks]
        result = knn(*data.on_device(), used, weights=self.weights, temperature=self.temperature)
        for place, (k, neighbours) in enumerate(zip(self._ks, used, strict=True)):
            values = ("top1", result.top1[place]), ("top5", result.top5[place])
            yield f"{self.name}-{k}", values, {"neighbours": neighbours}, hit_units(result.hits[place])

    def test_scores(
        self, data: ProbeData, setting: Setting, kept: Mapping[str, Any]
    ) -> "Iterator[tuple[str, Tensor]] | None":
        """The votes for each class."""
        from unseen.probes.knn import knn_votes

        X_train, y_train, X_test, _ = data.drawn(setting).on_device()
        how = (data.classes, self.weights, self.temperature)
        return ((f"{self.name}-{k}", knn_votes(X_train, y_train, X_test, min(k, len(y_train)), *how)) for k in self._ks)

    def variants(self, data: ProbeData) -> int:
        return len(self._ks)

    @property
    def _ks(self) -> tuple[int, ...]:
        return (self.k,) if isinstance(self.k, int) else tuple(self.k)


PROBE = KNN
