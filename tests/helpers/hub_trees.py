"""Parquet files and repositories in the form in which the Hugging Face Hub has data sets."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from picture_files import jpeg

IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
PETS = {"names": ["cat", "dog"], "_type": "ClassLabel"}
SEVERAL = {"feature": {"names": ["sun", "rain", "snow"], "_type": "ClassLabel"}, "_type": "Sequence"}


def embedded(seeds: Sequence[int]) -> Any:
    """A column of structs with the bytes of images."""
    return pa.array([{"bytes": jpeg(seed), "path": f"{seed}.jpg"} for seed in seeds], IMAGE)


def write_parquet(path: Path, columns: dict[str, Any], features: dict[str, Any] | None = None, **options: Any) -> Path:
    """A Parquet file of row groups of three rows, with the types of its columns in the metadata if they are given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table(columns)
    if features is not None:
        about = json.dumps({"info": {"features": features}}).encode()
        table = table.replace_schema_metadata({b"huggingface": about})
    pq.write_table(table, path, **{"row_group_size": 3, **options})
    return path


def write_pets(path: Path, labels: Sequence[Any], first: int = 0, feature: Any = None, **options: Any) -> Path:
    """Images with labels in two classes, with the seeds from `first`."""
    feature = feature or PETS
    kind = pa.list_(pa.int64()) if "feature" in feature else pa.int64()
    columns = {"image": embedded(range(first, first + len(labels))), "label": pa.array(labels, kind)}
    return write_parquet(path, columns, {"image": {"_type": "Image"}, "label": feature}, **options)


def write_repository(root: Path) -> Path:
    """A repository of 12 training images in two files and 4 test images, whose README says nothing of files."""
    for part in range(2):
        write_pets(root / f"data/train-0000{part}-of-00002.parquet", [0, 1] * 3, 100 * part)
    write_pets(root / "data/test-00000-of-00001.parquet", [0, 1] * 2, 500)
    (root / "README.md").write_text("---\nlicense: mit\n---\n# Pets\n")
    return root
