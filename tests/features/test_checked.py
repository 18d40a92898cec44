"""Features are gone through once: what is noted of them is used as long as their files are the same, and no longer."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from unseen.errors import UserError
from unseen.features import checked, go_through, mapped, readers, store
from unseen.features import read_ahead as read_ahead_module
from unseen.features.features import Features, flawed_rows
from unseen.features.read_ahead import read_ahead
from unseen.features.readers import read_features
from unseen.features.store import read_store, write_store

RNG = np.random.default_rng(0)
X = RNG.standard_normal((50, 4)).astype(np.float32)
X[[3, 40]] = 0
Y = np.arange(50) % 3
EARLIER = 1_700_000_000_123_456_789
FORMATS = ("f.npz", "packed.npz", "f.safetensors", "f.pth", "X.npy", "store")


@pytest.fixture(autouse=True)
def small_ones_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(checked, "WORTH_KEEPING", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def save(path: Path, X: np.ndarray = X) -> Path:
    if path.suffix == ".npz":
        (np.savez_compressed if path.stem == "packed" else np.savez)(path, X=X, y=Y)
    elif path.suffix == ".safetensors":
        save_file({"X": X, "y": Y}, path)
    elif path.suffix == ".pth":
        torch.save({"X": torch.from_numpy(X), "Y": torch.from_numpy(Y)}, path)
    elif path.suffix == ".npy":
        np.save(path, X)
        np.save(path.with_name("y.npy"), Y)
    else:
        write_store(path, [(X, Y)], ("a", "b", "c"), provenance={}, shard_rows=20)
    settle(path)
    return path


def settle(path: Path) -> None:
    """As if the files had been written long ago."""
    for file in path.iterdir() if path.is_dir() else (path, path.with_name("y.npy")):
        if file.exists():
            os.utime(file, ns=(EARLIER, EARLIER))


def content_hash(features: Features) -> str:
    return str(features.provenance["content_hash"])


def never(*_: object) -> None:
    raise AssertionError("the bytes of the features were read again")


def read_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (readers, store):
        for name in ("go_through", "go_through_parts"):
            monkeypatch.setattr(module, name, never, raising=False)


@pytest.mark.parametrize("name", FORMATS)
def test_a_second_reading_goes_through_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    place, said = save(tmp_path / name), list[str]()
    first = read_features(place, tell=said.append)
    assert "hashed once" in said[-1]
    read_nothing(monkeypatch)
    again = read_features(place, tell=never)
    assert (content_hash(again), again.zero_rows) == (content_hash(first), (3, 40))
    assert np.array_equal(np.asarray(again.X), X)
    parts = again.X.parts if name == "store" else [again.X]
    assert all(isinstance(part, np.memmap) or part.base is not None for part in parts)


def test_all_ways_have_the_hash_that_earlier_versions_gave(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = {content_hash(read_features(save(tmp_path / name))) for name in FORMATS if name != "store"}
    monkeypatch.setattr(checked, "WORTH_KEEPING", 1 << 40)  # everything in memory
    assert hashes == {content_hash(read_features(save(tmp_path / "other.npz")))}
    assert hashes == {"54548502f262c93a202a738702bc999d6c3227691470c416866f8f82fb83b630"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_change_is_noticed(tmp_path: Path, name: str) -> None:
    place = save(tmp_path / name)
    before = content_hash(read_features(place))
    changed = X.copy()
    changed[25, 2] += 1
    save(place, changed)
    os.utime(place / "X-00001.npy" if name == "store" else place, ns=(EARLIER + 1, EARLIER + 1))
    found = read_features(place)
    assert content_hash(found) != before
    assert np.array_equal(np.asarray(found.X), changed)


def test_other_times_alone_cost_a_pass_and_change_nothing(tmp_path: Path) -> None:
    place = save(tmp_path / "f.npz")
    before, said = content_hash(read_features(place)), list[str]()
    os.utime(place, ns=(EARLIER + 10**9, EARLIER + 10**9))
    assert content_hash(read_features(place, tell=said.append)) == before
    assert len(said) == 1


def test_what_defeats_the_cheap_check_is_found_on_request(tmp_path: Path) -> None:
    """Same size, same time and same ends: only a full pass sees the byte that changed."""
    write_store(tmp_path, [(np.ones((9000, 4)), np.arange(9000) % 3)], ("a", "b", "c"), provenance={})
    settle(tmp_path)
    read_features(tmp_path)
    shard = tmp_path / "X-00000.npy"
    damaged = bytearray(shard.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    shard.write_bytes(damaged)
    os.utime(shard, ns=(EARLIER, EARLIER))
    read_features(tmp_path)
    with pytest.raises(UserError, match="X-00000.npy: does not match the manifest"):
        read_features(tmp_path, again=True)


@pytest.mark.parametrize("name", FORMATS)
def test_a_truncated_file_is_refused(tmp_path: Path, name: str) -> None:
    place = save(tmp_path / name)
    read_features(place)
    file = place / "X-00002.npy" if name == "store" else place
    file.write_bytes(file.read_bytes()[:-30])
    os.utime(file, ns=(EARLIER, EARLIER))
    with pytest.raises(UserError):
        read_features(place)


def test_a_damaged_archive_is_refused_by_its_checksum(tmp_path: Path) -> None:
    place = save(tmp_path / "f.npz")
    data = bytearray(place.read_bytes())
    data[300] ^= 1
    place.write_bytes(data)
    settle(place)
    with pytest.raises(UserError, match="checksum"):
        read_features(place)


def test_the_note_of_another_file_is_not_believed(tmp_path: Path) -> None:
    first, other = save(tmp_path / "a.npz"), save(tmp_path / "b.npz", X + 1)
    theirs = content_hash(read_features(first))
    note = first.with_name("a.npz.unseen-checked")
    assert note.is_file()
    note.replace(other.with_name("b.npz.unseen-checked"))
    assert content_hash(read_features(other)) != theirs
    store_a, store_b = save(tmp_path / "store"), tmp_path / "store_b"
    read_features(store_a)
    write_store(store_b, [(X + 1, Y)], ("a", "b", "c"), provenance={}, shard_rows=20)
    manifest = (store_b / "manifest.json").read_bytes()
    for file in store_a.iterdir():
        (store_b / file.name).write_bytes(file.read_bytes())
        os.utime(store_b / file.name, ns=(EARLIER, EARLIER))
    (store_b / "manifest.json").write_bytes(manifest)  # with the shards, times and note of the other store
    with pytest.raises(UserError, match="does not match the manifest"):
        read_features(store_b)


@pytest.mark.parametrize("note", ["", "{", "[" * 9000, "null", '{"format": 1, "files": 3, "content_hash": []}'])
def test_a_damaged_note_says_nothing(tmp_path: Path, note: str) -> None:
    place = save(tmp_path / "f.npz")
    expected = content_hash(read_features(place))
    place.with_name("f.npz.unseen-checked").write_text(note)
    assert content_hash(read_features(place)) == expected


class Killed(BaseException):
    pass


@pytest.mark.parametrize("name", FORMATS)
def test_a_killed_pass_leaves_nothing_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    place = save(tmp_path / name)

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(go_through, "flawed_rows", killed)
        with pytest.raises(Killed):
            read_features(place)
    assert not list(tmp_path.rglob("*checked*"))
    assert np.array_equal(np.asarray(read_features(place).X), X)


def test_a_killed_unpacking_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = save(tmp_path / "packed.npz")

    def killed(source: object, target: object, *_: object) -> None:
        target.write(b"\x93NUMPY")  # type: ignore[attr-defined]
        raise Killed

    with monkeypatch.context() as patched:
        patched.setattr(mapped.shutil, "copyfileobj", killed)
        with pytest.raises(Killed):
            read_features(place)
    assert [file.name for file in tmp_path.iterdir()] == ["packed.npz"]
    (tmp_path / "packed.npz.unseen-unpacked.npy").write_bytes(b"of another file")
    assert np.array_equal(np.asarray(read_features(place).X), X)


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = save(tmp_path / "f.npz")

    def changing(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        os.utime(place, ns=(EARLIER + 5, EARLIER + 5))
        return flawed_rows(rows)

    monkeypatch.setattr(go_through, "flawed_rows", changing)
    with pytest.raises(UserError, match="changed while it was read"):
        read_features(place)


def test_a_file_written_just_now_is_not_noted(tmp_path: Path) -> None:
    """Another change might still get the same time."""
    np.savez(tmp_path / "f.npz", X=X, y=Y)
    read_features(tmp_path / "f.npz")
    assert [file.name for file in tmp_path.iterdir()] == ["f.npz"]


@pytest.mark.parametrize("name", ["f.npz", "packed.npz", "store"])
def test_where_nothing_can_be_written_the_note_is_in_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    place, said = save(tmp_path / name), list[str]()
    (place / "checked.json" if name == "store" else place.with_name(f"{name}.unseen-checked")).mkdir()
    place.with_name(f"{name}.unseen-unpacked.npy").mkdir()
    read_features(place, tell=said.append)
    assert str(tmp_path / "cache") in said[-1]
    read_nothing(monkeypatch)
    assert np.array_equal(np.asarray(read_features(place).X), X)


def test_where_no_note_can_be_kept_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, said = save(tmp_path / "f.npz"), list[str]()
    place.with_name("f.npz.unseen-checked").mkdir()
    (tmp_path / "cache").write_text("a file")
    read_features(place, tell=said.append)
    assert "every run" in said[-1]


def test_reading_ahead_goes_through_what_nobody_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = [save(tmp_path / "store"), save(tmp_path / "f.npz"), tmp_path / "gone.npz"]
    assert read_ahead(places) is None  # what is missing is said by whoever opens it
    thread = read_ahead(places[:2])
    assert thread is not None
    thread.join()
    read_nothing(monkeypatch)
    for place in places[:2]:
        read_features(place)
    monkeypatch.setattr(read_ahead_module, "SHARE", 0.0)
    assert read_ahead(places[:2]) is None


def test_small_features_get_no_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "WORTH_KEEPING", 1 << 24)
    read_features(save(tmp_path / "f.npz"))
    assert [file.name for file in tmp_path.iterdir()] == ["f.npz"]


def test_arrays_of_other_names_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "f.npz", X=X, y=Y, other=np.zeros(10**6))
    read = np.lib.npyio.NpzFile.__getitem__
    names = list[str]()
    monkeypatch.setattr(np.lib.npyio.NpzFile, "__getitem__", lambda self, name: names.append(name) or read(self, name))
    read_features(tmp_path / "f.npz")
    assert "other" not in names


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "i4", "u1", "longdouble"])
def test_flawed_rows_are_as_numpy_finds_them(dtype: str) -> None:
    rows = RNG.integers(0, 2, (200, 3)).astype(dtype)
    if rows.dtype.kind == "f":
        rows[5, 1], rows[6, 0], rows[7, 2], rows[8] = np.nan, np.inf, -np.inf, -0.0
        rows[9] = np.finfo(rows.dtype).smallest_subnormal
    bad, zeros = flawed_rows(rows)
    assert bad.tolist() == np.flatnonzero(~np.isfinite(rows).all(axis=1)).tolist()
    assert zeros.tolist() == np.flatnonzero(~rows.any(axis=1)).tolist()


def test_columns_first_and_bytes_turned(tmp_path: Path) -> None:
    """An array that does not lie in the file as its rows would."""
    for name, array in (("fortran.npz", np.asfortranarray(X)), ("big.npz", X.astype(">f4"))):
        np.savez(tmp_path / name, X=array, y=Y)
        settle(tmp_path / name)
        assert np.array_equal(np.asarray(read_features(tmp_path / name).X), X)
    assert content_hash(read_features(tmp_path / "fortran.npz")) == content_hash(
        read_features(save(tmp_path / "f.npz"))
    )


def test_the_manifest_alone_opens_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = save(tmp_path / "store")
    read_nothing(monkeypatch)
    read_store(place)
    assert not (place / "checked.json").exists()
    assert json.loads((place / "manifest.json").read_text())["format"] == 1
