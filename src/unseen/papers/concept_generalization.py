"""Effective concept generalization: a model's accuracy on a level beyond what its accuracy on seen concepts predicts.

As for distribution shifts (`unseen.metrics.robustness`): over published models of ImageNet-CoG, a line is fitted for
each level to logit(accuracy on the level) against logit(accuracy on IN-1K), with the same number of shots. A model's
effective concept generalization is its accuracy minus the line's. Two questions are kept separate:

- Is the model off the line? The interval answers this: the models of the line are resampled (bootstrap), and the
  model's two accuracies are drawn from their spread over seeds and from the rounding in print.
- Is it further off than models usually are? This is tested by its deleted residual relative to the spread of the others
  about their line, with Student's t (Cook and Weisberg 1982).

No model affects the line it is measured by: each is left out of its own. Models that saw other data than IN-1K are in
no line, as in the paper's comparisons.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unseen.errors import UserError, did_you_mean
from unseen.metrics.accuracy_scales import expit, logit
from unseen.metrics.comparisons import benjamini_hochberg, holm
from unseen.metrics.planes import determined, planes
from unseen.metrics.resampling import Floats, draws
from unseen.metrics.residuals import new_point_test
from unseen.metrics.robustness import LogitFit, bootstrap_fits, fit_logits, interval
from unseen.papers import cog_models, published

SEEN = "in1k"
LEVELS = ("l1", "l2", "l3", "l4", "l5")
DOMAINS = (SEEN, *LEVELS)
SEEDS = 5
PRINTED = 0.001
"""Published accuracies are rounded to a tenth of a percent."""
RESAMPLES = 2000
MOST = 0.9
"""The share of draws of models that must determine every line."""
EDGE = 1e-4
"""Drawn accuracies are kept this far from 0 and 1, where logits are infinite."""


@dataclass(frozen=True)
class Accuracies:
    """Accuracies of m models on IN-1K and the five levels, in the order of `DOMAINS`, as shares.

    Attributes:
        mean: (m, 6) over seeds.
        error: (m, 6) standard error of that mean: the standard deviation over seeds over the root of their number; NaN
            if unknown.
        rounding: (m,) rounding step of the means; 0 if they are exact.
        originals: (m,) the names by which models are left out of their own lines; `models` by default.
    """

    models: tuple[str, ...]
    mean: Floats
    error: Floats
    rounding: Floats
    originals: tuple[str, ...] = ()

    def __add__(self, other: "Accuracies") -> "Accuracies":
        mean, error = np.vstack([self.mean, other.mean]), np.vstack([self.error, other.error])
        originals = self.line_names + other.line_names if self.originals or other.originals else ()
        rounding = np.concatenate([self.rounding, other.rounding])
        return Accuracies(self.models + other.models, mean, error, rounding, originals)

    @property
    def line_names(self) -> tuple[str, ...]:
        """Names of the models in the lines that they are left out of."""
        return self.originals or self.models

    def called(self, names: Sequence[str]) -> "Accuracies":
        """The same models under other names, still identified where lines are fitted."""
        return replace(self, models=tuple(names), originals=self.line_names)

    def at(self, rows: Sequence[int]) -> "Accuracies":
        """A subset of the models."""
        models, originals = (tuple(names[row] for row in rows) for names in (self.models, self.line_names))
        places = list(rows)
        return Accuracies(models, self.mean[places], self.error[places], self.rounding[places], originals)

    def draws(self, resamples: int = RESAMPLES, seed: int = 0) -> Floats:
        """(resamples, m, 6): resampled means, normal in their error and uniform in their rounding.

        Models added at the end do not change the draws of those before them.
        """
        models, domains = self.mean.shape
        shape = (models, resamples, domains)
        noise = np.random.default_rng([seed, 0]).standard_normal(shape) * self.error[:, None]
        rounded = np.random.default_rng([seed, 1]).uniform(-0.5, 0.5, shape) * self.rounding[:, None, None]
        drawn = np.clip(self.mean[:, None] + noise + rounded, EDGE, 1 - EDGE)
        return np.ascontiguousarray(drawn.transpose(1, 0, 2))


@dataclass(frozen=True)
class ConceptGeneralization:
    """Accuracy of m models on five levels beyond the prediction; arrays are (m, 5), shares.

    Attributes:
        expected, effective: the line's accuracy, and the model's accuracy minus that.
        low, high: 95% interval of `effective`.
        draws: (resamples, m, 5) behind the interval; a draw of models is the same on every level and for all.
        off_line: p-value that the model is on the line, from the spread of the draws.
        unusual: p-value that it is as far off as models usually are.
        fits: for each level, over all models that lines are fitted to.
    """

    models: tuple[str, ...]
    expected: Floats
    effective: Floats
    low: Floats
    high: Floats
    draws: Floats
    off_line: Floats
    unusual: Floats
    fits: tuple[LogitFit, ...]

    def table(self) -> pd.DataFrame:
        """One row per model and level, with p-values corrected for all of them (Holm; Benjamini and Hochberg)."""
        columns = {
            "expected": self.expected, "effective": self.effective, "low": self.low, "high": self.high,
            "off_line": self.off_line, "off_line_holm": holm(self.off_line),
            "unusual": self.unusual, "unusual_holm": holm(self.unusual),
            "unusual_fdr": benjamini_hochberg(self.unusual),
        }  # fmt: skip
        index = pd.MultiIndex.from_product([self.models, LEVELS], names=["model", "level"])
        return pd.DataFrame({name: values.ravel() for name, values in columns.items()}, index=index).reset_index()


def published_accuracies(shots: str = "all") -> Accuracies:
    """The 31 models of ImageNet-CoG in the catalogue's order, with that many shots."""
    table = published("cog-v2")
    known = list(dict.fromkeys(table["shots"]))
    if shots not in known:
        hint = did_you_mean(shots, known)
        raise UserError(f"no published accuracies with {shots} shots, only {', '.join(known)}{hint}")
    models = tuple(cog_models()["model"])
    chosen = table[table["shots"] == shots].set_index(["model", "domain"])
    mean, deviation = (
        chosen[column].unstack().loc[list(models), list(DOMAINS)].to_numpy(np.float64) / 100
        for column in ("mean", "deviation")
    )
    return Accuracies(models, mean, deviation / sqrt(SEEDS), np.full(len(models), PRINTED))


