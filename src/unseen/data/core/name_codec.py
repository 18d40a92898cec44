"""Compact storage of lists of image names.

ImageNet's names look like `n01440764_10026.JPEG`: fixed text around a number. A group of such names is stored as the
text and the gaps between the sorted numbers, which compress to about one byte each; any other group is stored as text.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

NUMBERED = re.compile(r"(?P<before>.*?)(?P<number>0|[1-9][0-9]{0,17})(?P<after>[^0-9]*)", re.DOTALL)
SEPARATORS = re.compile(r"[\n\0]")


def pack_names(groups: Sequence[Sequence[str]]) -> dict[str, NDArray[Any]]:
    """Arrays from which `unpack_names` restores the groups, each sorted."""
    frames: list[str] = []
    gaps: list[NDArray[np.int64]] = []
    texts: list[str] = []
    for group in groups:
        if any(SEPARATORS.search(name) for name in group):
            raise ValueError("an image name contains a line end")
        numbered = _numbers(group)
        if numbered is None:
            frames.append("")
            texts.extend(sorted(group))
        else:
            before, after, numbers = numbered
            frames.append(f"{before}\0{after}")
            ordered = np.sort(numbers)
            gaps.append(ordered - np.concatenate([[0], ordered[:-1]]))
    gap = np.concatenate([*gaps, np.empty(0, dtype=np.int64)])
    return {
        "length": np.array([len(group) for group in groups], dtype=np.int32),
        "frame": np.frombuffer("\n".join(frames).encode(), dtype=np.uint8),
        "gap": gap.astype(np.min_scalar_type(int(gap.max(initial=0)))),
        "text": np.frombuffer("\n".join(texts).encode(), dtype=np.uint8),
    }


def unpack_names(arrays: Mapping[str, NDArray[Any]]) -> list[tuple[str, ...]]:
    """The groups of names given to `pack_names`, each sorted."""
    lengths = arrays["length"].tolist()
    frames = arrays["frame"].tobytes().decode().split("\n") if lengths else []
    texts = arrays["text"].tobytes().decode().split("\n")
    groups: list[tuple[str, ...]] = []
    number_at = text_at = 0
    for length, frame in zip(lengths, frames, strict=True):
        if frame:
            before, after = frame.split("\0")
            numbers = np.cumsum(arrays["gap"][number_at : number_at + length], dtype=np.int64)
            number_at += length
            groups.append(tuple(sorted(f"{before}{number}{after}" for number in numbers.tolist())))
        else:
            groups.append(tuple(texts[text_at : text_at + length]))
            text_at += length
    return groups


def _numbers(group: Sequence[str]) -> tuple[str, str, NDArray[np.int64]] | None:
    """(prefix, suffix, numbers) if all names of a group differ in one number only, else None."""
    match = NUMBERED.fullmatch(group[0]) if group else None
    if not match:
        return None
    before, after = match["before"], match["after"]
    end = -len(after) or None
    middles = [name[len(before) : end] for name in group if name.startswith(before) and name.endswith(after)]
    if len(middles) < len(group) or not all(re.fullmatch(r"0|[1-9][0-9]{0,17}", middle) for middle in middles):
        return None
    return before, after, np.array([int(middle) for middle in middles], dtype=np.int64)
