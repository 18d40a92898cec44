"""Tables of scores: means with their uncertainty, gaps to the seen domain, differences from a baseline, ranks."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from unseen.errors import UserError
from unseen.files import atomic_write, csv_cell, write_text
from unseen.metrics.catalogue import METRICS, Metric
from unseen.metrics.resampling import Interval
from unseen.runs.score import Score, shots_name
from unseen.text.latex import escaped, tabular, with_definitions

SAMPLES = ["fewest_samples", "median_samples", "most_samples"]
"""Columns with the training samples per class, which are the same for all seeds."""
GROUP = ["study", "protocol", "backbone", "domain", "probe", "shots", "metric"]
RESAMPLES = 2000
TAIL = (1 - 0.95) / 2
"""Not 0.025, so that intervals are bit-identical to others."""
LOGISTIC = "logistic"
MARKUP = re.compile(r"[\\|<`*\[\]]")
"""What Markdown takes for more than text, within a cell of a table."""
_SIGNS = {True: 1.0, False: -1.0, None: np.nan}


def score_table(scores: Iterable[Score]) -> pd.DataFrame:
    """One row per score, without versions; `shots` is text, a number or `all`."""
    rows = [score.as_dict() | {"shots": shots_name(score.shots)} for score in scores]
    if not rows:
        raise UserError("there are no scores; finish the run")
    return pd.DataFrame(rows).drop(columns="versions").astype(dict.fromkeys(SAMPLES, "Int64"))


def bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """95% percentile bootstrap interval of the mean over repetitions.

    With 3 or 5 seeds the interval is coarse, since it cannot leave the range of the values: a spread, not a test.
    """
    array = np.asarray(values, dtype=np.float64)
    low, high = np.quantile(array[_drawn(len(array))].mean(axis=1), [TAIL, 1 - TAIL])
    return float(low), float(high)


def nearly_bootstrap_interval(values: Sequence[float]) -> tuple[float, float]:
    """The same interval up to rounding, ten times as fast: of many resamples of few values, most are equal.

    Resamples that take every value equally often have the same mean, so each of these is computed and sorted once.
    """
    counts, many = _distinct(len(values))
    means = counts @ np.asarray(values, dtype=np.float64) / len(values)
    order = np.argsort(means)
    last = np.cumsum(many[order])
    ends = []
    for at in ((RESAMPLES - 1) * TAIL, (RESAMPLES - 1) * (1 - TAIL)):
        lower, upper = means[order[np.searchsorted(last, [int(at), int(at) + 1], side="right")]].tolist()
        ends.append(lower + (upper - lower) * (at - int(at)))
    return ends[0], ends[1]


@lru_cache(maxsize=8)
def _drawn(many: int) -> NDArray[np.int64]:
    """(resamples, many) indices of the values that are drawn with replacement."""
    return np.random.default_rng(0).integers(0, many, (RESAMPLES, many))


@lru_cache(maxsize=8)
def _distinct(many: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(d, many) how often each value is in the resamples that differ in this, and (d,) how many are equal to each."""
    counts = (_drawn(many)[:, :, None] == np.arange(many)).sum(axis=1)
    found, number = np.unique(counts, axis=0, return_counts=True)
    return found.astype(np.float64), number


