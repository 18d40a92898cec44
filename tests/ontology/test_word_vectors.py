"""Word vectors written in each format come back the same."""

import bz2
import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unseen.errors import UserError
from unseen.ontology.word_vectors import read_word_vectors

VECTORS = {"cat": [1.5, -2.0, 0.25], "dog": [0.0, 1.0, 2.0], "ENTITY/Tiger_cat": [3.0, 3.0, 3.0]}


def lines() -> str:
    return "".join(f"{word} {' '.join(map(str, vector))}\n" for word, vector in VECTORS.items())


def binary(ends: bytes) -> bytes:
    head = f"{len(VECTORS)} 3\n".encode()
    return head + b"".join(w.encode() + b" " + struct.pack("<3f", *v) + ends for w, v in VECTORS.items())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", lines().encode()),
        ("word2vec.txt", f"3 3\n{lines()}".encode()),
        ("wiki.txt.bz2", bz2.compress(f"3 3\n{lines()}".encode())),
        ("glove.txt.gz", gzip.compress(lines().encode())),
        ("google.bin", binary(b"\n")),
        ("gensim.bin", binary(b"")),
        ("google.bin.gz", gzip.compress(binary(b"\n"))),
    ],
)
def test_every_format(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    found = read_word_vectors(tmp_path / name, set(VECTORS) - {"dog"})
    assert {word: vector.tolist() for word, vector in found.items()} == {
        w: VECTORS[w] for w in ("cat", "ENTITY/Tiger_cat")
    }


def test_array_and_vocabulary(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array(list(VECTORS.values()), dtype=np.float64))
    (tmp_path / "v.vocab").write_text("\n".join(VECTORS))
    assert read_word_vectors(tmp_path / "v.npy", VECTORS)["dog"].tolist() == [0, 1, 2]


def test_a_word_with_spaces_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("cat 1 2\n. . . 3 4\n")
    assert read_word_vectors(tmp_path / "v.txt", {". . ."})[". . ."].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.txt", b"cat 1 2\ndog 1\n", "line 2: expected a word and 2 numbers"),
        ("v.txt", b"cat 1 2\ndog 1 x\n", "line 2: expected a word and 2 numbers"),
        ("v.txt", b"", "line 1: expected a word"),
        ("v.txt", b"bird 1 2\n", "none of the requested words"),
        ("v.bin", b"2 3\ncat \0\0", "ends after 0 of 2"),
        ("v.npy", b"nothing", "no vocabulary beside it"),
        ("v.txt.gz", gzip.compress(b"cat 1 2\n")[:-5], "damaged, or not word vectors"),
        ("v.txt.bz2", b"BZh9 nonsense", "damaged, or not word vectors"),
        ("v.bin", b"1 99999999999999999999\ncat ", "too many for word vectors"),
        ("v.txt", b"cat 1 nan\n", "the vector of 'cat' has values that are not finite"),
        ("v.txt", b"cat 1 1e99\n", "the vector of 'cat' has values that are not finite"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_word_vectors(tmp_path / name, {"cat", "dog"})


def test_a_vocabulary_of_another_length_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.zeros((3, 2)))
    (tmp_path / "v.txt").write_text("a\nb\n")
    with pytest.raises(UserError, match=r"its shape is \(3, 2\), but v.txt has 2 words"):
        read_word_vectors(tmp_path / "v.npy", {"a"})


def test_a_pickled_array_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.array([object()]), allow_pickle=True)
    (tmp_path / "v.txt").write_text("a\n")
    with pytest.raises(UserError, match="not an array of numbers"):
        read_word_vectors(tmp_path / "v.npy", {"a"})


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_crash(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "fuzz.txt"
    path.write_bytes(content)
    try:
        assert read_word_vectors(path, {"a"})
    except UserError as error:
        assert str(path) in str(error)


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"cat " + b"1" * (1 << 22)))
    with pytest.raises(UserError, match=r"bomb\.gz: a line of more than 1,048,576 bytes"):
        read_word_vectors(tmp_path / "bomb.gz", {"cat"})
    (tmp_path / "huge.bin").write_bytes(b"1 999999999999\ncat ")
    with pytest.raises(UserError, match="999,999,999,999 dimensions"):
        read_word_vectors(tmp_path / "huge.bin", {"cat"})
