"""ImageNet-21K's tar files, read in place through an index."""

import io
import multiprocessing
import os
import pickle
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from picture_files import tar_of, tar_with

from unseen.data.core.folder import folder_images
from unseen.data.core.listing import list_images
from unseen.data.core.source import ImageSource
from unseen.data.core.tars.imagenet_tars import imagenet_tars
from unseen.data.core.tars.index import SUFFIX, Group
from unseen.errors import UserError

LONG = "n00000003_" + "x" * 150 + ".JPEG"
FILES = {
    "n00000001": {"n00000001_3.JPEG": b"three" * 300, "n00000001_12.JPEG": b"twelve", "notes.txt": b"no image"},
    "n00000002": {"./n00000002_1.JPEG": b"", "._n00000002_1.JPEG": b"hidden"},
    "n00000003": {f"n00000003/{LONG}": b"long" * 1000, "n00000003/n00000003_7.JPEG": b"seven"},
    "n00000004": {},
}
EXPECTED = [
    ("n00000001/n00000001_12.JPEG", "n00000001", b"twelve"),
    ("n00000001/n00000001_3.JPEG", "n00000001", b"three" * 300),
    ("n00000002/n00000002_1.JPEG", "n00000002", b""),
    ("n00000003/n00000003_7.JPEG", "n00000003", b"seven"),
    (f"n00000003/{LONG}", "n00000003", b"long" * 1000),
]