def with_concept_intervals(summary: pd.DataFrame, intervals: Mapping[tuple[str, str, str], Interval]) -> pd.DataFrame:
    """The summary with `concept_low` and `concept_high`, the interval over seeds and concepts.

    Only the top-1 accuracy of the logistic probe has one; other rows are empty.

    Args:
        intervals: by backbone, domain and shots.
    """
    ends = []
    for r in summary[["backbone", "domain", "shots", "probe", "metric"]].itertuples(index=False):
        found = intervals.get((r.backbone, r.domain, r.shots)) if (r.probe, r.metric) == (LOGISTIC, "top1") else None
        ends.append((found.low, found.high) if found else (np.nan, np.nan))
    low, high = np.reshape(ends, (-1, 2)).T
    return summary.assign(concept_low=low, concept_high=high)


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Mean, sample standard deviation, 95% bootstrap interval and number of seeds, per backbone, domain, shots, metric.

    Training samples per class are the same for all seeds, except for random sets of concepts. Duplicate scores of a
    seed, which merged runs may share, count once. With a single seed, deviation and interval are NaN.
    """
    seeds: dict[tuple[Any, ...], dict[int, float]] = {}
    once = table.drop_duplicates([*GROUP, "seed"], keep="last")
    for *group, seed, value in once[[*GROUP, "seed", "value"]].itertuples(index=False, name=None):
        seeds.setdefault(tuple(group), {})[seed] = value
    rows = []
    for group, by_seed in seeds.items():
        values = [by_seed[seed] for seed in sorted(by_seed)]
        spread = (float(np.std(values, ddof=1)), *bootstrap_interval(values)) if len(values) > 1 else (np.nan,) * 3
        rows.append([*group, float(np.mean(values)), *spread, len(values)])
    summary = pd.DataFrame(rows, columns=[*GROUP, "mean", "deviation", "low", "high", "seeds"])
    samples = table.groupby(GROUP, sort=False)[SAMPLES].agg(dict(zip(SAMPLES, ("min", "median", "max"), strict=True)))
    return summary.join(samples.round().astype("Int64"), on=GROUP)


def with_comparisons(
    summary: pd.DataFrame,
    *,
    seen: str | None,
    baseline: str | None = None,
    metrics: Mapping[str, Metric] = METRICS,
) -> pd.DataFrame:
    """The summary with `gap` to the seen domain, difference from the baseline backbone (`relative`), and `rank`.

    Rank 1 is the best backbone on a domain with the same shots and metric; equal means share the better rank. Cells
    without anything to compare with are empty, and ranks by a metric without a better direction.
    """
    keys = ["study", "protocol", "backbone", "probe", "shots", "metric"]
    on_seen = summary[summary["domain"] == seen][[*keys, "mean"]].rename(columns={"mean": "_seen"})
    result = summary.merge(on_seen, on=keys, how="left")
    result["gap"] = result["mean"] - result.pop("_seen")
    keys = ["study", "protocol", "domain", "probe", "shots", "metric"]
    if baseline is not None:
        if baseline not in set(summary["backbone"]):
            raise UserError(f"no backbone '{baseline}'; choose from {', '.join(sorted(set(summary['backbone'])))}")
        base = summary[summary["backbone"] == baseline][[*keys, "mean"]].rename(columns={"mean": "_base"})
        result = result.merge(base, on=keys, how="left")
        result["relative"] = result["mean"] - result.pop("_base")
    sign = result["metric"].map(lambda name: _SIGNS[metrics[name].higher_is_better] if name in metrics else 1.0)
    result["rank"] = (
        (sign * result["mean"]).groupby([result[key] for key in keys]).rank(ascending=False, method="min")
    ).astype("Int64")
    return result


def percent_text(share: float, deviation: float | None) -> str:
    """A share in percent, followed by its deviation if it has one."""
    spread = "" if deviation is None or np.isnan(deviation) else f" ± {100 * deviation:.1f}"
    return f"{100 * share:.1f}{spread}"


def number_text(value: float, deviation: float | None) -> str:
    """A number without a unit, followed by its deviation if it has one."""
    spread = "" if deviation is None or np.isnan(deviation) else f" ± {deviation:.3f}"
    return f"{value:.3f}{spread}"


def fewer_samples(row: Any) -> str:
    """` (14 to 20 samples per class)` for a row of the summary in which some class has fewer samples than shots."""
    if row.shots == "all" or pd.isna(row.fewest_samples) or row.fewest_samples >= int(row.shots):
        return ""
    return f" ({row.fewest_samples} to {row.most_samples} samples per class)"


def wide(summary: pd.DataFrame, metric: str = "top1", *, share: bool = True) -> pd.DataFrame:
    """`mean ± deviation`, one row per backbone and shots, one column per domain, in order of appearance.

    A single seed has only a mean. The probe is `shown_probe`. If classes have fewer training samples than shots, their
    numbers follow.

    Args:
        share: whether the metric is a share, which is given in percent.
    """
    part = summary[summary["metric"] == metric]
    text = percent_text if share else number_text
    part = part[part["probe"] == shown_probe(summary, metric)]
    cells = [text(r.mean, r.deviation) + fewer_samples(r) for r in part.itertuples(index=False)]
    order = {name: list(dict.fromkeys(part[name])) for name in ("backbone", "shots", "domain")}
    pivot = part.assign(cell=cells).pivot_table(
        index=["backbone", "shots"], columns="domain", values="cell", aggfunc="first", sort=False
    )
    index = [(b, s) for b in order["backbone"] for s in order["shots"] if (b, s) in pivot.index]
    return pivot.loc[index, order["domain"]].fillna("").reset_index()


def shown_probe(summary: pd.DataFrame, metric: str) -> str:
    """The probe of `wide`: the logistic probe, or the first one with the metric if there is no logistic probe."""
    probes = list(dict.fromkeys(summary.loc[summary["metric"] == metric, "probe"]))
    return LOGISTIC if LOGISTIC in probes else str(probes[0])


def check_table_name(path: Path) -> None:
    """Refuse a suffix that no table is written with."""
    if path.suffix not in WRITERS:
        raise UserError(f"{path}: tables are written as {', '.join(WRITERS)}; choose one of these suffixes")


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table in the format of the file's suffix: .csv, .json, .parquet, .md or .tex."""
    check_table_name(path)
    content = WRITERS[path.suffix](table)
    if isinstance(content, str):
        write_text(path, content)
        return
    with atomic_write(path) as file:
        file.write(content)


