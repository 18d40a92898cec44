"""Hashes of images that are kept from one command to the next."""

from pathlib import Path

import pytest
from own_trees import write_birds
from picture_files import jpeg

from unseen.data.core.folder import FileImages
from unseen.data.own import kept_digests
from unseen.data.own.description import describe
from unseen.data.own.open_own import survey_own


@pytest.fixture
def reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Files that are read, where everything is kept at once."""
    found: list[str] = []
    plain = FileImages.read

    def read(self: FileImages, number: int) -> bytes:
        found.append(self.entries[number].id)
        return plain(self, number)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(kept_digests, "SETTLED", 0)
    monkeypatch.setattr(kept_digests, "WORTH_KEEPING", 1)
    monkeypatch.setattr(FileImages, "read", read)
    return found


def content(root: Path) -> str:
    return survey_own(describe(root)).checked().dataset.content


def test_files_are_read_again_only_when_they_changed(tmp_path: Path, reads: list[str]) -> None:
    root = write_birds(tmp_path / "birds")
    first = content(root)
    assert len(reads) == 24
    assert content(root) == first
    assert len(reads) == 24
    (root / "train/wren/train2.jpg").write_bytes(jpeg(99))
    assert content(root) != first
    assert reads[24:] == ["wren/train2.jpg"]
    [kept] = (tmp_path / "cache/unseen").iterdir()
    kept.write_bytes(kept.read_bytes()[:-40])
    content(root)
    assert len(reads) == 25 + 24


def test_few_bytes_and_files_that_were_just_touched_are_not_kept(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write_birds(tmp_path / "birds")
    monkeypatch.setattr(kept_digests, "SETTLED", 60 * 10**9)
    content(root)
    monkeypatch.setattr(kept_digests, "SETTLED", 0)
    monkeypatch.setattr(kept_digests, "WORTH_KEEPING", 1 << 20)
    content(root)
    content(root)
    assert len(reads) == 3 * 24
