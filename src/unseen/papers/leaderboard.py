"""The leaderboard of ImageNet-CoG: models ranked on unseen concepts, with the uncertainty of each rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from unseen.backbones.catalogue import catalogue
from unseen.metrics.accuracy_scales import expit, logit
from unseen.metrics.paired.standings import Standings
from unseen.metrics.ranks import Ranks, ranks_from_draws
from unseen.metrics.resampling import Interval, percentile_interval
from unseen.metrics.robustness import LogitFit
from unseen.papers import cog_models
from unseen.papers.concept_generalization import (
    DOMAINS,
    LEVELS,
    Accuracies,
    ConceptGeneralization,
    ExpectedBand,
    effective_generalization,
    expected_bands,
    published_accuracies,
)
from unseen.text.notebook import table_html

By = Literal["l5", "mean", "effective"]
BY: tuple[By, ...] = ("l5", "mean", "effective")
REFERENCE = "ResNet50"
USUAL_SIZE = 224
BAND_POINTS = 40
WEB_DATA = "saw other data than IN-1K"
LARGER_IMAGES = "larger images than 224 pixels"
OTHER_SIZE = "a network of another size than ResNet50"


@dataclass(frozen=True)
class Own:
    """Metadata of a user's backbone besides its accuracies.

    Attributes:
        cautions: why comparisons are not fair.
        source: name of the contributed model; empty for others.
    """

    category: str = "yours"
    cautions: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True)
class Entry:
    """A model on the leaderboard: shares, and differences of shares.

    Attributes:
        accuracy: on each of `DOMAINS`, and `mean` over the five levels.
        relative: the same minus ResNet50's.
        effective: on each level and `mean` over them, beyond what the accuracy on IN-1K predicts; 95% intervals.
        rank, low, high: rank from 1 by the leaderboard's criterion, and its 95% range over resampled accuracies.
        best: share of resamples in which it is first.
        cautions: why it is not fair to compare it with ResNet50 trained on IN-1K, each a few words.
        source: name of the contributed model; empty for others.
    """

    model: str
    category: str
    yours: bool
    cautions: tuple[str, ...]
    accuracy: Mapping[str, float]
    relative: Mapping[str, float]
    effective: Mapping[str, Interval]
    rank: int
    low: int
    high: int
    best: float
    source: str = ""


@dataclass(frozen=True)
class Leaderboard:
    """Entries in order of rank.

    Attributes:
        generalization: of all models, including those that are not among the entries.
        bands: level → line of its accuracies against those on IN-1K, with its uncertainty.
        notice: what a reader must know about the user's runs.
        own: the user's backbones ranked among themselves by `by`, from which test images each classifies correctly;
            None if there are fewer than two with such results, or if `by` is `effective`.
    """

    shots: str
    by: By
    entries: tuple[Entry, ...]
    generalization: ConceptGeneralization
    bands: Mapping[str, ExpectedBand]
    notice: str = ""
    own: Standings | None = None

    @property
    def fits(self) -> dict[str, LogitFit]:
        """Level → line of its accuracies against those on IN-1K."""
        return dict(zip(LEVELS, self.generalization.fits, strict=True))

    def __repr__(self) -> str:
        first = ", ".join(f"{entry.rank} {entry.model}" for entry in self.entries[:3])
        return f"Leaderboard({len(self.entries)} models by {self.by}, {self.shots} shots: {first}, …)"

    def _repr_html_(self) -> str:
        shown = ["rank", "model", "category", *DOMAINS, "mean", "relative", "effective"]
        return table_html(f"ImageNet-CoG by {self.by}, {self.shots} shots", self.to_frame()[shown])

    def to_frame(self) -> pd.DataFrame:
        """One row per entry; accuracies are shares, `relative` and `effective` those by which entries are ordered.

        `rank_low` and `rank_high` are the 95% range of the rank over seeds. If the user's backbones are ranked among
        themselves, `own_rank`, `own_low`, `own_high` and `own_group` are their ranks, intervals and tie groups.
        """
        domain = "l5" if self.by == "l5" else "mean"
        rows = [
            {
                "rank": entry.rank, "rank_low": entry.low, "rank_high": entry.high, "model": entry.model,
                "category": entry.category, "yours": entry.yours, "shots": self.shots, **entry.accuracy,
                "relative": entry.relative[domain], "effective": entry.effective[domain].value,
                "effective_low": entry.effective[domain].low, "effective_high": entry.effective[domain].high,
                "cautions": "; ".join(entry.cautions),
            }
            for entry in self.entries
        ]  # fmt: skip
        return self._with_own(pd.DataFrame(rows))

    def _with_own(self, table: pd.DataFrame) -> pd.DataFrame:
        if self.own is None:
            return table
        columns = {"rank": self.own.rank, "low": self.own.low, "high": self.own.high, "group": self.own.group}
        own = {f"own_{name}": pd.Series(values, self.own.names, "Int64") for name, values in columns.items()}
        return table.assign(**{name: table["model"].map(values) for name, values in own.items()})


def leaderboard(
    own: Accuracies | None = None,
    about: Mapping[str, Own] | None = None,
    *,
    shots: str = "all",
    by: By = "l5",
    notice: str = "",
) -> Leaderboard:
    """The 31 published models, with a user's models among them.

    Models are ranked by `l5` (accuracy on L5), `mean` (over L1 to L5) or `effective` (that mean beyond the prediction).
    The uncertainty of ranks comes from resampling every accuracy: normal with its standard error over seeds, and for
    published ones uniform within the rounding in print; for `effective`, the models of the line as well. Other concepts
    or images would change ranks further.

    Args:
        own: the user's backbones, under names that no published model has.
        about: metadata of these backbones.
        notice: what a reader must know about their runs.
    """
    printed = published_accuracies(shots)
    everyone = printed if own is None else printed + own
    scored = effective_generalization(everyone, printed)
    if by == "effective":
        values, draws = scored.effective.mean(axis=1), scored.draws.mean(axis=2)
    else:
        levels = slice(-1, None) if by == "l5" else slice(1, None)
        values, draws = everyone.mean[:, levels].mean(axis=1), everyone.draws()[:, :, levels].mean(axis=2)
    # Values that are equal in print are ties: the order of a sum must not break them.
    ranks = ranks_from_draws(values.round(9), draws)
    order = sorted(range(len(everyone.models)), key=lambda row: (ranks.rank[row], everyone.models[row]))
    known = _published_facts() | dict(about or {})
    entries = [_entry(row, everyone, scored, ranks, known, len(printed.models)) for row in order]
    seen = everyone.mean[:, 0]
    bands = expected_bands(printed, expit(np.linspace(logit(seen.min()), logit(seen.max()), BAND_POINTS)))
    return Leaderboard(shots, by, tuple(entries), scored, bands, notice)


def _entry(
    row: int,
    everyone: Accuracies,
    scored: ConceptGeneralization,
    ranks: Ranks,
    about: Mapping[str, Own],
    published: int,
) -> Entry:
    name = everyone.models[row]
    facts = about.get(name, Own())
    base = _accuracy(everyone, everyone.models.index(REFERENCE))
    accuracy = _accuracy(everyone, row)
    effective = {
        level: percentile_interval(scored.effective[row, place], scored.draws[:, row, place])
        for place, level in enumerate(LEVELS)
    }
    effective["mean"] = percentile_interval(scored.effective[row].mean(), scored.draws[:, row].mean(axis=1))
    return Entry(
        name, facts.category, row >= published, facts.cautions, accuracy,
        {domain: value - base[domain] for domain, value in accuracy.items()}, effective,
        int(ranks.rank[row]), int(ranks.low[row]), int(ranks.high[row]), float(ranks.best[row]), facts.source,
    )  # fmt: skip


def _accuracy(accuracies: Accuracies, row: int) -> dict[str, float]:
    values = dict(zip(DOMAINS, accuracies.mean[row].tolist(), strict=True))
    return values | {"mean": float(np.mean([values[level] for level in LEVELS]))}


def _published_facts() -> dict[str, Own]:
    """Category and cautions of the published models.

    As in the paper, models with web data are not comparable, and others are directly comparable if they have about as
    many parameters as ResNet50 (here: within a quarter) and, we add, images of the same size.
    """
    table = cog_models()
    facts = {}
    for row in table.fillna({"extra_data": ""}).to_dict("records"):
        cautions: Sequence[tuple[str, bool]] = [
            (WEB_DATA, bool(row["extra_data"])),
            (LARGER_IMAGES, row["size"] > USUAL_SIZE),
            (OTHER_SIZE, other_size(row["parameters"])),
        ]
        facts[row["model"]] = Own(row["category"], tuple(text for text, holds in cautions if holds))
    return facts


def other_size(parameters: float) -> bool:
    """Whether these millions of parameters, without the classifier, differ from ResNet50's by more than a quarter."""
    usual = next(model.parameters_millions for model in catalogue("cog-v2") if model.name == REFERENCE)
    return abs(parameters / usual - 1) > 0.25
