"""The probe `centroids`: few-shot episodes as in Ericsson et al. 2021."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from unseen.errors import UserError
from unseen.probes.probe import Fit, Probe, ProbeData
from unseen.probes.protocol import Setting


@dataclass(frozen=True)
class Centroids(Probe):
    """Few-shot classification by the nearest centroid over random episodes; see `unseen.probes.centroids`.

    Episodes are drawn from training and test samples together, as the paper does; a seed draws all of them.

    Args:
        ways: classes of an episode.
        queries: samples of each class that are classified.
        normalise: whether to scale features to length 1 first.
    """

    name: ClassVar[str] = "centroids"
    title: ClassVar[str] = "few-shot episodes with the nearest centroid (Ericsson et al.)"
    random: ClassVar[bool] = True
    default_shots: ClassVar[tuple[int | None, ...]] = (5,)
    ways: int = 5
    queries: int = 15
    episodes: int = 600
    normalise: bool = False

    def fit(self, data: ProbeData, settings: Sequence[Setting]) -> Iterator[Fit]:
        import torch

        from unseen.probes.centroids import centroids

        if any(setting.shots is None for setting in settings):
            raise UserError("episodes have a number of shots, not all: say for instance shots=5")
        X_train, y_train, X_test, y_test = data.on_device()
        X, y = torch.cat([X_train, X_test]), torch.cat([y_train, y_test])
        for setting in settings:
            result = centroids(
                X,
                y,
                shots=setting.shots or 1,
                ways=self.ways,
                queries=self.queries,
                episodes=self.episodes,
                seed=setting.seed,
                normalise=self.normalise,
            )
            details = {"interval": result.interval, "ways": self.ways, "episodes": self.episodes}
            yield Fit(self.name, setting.shots, setting.seed, (("top1", result.accuracy),), details)


PROBE = Centroids
