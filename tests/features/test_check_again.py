"""Features gone through on request: damage that no cheap check sees is found and named."""

import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unseen.cli.main import app
from unseen.errors import UserError
from unseen.features import checked
from unseen.features.check_again import check_again
from unseen.features.readers import read_features
from unseen.features.store import write_store

EARLIER = 1_700_000_000_123_456_789


def damage(file: Path) -> None:
    """Change a byte in the middle and keep size and time."""
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(EARLIER, EARLIER))


def test_every_store_and_file_below_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "WORTH_KEEPING", 1)
    X, y = np.random.default_rng(0).standard_normal((6000, 4)), np.arange(6000) % 3
    write_store(tmp_path / "l1/store", [(X, y)], ("a", "b", "c"), provenance={})
    (tmp_path / "l2").mkdir()
    np.save(tmp_path / "l2/train.npy", X)
    np.save(tmp_path / "l2/train_y.npy", y)
    for file in tmp_path.rglob("*.npy"):
        os.utime(file, ns=(EARLIER, EARLIER))
    places = [tmp_path / "l1/store", tmp_path / "l2/train.npy"]
    for place in places:
        read_features(place)
    assert [(each.place, each.rows, each.problem) for each in check_again(tmp_path)] == [(p, 6000, "") for p in places]
    assert CliRunner().invoke(app, ["doctor", "--check-features", str(tmp_path)]).exit_code == 0
    damage(tmp_path / "l1/store/X-00000.npy")
    damage(tmp_path / "l2/train.npy")
    store, file = check_again(tmp_path)
    assert "does not match the manifest" in store.problem
    assert "changed" in file.problem
    damage(tmp_path / "l2/train.npy")
    assert CliRunner().invoke(app, ["doctor", "--check-features", str(tmp_path), "--json"]).exit_code == 1


def test_nothing_to_check_is_said(tmp_path: Path) -> None:
    for place in (tmp_path / "none", tmp_path):
        with pytest.raises(UserError, match="no "):
            list(check_again(place))
