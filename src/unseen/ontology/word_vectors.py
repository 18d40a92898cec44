"""Reading word-vector files, keeping only the requested words."""

import bz2
import gzip
from collections.abc import Container, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray

from unseen.errors import UserError

LONGEST_LINE = 1 << 20
WordVectors = dict[str, NDArray[np.float32]]


def read_word_vectors(path: Path, wanted: Container[str]) -> WordVectors:
    """Vectors of the requested words, from any of these formats, recognised by content:

    - text, `word x₁ … x_d` per line: GloVe, or word2vec and Wikipedia2Vec with their `count d` first line;
    - word2vec binary (`.bin`): the same first line, then `word ` and d little-endian float32 each;
    - `.npy` of (n, d), with the n words in a file of the same name with suffix `.vocab` or `.txt`, one per line.

    Files with suffix `.gz` or `.bz2` are decompressed while reading. The first vector of a word is used.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    vectors: WordVectors = {}
    try:
        for word, vector in _read_array(path) if path.suffix == ".npy" else _read_stream(path):
            if word in wanted and word not in vectors:
                vectors[word] = vector
    except UserError:
        raise
    except Exception as error:  # decompression and decoding errors and numbers out of range are all caught here
        raise UserError(f"{path}: damaged, or not word vectors ({type(error).__name__})") from None
    for word, vector in vectors.items():
        if not np.isfinite(vector).all():
            raise UserError(f"{path}: the vector of '{word}' has values that are not finite")
    if not vectors:
        raise UserError(f"{path}: contains none of the requested words")
    return vectors


def _read_array(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    candidates = [path.with_suffix(".vocab"), path.with_suffix(".txt")]
    vocabulary = next((file for file in candidates if file.is_file()), None)
    if vocabulary is None:
        raise UserError(f"{path}: no vocabulary beside it; expected {candidates[0].name} or {candidates[1].name}")
    words = vocabulary.read_text(encoding="utf-8").split("\n")
    words = words[:-1] if words[-1] == "" else words
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError:
        raise UserError(f"{path}: not an array of numbers in NumPy's .npy format") from None
    if array.dtype.kind not in "fiu":
        raise UserError(f"{path}: not an array of numbers but of {array.dtype}")
    if array.ndim != 2 or len(array) != len(words):
        raise UserError(f"{path}: its shape is {array.shape}, but {vocabulary.name} has {len(words)} words")
    return ((word, np.asarray(array[i], dtype=np.float32)) for i, word in enumerate(words))


def _read_stream(path: Path) -> Iterator[tuple[str, NDArray[np.float32]]]:
    with _open(path) as file:
        every = _lines(file, path)
        first = next(every, b"")
        fields = first.split()
        if len(fields) == 2 and all(field.isdigit() for field in fields):
            count, dimension = int(fields[0]), int(fields[1])
            if dimension > LONGEST_LINE:
                raise UserError(f"{path}, line 1: vectors of {dimension:,} dimensions, too many for word vectors")
            if ".bin" in path.suffixes:
                yield from _binary_vectors(file, path, count, dimension)
                return
            lines = enumerate(every, start=2)
        else:
            dimension = len(fields) - 1
            lines = enumerate(chain([first], every), start=1)
        if dimension < 1:
            raise UserError(f"{path}, line 1: expected a word and its vector")
        yield from _text_vectors(lines, path, dimension)


def _open(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast("IO[bytes]", gzip.open(path))
    return cast("IO[bytes]", bz2.open(path)) if path.suffix == ".bz2" else path.open("rb")


def _lines(file: IO[bytes], path: Path) -> Iterator[bytes]:
    """The lines of a file; a few compressed kilobytes could contain a line of gigabytes."""
    while line := file.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise UserError(f"{path}: a line of more than {LONGEST_LINE:,} bytes, too long for a vector")
        yield line


def _text_vectors(
    lines: Iterator[tuple[int, bytes]], path: Path, dimension: int
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for number, line in lines:
        # Some words contain spaces (in GloVe 840B): the vector is the last `dimension` fields.
        fields = line.rstrip().rsplit(b" ", dimension)
        try:
            if len(fields) != dimension + 1:
                raise ValueError
            with np.errstate(over="ignore"):
                yield fields[0].decode(errors="replace"), np.array(fields[1:], dtype=np.float64).astype(np.float32)
        except ValueError:
            raise UserError(f"{path}, line {number}: expected a word and {dimension} numbers") from None


def _binary_vectors(
    file: IO[bytes], path: Path, count: int, dimension: int
) -> Iterator[tuple[str, NDArray[np.float32]]]:
    for i in range(count):
        word = bytearray()
        while (letter := file.read(1)) not in (b" ", b""):
            if letter != b"\n":  # word2vec ends each vector with a line end, other writers do not
                word += letter
            if len(word) > LONGEST_LINE:
                raise UserError(f"{path}: vector {i + 1} has no word before it")
        data = file.read(4 * dimension)
        if len(data) < 4 * dimension:
            raise UserError(f"{path}: ends after {i} of {count} vectors")
        yield word.decode(errors="replace"), np.frombuffer(data, dtype="<f4")
