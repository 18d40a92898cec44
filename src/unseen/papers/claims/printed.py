"""The printed numbers by what they measure, and the comparisons that claims consist of."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from unseen.papers.load import published
from unseen.text.words import signed

REFERENCE = "ResNet50"
LEVELS = ("l1", "l2", "l3", "l4", "l5")
DOMAINS = ("in1k", *LEVELS)
FEW = ("1", "2", "4", "8", "16", "32", "64", "128")


@dataclass(frozen=True)
class Lead:
    """By how many points a model is above another; one decimal, as printed."""

    model: str
    domain: str
    shots: str
    points: float


@dataclass(frozen=True)
class Accuracies:
    """Top-1 accuracy in percent by (model, domain, shots)."""

    values: Mapping[tuple[str, str, str], float]

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(model for model, _, _ in self.values))

    def of(self, model: str, domain: str, shots: str = "all") -> float:
        return self.values[model, domain, shots]

    def lead(self, model: str, other: str, domain: str, shots: str = "all") -> float:
        return round(self.of(model, domain, shots) - self.of(other, domain, shots), 1)

    def leads(
        self, pairs: Iterable[tuple[str, str]], domains: Sequence[str] = LEVELS, shots: Sequence[str] = ("all",)
    ) -> list[Lead]:
        """The lead of the first over the second model of each of `pairs`, on every domain and number of shots."""
        return [
            Lead(model, domain, n, self.lead(model, other, domain, n))
            for model, other in pairs
            for domain in domains
            for n in shots
        ]

    def rises(self) -> list[tuple[str, str, str]]:
        """(model, domain, next domain) if accuracy on all images does not decrease, contrary to the idea of levels."""
        return [
            (model, a, b)
            for model in self.models
            for a, b in pairwise(DOMAINS)
            if self.of(model, b) >= self.of(model, a)
        ]

    def place(self, model: str, domain: str, shots: str = "all") -> int:
        """1 for the best; equal models share the better place."""
        return 1 + sum(self.lead(other, model, domain, shots) > 0 for other in self.models)

    def order(self, domain: str) -> list[str]:
        """Models from the best to the worst."""
        return sorted(self.models, key=lambda model: -self.of(model, domain))


@dataclass(frozen=True)
class Printed:
    """The tables that the claims are about.

    Attributes:
        accuracy: cog-v2, 31 models.
        first_accuracy: cog-v1, 7 models, on other levels.
        gain: cog-v1, percent of the linear classifier's accuracy by (mlp or mlp-linear, model, domain).
        compressed: cog-v1, accuracy by (model, domain, principal components).
        clusters: cog-v1, agreement of clusters with concepts by (metric, model, domain).
    """

    accuracy: Accuracies
    first_accuracy: Accuracies
    gain: Mapping[tuple[str, str, str], float]
    compressed: Mapping[tuple[str, str, int], float]
    clusters: Mapping[tuple[str, str, str], float]


def printed() -> Printed:
    """The numbers as printed in the papers."""
    second, first = published("cog-v2"), published("cog-v1")
    return Printed(
        Accuracies(_by(second, "model", "domain", "shots", value="mean")),
        Accuracies(_by(first[first["table"] == 4], "model", "domain", "shots")),
        _by(first[first["metric"] == "gain"], "probe", "model", "domain"),
        _by(first[first["table"] == 5], "model", "domain", "components"),
        _by(first[first["table"] == 6], "metric", "model", "domain"),
    )


def _by(table: Any, *keys: str, value: str = "value") -> dict[Any, float]:
    columns = (table[key].tolist() for key in keys)
    return dict(zip(zip(*columns, strict=True), table[value].tolist(), strict=True))


def name(domain: str) -> str:
    """A domain as written in the papers."""
    return "IN-1K" if domain == "in1k" else domain.upper()


def span(leads: Sequence[Lead]) -> str:
    """The smallest and the largest of some leads."""
    points = [lead.points for lead in leads]
    return f"{signed(min(points))} to {signed(max(points))} points"


def series(values: Iterable[float]) -> str:
    """Differences one after another."""
    return ", ".join(signed(value) for value in values)


def listed(leads: Sequence[Lead]) -> str:
    """Leads one by one, grouped by model and domain; "none" if there are none."""
    groups: dict[tuple[str, str], list[Lead]] = {}
    for lead in leads:
        groups.setdefault((lead.model, lead.domain), []).append(lead)
    if not groups:
        return "none"
    return "; ".join(
        f"{model} on {name(domain)}{_shots(group)} ({series(lead.points for lead in group)})"
        for (model, domain), group in groups.items()
    )


def _shots(group: Sequence[Lead]) -> str:
    few = [lead.shots for lead in group if lead.shots != "all"]
    return f" with {', '.join(few)}" if few else ""
