"""TFRecord files against checksums computed bit by bit, and examples written field by field."""

from pathlib import Path

import numpy as np
import pytest
from benchmark_trees import example, record, slow_crc32c
from dataset_trees import write

from unseen.data.formats.tfrecord import CHECKSUM, checked_record, crc32c, examples, parse_example
from unseen.errors import UserError


def test_checksums_of_the_standard() -> None:
    # RFC 3720, B.4, and the usual check value of CRC-32C.
    known = {b"123456789": 0xE3069283, bytes(32): 0x8A9136AA, b"\xff" * 32: 0x62A8AB43, bytes(range(32)): 0x46DD794E}
    assert {data: crc32c(data) for data in known} == known


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 1500, 5000])
def test_checksums_of_any_length(size: int) -> None:
    data = np.random.default_rng(size).bytes(size)
    assert crc32c(data) == slow_crc32c(data)


def test_records_of_several_lengths(tmp_path: Path) -> None:
    images = [bytes([number]) * (1 + 700 * number) for number in range(5)]
    records = [example(image, f"{number}.jpg", 300 * number) for number, image in enumerate(images)]
    path = write(tmp_path / "a.tfrecord", b"".join(map(record, records)))
    found = []
    for offset, size, features in examples(path):
        found.append((bytes(features["filename"][0]), features["label"]))  # type: ignore[arg-type]
        content = path.read_bytes()[offset : offset + size + CHECKSUM]
        assert bytes(checked_record(content, path, offset)) == records[len(found) - 1]
    assert found == [(f"{number}.jpg".encode(), [300 * number]) for number in range(5)]


@pytest.mark.parametrize(
    "data", [b"\x0a\xff\xff\xff\xff\x0f", b"\x0a\x05abc", b"\xff" * 12, b"\x0b", b"\x0a\x02\x0a\x07"]
)
def test_records_that_are_no_examples(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not an example"):
        parse_example(memoryview(data))
    with pytest.raises(UserError, match="a TFRecord file of examples"):
        list(examples(write(tmp_path / "a.tfrecord", record(data))))


def test_a_file_that_promises_more_than_it_has(tmp_path: Path) -> None:
    huge = (1 << 62).to_bytes(8, "little")
    crc = slow_crc32c(huge)
    masked = ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
    path = write(tmp_path / "a.tfrecord", huge + masked.to_bytes(4, "little") + bytes(100))
    with pytest.raises(UserError, match="ends in the middle of a record"):
        list(examples(path))
    assert list(examples(write(tmp_path / "empty.tfrecord", b""))) == []