@pytest.fixture(params=[tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def tars(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    folder = tmp_path / "fall11"
    folder.mkdir()
    for name, files in FILES.items():
        (folder / f"{name}.tar").write_bytes(tar_of(files, request.param))
    return folder


@pytest.fixture
def whole(tars: Path) -> Path:
    """One tar file of them, in an order that is not theirs."""
    path = tars.parent / "winter21_whole.tar"
    with tarfile.open(path, "w") as archive:
        for file in sorted(tars.iterdir(), reverse=True):
            archive.add(file, f"winter21_whole/{file.name}")
    return path


def contents(source: ImageSource) -> list[tuple[str, str, bytes]]:
    return [(entry.id, entry.label, bytes(source.read(i))) for i, entry in enumerate(source.entries)]


def test_tar_files_one_tar_file_and_folders_are_the_same_images(tars: Path, whole: Path, tmp_path: Path) -> None:
    for name in FILES:
        with tarfile.open(tars / f"{name}.tar") as archive:
            for member in archive:
                file = tmp_path / "unpacked" / name / Path(member.name).name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(archive.extractfile(member).read())  # type: ignore[union-attr]
    (tmp_path / "unpacked/n00000004").mkdir()
    for source in (imagenet_tars(tars), imagenet_tars(whole), folder_images(tmp_path / "unpacked")):
        assert contents(source) == EXPECTED
        assert source.about["classes"] == "4"
        assert source.about["images"] == "5"
        assert list(source.entries)[1:3] == list(source.entries[1:3])
    names = {name: images for name, images in list_images(whole) if images}
    assert names == {c: [i.split("/")[1] for i, label, _ in EXPECTED if label == c] for c in names}


def test_the_index_is_built_once(whole: Path) -> None:
    walked: list[str] = []

    def watch(groups: object) -> object:
        for group in groups:  # type: ignore[attr-defined]
            assert isinstance(group, Group)
            walked.append(group.name)
            yield group

    imagenet_tars(whole, watch=watch)  # type: ignore[arg-type]
    assert sorted(walked) == sorted(FILES)
    assert (whole.parent / f"{whole.name}{SUFFIX}").is_file()
    assert contents(imagenet_tars(whole, watch=watch)) == EXPECTED  # type: ignore[arg-type]
    assert len(walked) == len(FILES)


def test_a_changed_tar_file_is_indexed_again(tars: Path) -> None:
    old = imagenet_tars(tars)
    old.read(0)
    file = tars / "n00000002.tar"
    file.write_bytes(tar_of({"n00000002_5.JPEG": b"new" * 9000}))
    new = imagenet_tars(tars)
    assert ("n00000002/n00000002_5.JPEG", "n00000002", b"new" * 9000) in contents(new)
    assert len(new.entries) == 5
    with pytest.raises(UserError, match="the index was built again since"):
        len(old.entries)


def test_a_tar_file_that_changes_while_it_is_used_is_noticed(tars: Path) -> None:
    source = imagenet_tars(tars)
    (tars / "n00000001.tar").write_bytes(tar_of({"n00000001_1.JPEG": b"other"}))
    with pytest.raises(UserError, match=r"n00000001\.tar: changed since it was indexed; open its images again"):
        source.read(0)


def test_an_index_that_does_not_fit_is_built_again(whole: Path) -> None:
    """Even when the tar file has the same name, size and date."""
    imagenet_tars(whole)
    state = whole.stat()
    whole.write_bytes(tar_of({"n00000009.tar": tar_of({"a.jpg": b"nine"})}).ljust(state.st_size, b"\0"))
    os.utime(whole, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert whole.stat().st_size == state.st_size
    assert contents(imagenet_tars(whole)) == [("n00000009/a.jpg", "n00000009", b"nine")]


@pytest.mark.parametrize("damage", [b"", b"not an index", None])
def test_a_damaged_index_is_built_again(whole: Path, damage: bytes | None) -> None:
    index = imagenet_tars(whole).index
    index.write_bytes(index.read_bytes()[:-50] if damage is None else damage)
    assert contents(imagenet_tars(whole)) == EXPECTED


def test_a_build_that_is_stopped_leaves_no_index(whole: Path) -> None:
    def stop(groups: object) -> object:
        yield next(groups)  # type: ignore[call-overload]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        imagenet_tars(whole, watch=stop)  # type: ignore[arg-type]
    assert not list(whole.parent.glob(f"*{SUFFIX}*"))
    assert contents(imagenet_tars(whole)) == EXPECTED


def test_the_index_can_be_kept_elsewhere(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = imagenet_tars(whole, cache=tmp_path / "cache")
    assert source.index.parent == tmp_path / "cache"
    assert contents(source) == EXPECTED
    assert not list(whole.parent.glob(f"*{SUFFIX}"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != whole.parent)
    (tmp_path / "home/unseen").mkdir(parents=True)
    assert imagenet_tars(whole).index.parent == tmp_path / "home/unseen"


def test_the_folder_one_is_in(tars: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tars)
    assert contents(imagenet_tars(Path())) == EXPECTED
    assert (tars.parent / f"fall11{SUFFIX}").is_file()


CHILD = "import pickle, sys; s = pickle.load(sys.stdin.buffer); print(s.entries[1].id, len(s.read(1)))"


def test_a_source_goes_to_other_processes(whole: Path) -> None:
    source = imagenet_tars(whole)
    expected = "n00000001/n00000001_3.JPEG 1500"
    source.read(0)
    pickled = pickle.dumps(source)
    assert len(pickled) < 2000
    answer = subprocess.run([sys.executable, "-c", CHILD], input=pickled, capture_output=True, check=True)
    assert answer.stdout.decode().strip() == expected
    with multiprocessing.get_context("fork").Pool(2) as pool:  # handles that were open before are shared
        assert pool.map(source.read, range(5)) == [data for _, _, data in EXPECTED]


def test_many_threads_read_at_once(tars: Path) -> None:
    source = imagenet_tars(tars)
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(source.read, list(range(5)) * 200)) == [data for _, _, data in EXPECTED] * 200


def test_more_tar_files_than_may_be_open(tmp_path: Path) -> None:
    (tmp_path / "many").mkdir()
    for i in range(150):
        (tmp_path / f"many/n{i:08d}.tar").write_bytes(tar_of({"a.jpg": str(i).encode()}))
    source = imagenet_tars(tmp_path / "many")
    before = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(source.read, [*range(150), *range(150)])) == [str(i).encode() for i in range(150)] * 2
    assert len(list(Path("/proc/self/fd").iterdir())) - before < 100


def test_a_compressed_tar_file_is_refused(whole: Path) -> None:
    with tarfile.open(whole.with_suffix(".tar.gz"), "w:gz") as archive:
        archive.add(whole, "n00000001.tar")
    with pytest.raises(UserError, match="compressed, so its images cannot be read in place; decompress it .gunzip"):
        imagenet_tars(whole.with_suffix(".tar.gz"))


def special(kind: bytes, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo("n00000001_1.JPEG")
    member.type, member.linkname = kind, target
    return member


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (tar_of({"../n1.JPEG": b""}), "leads outside the archive"),
        (tar_of({"/etc/n1.JPEG": b""}), "leads outside the archive"),
        (tar_with(special(tarfile.SYMTYPE, "/etc/passwd")), "n00000001_1.JPEG is a link"),
        (tar_with(special(tarfile.LNKTYPE, "other.JPEG")), "n00000001_1.JPEG is a link"),
        (tar_with(special(tarfile.CHRTYPE)), "n00000001_1.JPEG is not a plain file"),
        (tar_with(special(tarfile.FIFOTYPE)), "n00000001_1.JPEG is not a plain file"),
    ],
)
def test_archives_that_reach_out_are_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "n00000001.tar").write_bytes(content)
    (tmp_path / "outer.tar").write_bytes(tar_of({"n00000001.tar": content}))
    (tmp_path / "tars").mkdir()
    (tmp_path / "n00000001.tar").rename(tmp_path / "tars/n00000001.tar")
    for place in (tmp_path / "tars", tmp_path / "outer.tar"):
        with pytest.raises(UserError, match=rf"n00000001\.tar: refused, .*{reason}"):
            imagenet_tars(place)
        with pytest.raises(UserError, match="refused"):
            list(list_images(place))
    assert not list(tmp_path.glob(f"**/*{SUFFIX}*"))


def test_damage_and_emptiness_are_named(tmp_path: Path, whole: Path) -> None:
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole.read_bytes()[:4000])
    with pytest.raises(UserError, match=r"cut\.tar.*damaged tar file"):
        imagenet_tars(cut)
    cut.write_bytes(tar_of({"n00000001.tar": tar_of({"readme.txt": b""})}))
    with pytest.raises(UserError, match="contains no images"):
        imagenet_tars(cut)
    cut.write_bytes(tar_of({"a.jpg": b""}))
    with pytest.raises(UserError, match="expected a tar file per class in it"):
        imagenet_tars(cut)
    buffer = io.BytesIO(tar_of({"a/x.jpg": b"1", "b/x.jpg": b"2"}))
    cut.write_bytes(tar_of({"n00000001.tar": buffer.getvalue()}))
    with pytest.raises(UserError, match="two images have the same name"):
        imagenet_tars(cut)
    cut.write_bytes(tar_of({"1/n00000001.tar": tar_of({"x.jpg": b""}), "2/n00000001.tar": tar_of({"y.jpg": b""})}))
    with pytest.raises(UserError, match="n00000001 occurs twice"):
        imagenet_tars(cut)
    (tmp_path / "none").mkdir()
    with pytest.raises(UserError, match="contains no tar files"):
        imagenet_tars(tmp_path / "none")