def measured_accuracies(
    summary: pd.DataFrame, shots: str = "all", *, on_imagenet: bool = True
) -> tuple[Accuracies, dict[str, list[str]]]:
    """Accuracies from a summary of scores (`unseen.runs.tables.summarise`) under the logistic probe, with that many
    shots.

    A single seed has no spread: its error is then the median over published models of the standard deviation over seeds
    on the domain.

    Args:
        on_imagenet: whether scores are on ImageNet-CoG's concepts. On others, the error of a single seed is unknown.

    Returns:
        The backbones that have all six domains; and for each of the others the domains it lacks.
    """
    top1 = summary[(summary["metric"] == "top1") & (summary["probe"] == "logistic") & (summary["shots"] == shots)]
    cells = dict[tuple[str, str], tuple[float, float, int]]()
    for backbone, domain, *numbers in top1[["backbone", "domain", "mean", "deviation", "seeds"]].to_numpy().tolist():
        cells.setdefault((backbone, domain), tuple(numbers))
    every = {name: [domain for domain in DOMAINS if (name, domain) not in cells] for name in summary["backbone"]}
    lacking = {name: missing for name, missing in every.items() if missing}
    models = tuple(name for name in every if name not in lacking)
    numbers = np.array([[cells[name, domain] for domain in DOMAINS] for name in models], dtype=np.float64)
    mean, deviation, seeds = np.moveaxis(numbers.reshape(len(models), len(DOMAINS), 3), 2, 0)
    single = seeds == 1
    usual = _usual_deviation(shots) if on_imagenet and single.any() else np.nan
    error = np.where(single, usual, deviation / np.sqrt(seeds))
    return Accuracies(models, mean, error, np.zeros(len(models))), lacking


def _usual_deviation(shots: str) -> Floats:
    """(6,) the median over published models of the standard deviation over seeds."""
    usual: Floats = np.median(published_accuracies(shots).error, axis=0) * sqrt(SEEDS)
    return usual


def seen_only_models() -> tuple[str, ...]:
    """The published models trained on IN-1K only, to which lines are fitted."""
    table = cog_models()
    return tuple(table.loc[table["extra_data"].fillna("") == "", "model"])


