"""The section about the spectra of features: measures without labels, with the number of images behind each."""

from collections.abc import Mapping
from typing import Any

from unseen.probes.by_name.spectrum import Spectrum
from unseen.report.core.model import Cell, Column, Row, Section, Table
from unseen.runs.data import RunData
from unseen.runs.kept_units import result_behind
from unseen.runs.notices import SENTENCES
from unseen.runs.score import Score

PARTS = {"train": "training", "test": "test"}
COLUMNS = (
    Column("Backbone", number=False, names=("backbone",)),
    Column("Data set", number=False, names=("dataset",)),
    Column("Images", "that are measured, and of how many they are drawn", names=("images", "of")),
    Column("Dimensions", names=("dimensions",)),
    Column("RankMe", "at most the smaller of images and dimensions", names=("rankme",)),
    Column("α-ReQ", "exponent of the eigenvalues of these indices", names=("alpha_req", "first", "last")),
    Column("Participation ratio", names=("participation_ratio",)),
    Column("TwoNN dimension", "without images of equal features", names=("two_nn_dimension", "duplicates")),
)
NOTE = (
    "RankMe is the exponential of the entropy of the singular values (ε = 1e-7); α-ReQ the exponent of a power law of "
    "the eigenvalues of the covariance, from the 11th to the 100th; the participation ratio (Σλ)² / Σλ² of these "
    "eigenvalues; the TwoNN dimension is that of the ratios of the distances to the two nearest neighbours, without "
    "the largest tenth. Compare values only for equal numbers of images. They have no intervals."
)


def spectrum_section(data: RunData) -> Section | None:
    """One row per backbone and data set; None if the run has no such results."""
    fits = dict[str, dict[str, Score]]()
    for score in data.scores:
        if score.probe == Spectrum.name and score.key:
            fits.setdefault(score.key, {})[score.metric] = score
    titles = {domain.name: domain.title for domain in data.domains}
    rows, parts = list[Row](), dict[str, None]()
    for values in fits.values():
        score = next(iter(values.values()))
        behind = result_behind(data, score)
        if behind is not None:
            details = behind[1].details
            parts[PARTS.get(str(details.get("features")), "all")] = None
            rows.append(_row(score, values, details, titles))
    if not rows:
        return None
    table = Table("spectrum", COLUMNS, rows, f"Features of {' and '.join(parts)} images", sortable=True)
    return Section(
        "spectrum", "Spectra of features, without labels", [SENTENCES["label-free"]], note=NOTE, tables=[table],
        menu="Spectra",
    )  # fmt: skip


def _row(score: Score, values: Mapping[str, Score], details: Mapping[str, Any], titles: Mapping[str, str]) -> Row:
    def number(metric: str, digits: int, *more: Any, small: str = "") -> Cell:
        if metric not in values:
            return Cell("–", (None, *more))
        value = values[metric].value
        return Cell(f"{value:,.{digits}f}", (value, *more), small=small, style="main")

    images, of, duplicates = details["samples"], details["of"], details["duplicates"]
    first, last = details["alpha_indices"] or (None, None)
    dimensions = details["dimensions"]
    return Row(
        [
            Cell(score.backbone),
            Cell(titles.get(score.domain, score.domain), (score.domain,)),
            Cell(f"{images:,}", (images, of), small=f"of {of:,}" if of > images else ""),
            Cell(f"{dimensions:,}", (dimensions,)),
            number("rankme", 1),
            number("alpha-req", 2, first, last, small="" if last in (None, 100) else f"to index {last}"),
            number("participation-ratio", 1),
            number("two-nn-dimension", 1, duplicates, small=f"{duplicates:,} equal left out" if duplicates else ""),
        ],
        backbone=score.backbone,
    )
