"""One pass over all rows of features: their hash, non-finite rows and zero rows."""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from unseen.features.features import Rows, flawed_rows

if TYPE_CHECKING:
    from hashlib import _Hash

HASHED = 1 << 25
"""Bytes hashed at a time, while another thread examines their values."""
THREADS = 8


@dataclass(frozen=True)
class Pass:
    """Result of a pass over rows.

    Attributes:
        digest: SHA-256 of the rows, in order; may be continued with other bytes.
        not_finite, zeros: indices of the rows that are not finite, and of those that are all zeros.
    """

    digest: "_Hash"
    not_finite: tuple[int, ...]
    zeros: tuple[int, ...]


def go_through(X: Rows) -> Pass:
    """Read all rows once, in blocks: one thread hashes a block while another examines its values."""
    digest = hashlib.sha256()
    bad, zeros = list[int](), list[int]()
    step = max(1, HASHED // max(1, X.shape[1] * X.dtype.itemsize))
    with ThreadPoolExecutor(1) as hashing:
        for start in range(0, len(X), step):
            rows = np.ascontiguousarray(X[start : start + step])
            hashed = hashing.submit(digest.update, rows.data)
            flawed = flawed_rows(rows)
            bad += (start + flawed[0]).tolist()
            zeros += (start + flawed[1]).tolist()
            hashed.result()
    return Pass(digest, tuple(bad), tuple(zeros))


def go_through_parts(parts: Sequence[Rows]) -> list[Pass]:
    """The same for several arrays in parallel, each with its own hash; rows are numbered within each array."""
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(go_through, parts))