def _csv(table: pd.DataFrame) -> str:
    cells = table.rename(columns=csv_cell)
    for name in cells.select_dtypes(exclude="number").columns:
        cells[name] = cells[name].map(csv_cell, na_action="ignore")
    text: str = cells.to_csv(index=False, lineterminator="\n")
    return text


def _parquet(table: pd.DataFrame) -> bytes:
    content: bytes = table.to_parquet(index=False)
    return content


def _markdown(table: pd.DataFrame) -> str:
    def line(cells: Iterable[object]) -> str:
        return "| " + " | ".join(MARKUP.sub(r"\\\g<0>", " ".join(_text(cell).splitlines())) for cell in cells) + " |\n"

    rows = "".join(line(row) for row in table.itertuples(index=False, name=None))
    return line(table.columns) + line("---" for _ in table.columns) + rows


def _json(table: pd.DataFrame) -> str:
    return f"{table.to_json(orient='records', indent=1)}\n"


def _latex(table: pd.DataFrame) -> str:
    columns = "".join("r" if pd.api.types.is_numeric_dtype(table[name]) else "l" for name in table.columns)
    rows = ([escaped(_text(cell)) for cell in row] for row in table.itertuples(index=False, name=None))
    return with_definitions(tabular(columns, [escaped(str(name)) for name in table.columns], rows))


WRITERS: Mapping[str, Callable[[pd.DataFrame], str | bytes]] = {
    ".csv": _csv, ".json": _json, ".parquet": _parquet, ".md": _markdown, ".tex": _latex,
}  # fmt: skip
"""Functions that write a table, by the suffix of the file."""


def _text(cell: object) -> str:
    if cell is None or cell is pd.NA:
        return ""
    if isinstance(cell, float):
        if np.isnan(cell):
            return ""
        return f"{cell:.4g}" if 0 < abs(cell) < 1e-3 else f"{cell:.4f}"  # penalties may be as small as 1e-6
    return str(cell)
