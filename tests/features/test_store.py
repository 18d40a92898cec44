"""The feature store: what goes in comes out, half-written stores are not read, damage is found."""

import json
from pathlib import Path

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.features.readers import read_features
from unseen.features.store import MANIFEST, read_store, write_store

CLASSES = ("cat", "dog", "owl")


def write(folder: Path, n: int = 10, **options: object) -> tuple[np.ndarray, np.ndarray, str]:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, 4)).astype(np.float32), np.arange(n) % 3
    batches = [(X[i : i + 3], y[i : i + 3]) for i in range(0, n, 3)]
    options = {"provenance": {"backbone": {"name": "b"}}, "shard_rows": 4} | options
    return X, y, write_store(folder, batches, CLASSES, **options)  # type: ignore[arg-type]


@examples(30)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(1, 9))
def test_any_batches_and_shards_give_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, n: int, shard_rows: int, batch: int
) -> None:
    folder = tmp_path_factory.mktemp("store")
    X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(n) % 3
    write_store(
        folder, [(X[i : i + batch], y[i : i + batch]) for i in range(0, n, batch)], CLASSES,
        provenance={}, shard_rows=shard_rows,
    )  # fmt: skip
    found = read_store(folder, verify=True)
    assert len(list(folder.glob("X-*.npy"))) == -(-n // shard_rows)
    assert np.array_equal(np.asarray(found.X), X)
    assert np.array_equal(found.y, y)
    for rows in (slice(0, n), slice(1, n - 1), slice(n // 2, n // 2), slice(None, None, 2), slice(-2, None)):
        assert np.array_equal(found.X[rows], X[rows])


def test_rows_stay_on_disk_until_used(tmp_path: Path) -> None:
    write(tmp_path)
    assert all(isinstance(part, np.memmap) for part in read_store(tmp_path).X.parts)


def test_the_manifest_says_what_the_features_are(tmp_path: Path) -> None:
    _, _, content_hash = write(tmp_path, ids=[f"image{i}" for i in range(10)])
    found = read_features(tmp_path)
    assert found.classes == CLASSES
    assert found.ids[9] == "image9"
    assert found.provenance == {"backbone": {"name": "b"}, "content_hash": content_hash}
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert (manifest["rows"], manifest["dimension"], manifest["dtype"]) == (10, 4, "float32")


def test_half_precision(tmp_path: Path) -> None:
    X, _, _ = write(tmp_path, dtype="float16")
    found = read_store(tmp_path)
    assert found.X.dtype == np.float16
    assert np.abs(np.asarray(found.X) - X).max() < 1e-2
    big = [(np.full((2, 3), 1e5), np.zeros(2, dtype=int))]
    with pytest.raises(UserError, match="do not fit float16"):
        write_store(tmp_path / "big", big, CLASSES, provenance={}, dtype="float16")


def test_the_hash_follows_the_content_and_nothing_else(tmp_path: Path) -> None:
    first = write(tmp_path / "a")[2]
    assert write(tmp_path / "b", provenance={"other": 1})[2] == first
    assert write(tmp_path / "c", n=9)[2] != first
    assert write(tmp_path / "d", dtype="float16")[2] != first


def test_a_store_without_its_manifest_is_unfinished(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / MANIFEST).unlink()
    with pytest.raises(UserError, match="is unfinished; run it again"):
        read_store(tmp_path)


def test_a_failed_write_leaves_no_manifest(tmp_path: Path) -> None:
    write(tmp_path)
    bad = [(np.zeros((2, 4)), np.array([0, 9]))]
    with pytest.raises(UserError, match="row 1 has label 9, but there are 3 classes"):
        write_store(tmp_path, bad, CLASSES, provenance={})
    assert not (tmp_path / MANIFEST).exists()


def test_damage_is_found(tmp_path: Path) -> None:
    write(tmp_path)
    shard = tmp_path / "X-00001.npy"
    whole = shard.read_bytes()
    shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(UserError, match="X-00001.npy: does not match the manifest"):
        read_store(tmp_path, verify=True)
    shard.write_bytes(whole[:-8])
    with pytest.raises(UserError, match="not a feature store|do not match"):
        read_store(tmp_path)
    shard.write_bytes(whole)
    labels = (tmp_path / "y.npy").read_bytes()
    (tmp_path / "y.npy").write_bytes(labels[:-8] + bytes([1]) + labels[-7:])
    with pytest.raises(UserError, match=r"y\.npy: does not match the manifest"):
        read_store(tmp_path)
    (tmp_path / MANIFEST).write_text("{")
    with pytest.raises(UserError, match="manifest.json: damaged"):
        read_store(tmp_path)


def test_nothing_and_other_types_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no features to write"):
        write_store(tmp_path, [], CLASSES, provenance={})
    with pytest.raises(UserError, match="float16 or float32, not int8"):
        write(tmp_path, dtype="int8")
    with pytest.raises(UserError, match="2 rows but 3 labels"):
        write_store(tmp_path, [(np.zeros((2, 2)), np.zeros(3, dtype=int))], CLASSES, provenance={})


@pytest.mark.parametrize("name", ["../X-00000.npy", "/etc/passwd", "a/X-00000.npy", "", ".."])
def test_a_manifest_names_no_files_outside_of_its_folder(tmp_path: Path, name: str) -> None:
    write_store(tmp_path / "store", [(np.ones((2, 2)), np.arange(2))], ["a", "b"], provenance={})
    manifest = json.loads((tmp_path / "store" / MANIFEST).read_text())
    manifest["shards"][0]["file"] = name
    (tmp_path / "store" / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="outside of its folder"):
        read_store(tmp_path / "store")


def test_a_folder_of_stores_is_refused_with_one_of_them(tmp_path: Path) -> None:
    write(tmp_path / "b-train")
    with pytest.raises(UserError, match="give one of them, such as '.*b-train'"):
        read_features(tmp_path)
