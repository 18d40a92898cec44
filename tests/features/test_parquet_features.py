"""Features of images in Parquet files, compared with those of the same images in folders."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hub_trees import IMAGE, PETS, write_parquet
from picture_files import encoded, picture

import unseen

COUNT = 24


def write_both(root: Path) -> None:
    """The same images as files in folders and in Parquet files of row groups of five rows."""
    for number, split in enumerate(("train", "test")):
        files = [encoded(picture(100 * number + seed, 40, 36)) for seed in range(COUNT)]
        for seed, content in enumerate(files):
            path = root / "folder" / split / PETS["names"][seed % 2] / f"{seed:03d}.jpg"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        rows = pa.array([{"bytes": content, "path": f"{seed:03d}.jpg"} for seed, content in enumerate(files)], IMAGE)
        columns = {"image": rows, "label": [seed % 2 for seed in range(COUNT)]}
        features = {"image": {"_type": "Image"}, "label": PETS}
        write_parquet(root / f"parquet/data/{split}-0.parquet", columns, features, row_group_size=5)


@pytest.mark.parametrize("workers", [0, 2])
def test_equal_features(tmp_path: Path, workers: int) -> None:
    write_both(tmp_path)
    found = [
        unseen.extract(
            "demo:supervised", tmp_path / name, out=tmp_path / f"{name}-features", workers=workers, progress=False,
            settings={"batch": 4},
        )["test"]
        for name in ("folder", "parquet")
    ]  # fmt: skip
    folder, parquet = found
    order = np.argsort([id_.rpartition("/")[2] for id_ in folder.ids])
    assert folder.classes == parquet.classes
    np.testing.assert_array_equal(folder.y[order], parquet.y)
    np.testing.assert_array_equal(np.asarray(folder.X)[order], np.asarray(parquet.X))