def effective_generalization(
    accuracies: Accuracies,
    baseline: Accuracies,
    fit_on: Iterable[str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> ConceptGeneralization:
    """Score models against the line of the others.

    Args:
        accuracies: the models to score: published ones, a user's, or both.
        baseline: the models that lines are fitted to, usually `published_accuracies` with the same shots.
        fit_on: names of the models of `baseline` in the fit; by default `seen_only_models()`. A model to score that
            has, or had (`Accuracies.originals`), one of these names is left out of its own line.
    """
    rows = _rows(baseline, fit_on)
    base, members = baseline.mean[rows], [baseline.models[row] for row in rows]
    in_line = [np.array([member != name for member in members]) for name in accuracies.line_names]
    counts = _model_draws(logit(base[:, :1]), in_line, resamples, seed)
    drawn = accuracies.draws(len(counts), seed)
    expected, unusual = np.empty((2, len(in_line), len(LEVELS)))
    differences = drawn[:, :, 1:].copy()
    sharing: dict[bytes, list[int]] = {}  # most models, or all, are scored against the same lines
    for number, others in enumerate(in_line):
        sharing.setdefault(others.tobytes(), []).append(number)
    for numbers in sharing.values():
        others = in_line[numbers[0]]
        for place in range(len(LEVELS)):
            x, y = base[others, 0], base[others, place + 1]
            expected[numbers, place] = fit_logits(x, y, [SEEN]).predict(accuracies.mean[numbers, :1])
            lines = planes(logit(x)[:, None], logit(y), counts[:, others])
            for number in numbers:
                drawn_seen = logit(drawn[:, number, 0])
                differences[:, number, place] -= expit(lines[:, 0] * drawn_seen + lines[:, 1])
                point = logit(accuracies.mean[number, [0, place + 1]])
                unusual[number, place] = new_point_test(logit(x), logit(y), *point)
    effective = accuracies.mean[:, 1:] - expected
    low, high = interval(differences)
    from scipy import special

    off_line = special.erfc(np.abs(effective) / differences.std(axis=0, ddof=1) / sqrt(2))
    fits = tuple(fit_logits(base[:, 0], base[:, place + 1], [SEEN]) for place in range(len(LEVELS)))
    return ConceptGeneralization(
        accuracies.models, expected, effective, low, high, differences, off_line, unusual, fits
    )


def _model_draws(columns: Floats, in_line: Sequence[NDArray[np.bool_]], resamples: int, seed: int) -> Floats:
    """(b, n) how often each model of the fit is drawn; one draw serves all models, each without its own copies.

    Draws that would not determine one of the lines are left out.
    """
    counts = draws(np.random.default_rng(seed), len(columns), resamples)
    distinct = {others.tobytes(): others for others in in_line}.values()
    sound = np.all([determined(columns[others], counts[:, others]) for others in distinct], axis=0)
    if sound.mean() < MOST:
        raise UserError(f"{len(columns)} models are too few to fit and resample")
    return counts[sound]


@dataclass(frozen=True)
class ExpectedBand:
    """The line of a level at some accuracies on IN-1K, with its 95% interval over draws of models: (g,) shares."""

    seen: Floats
    expected: Floats
    low: Floats
    high: Floats


def expected_bands(baseline: Accuracies, seen: Floats, fit_on: Iterable[str] | None = None) -> dict[str, ExpectedBand]:
    """The predicted accuracy on each level at (g,) accuracies on IN-1K; arguments as in `effective_generalization`."""
    base = baseline.mean[_rows(baseline, fit_on)]
    bands = {}
    for place, level in enumerate(LEVELS, 1):
        lines = bootstrap_fits(base[:, 0], base[:, place], resamples=RESAMPLES)
        low, high = interval(expit(lines[:, :1] * logit(seen) + lines[:, 1:]))
        bands[level] = ExpectedBand(seen, fit_logits(base[:, 0], base[:, place], [SEEN]).predict(seen), low, high)
    return bands


def _rows(baseline: Accuracies, fit_on: Iterable[str] | None) -> list[int]:
    """Indices in the baseline of the models that lines are fitted to."""
    members = list(fit_on if fit_on is not None else seen_only_models())
    unknown = [name for name in members if name not in baseline.models]
    if unknown:
        raise UserError(f"no model '{unknown[0]}' to fit on{did_you_mean(unknown[0], baseline.models)}")
    return [baseline.models.index(name) for name in members]
