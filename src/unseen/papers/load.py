"""Reading the published numbers; pandas is imported when a table is requested."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.backbones.catalogue import catalogue
from unseen.errors import UserError, did_you_mean
from unseen.papers.sources import TABLES, Source

if TYPE_CHECKING:
    import pandas as pd

DATA = Path(__file__).parent / "data"
# Columns whose type pandas would otherwise guess from the cells: "1" to "128" and "all" are text here.
_TYPES = {"shots": "str", "table": "int64", "components": "Int64", "count": "Int64"}


def published(name: str) -> "pd.DataFrame":
    """The numbers printed in a paper, one per row: `cog-v2`, `cog-v1`, `ericsson-2021` or `shi-2023`.

    `TABLES[name]` states the tables they are from, their unit, and the meaning of each column.
    """
    return _read(_source(name).name, _TYPES)


def notes(name: str) -> "pd.DataFrame":
    """Irregularities in a paper's tables, and how they were handled: table, where, note."""
    table = _read("notes", {})
    return table.loc[table["source"] == _source(name).name].drop(columns="source").reset_index(drop=True)


def cog_models() -> "pd.DataFrame":
    """The 31 models of `cog-v2` and the facts needed for comparisons, in the catalogue's order.

    Columns: model, category, parameters (millions, without the classifier), dimension of the features, size of the
    image in pixels, extra_data (training data besides or instead of ImageNet-1K, empty for most).
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "model": model.name,
            "category": model.category,
            "parameters": model.parameters_millions,
            "dimension": model.dimension,
            "size": model.size,
            "extra_data": model.extra_data,
        }
        for model in catalogue("cog-v2")
    )


def cog_v1_models() -> "pd.DataFrame":
    """The seven models of `cog-v1`, their names in that paper, and their training data (its Table 1).

    Columns: model (its name in `cog-v2`), abbreviation, called, in1k_images and in1k_labels (yes or no),
    additional_data (empty for most).
    """
    return _read("cog-v1-models", {}).fillna("")


def _source(name: str) -> Source:
    if name not in TABLES:
        raise UserError(f"no published numbers '{name}', only {', '.join(TABLES)}{did_you_mean(name, TABLES)}")
    return TABLES[name]


def _read(stem: str, types: Mapping[str, str]) -> "pd.DataFrame":
    import pandas as pd

    return pd.read_csv(DATA / f"{stem}.csv", dtype=types)
