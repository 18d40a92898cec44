"""The protocol of linear classifiers with many learning rates on several column ranges, and the ranges of features."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from unseen.backbones.vector_parts import VectorPart
from unseen.errors import UserError

RANGE = re.compile(r"([A-Za-z0-9][\w.+-]*)=(\d+):(\d+)")
WHOLE = "all"
"""Name of the range of all columns."""


@dataclass(frozen=True)
class GridProtocol:
    """The linear evaluation of DINOv2 (Oquab et al. 2023, `dinov2/eval/linear.py`); every field can change a number.

    Attributes:
        steps: of `batch` samples each, whatever the number of training samples: 10 passes over ImageNet-1K, and more
            over fewer samples.
        rates: learning rates for 256 samples per step; for others they are proportional to `batch`.
        deviation: standard deviation of the initial weights, which are normal with mean 0.
        validation: share of each class's training samples on which classifiers are compared, if a data set has no
            validation samples of its own.
    """

    name: str = "dinov2-linear"
    steps: int = 12_500
    batch: int = 1024
    momentum: float = 0.9
    rates: tuple[float, ...] = (1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1)
    deviation: float = 0.01
    validation: float = 0.2

    @property
    def scale(self) -> float:
        """The factor on rates for `batch` samples per step."""
        return self.batch / 256

    def of_steps(self, steps: int) -> "GridProtocol":
        """The protocol with another number of steps, named `-short` or `-long` after the usual one."""
        usual = DINOV2_LINEAR.steps
        suffix = "" if steps == usual else "-short" if steps < usual else "-long"
        return replace(self, name=DINOV2_LINEAR.name + suffix, steps=steps)


DINOV2_LINEAR = GridProtocol()
PROTOCOLS = {DINOV2_LINEAR.name: DINOV2_LINEAR}


@dataclass(frozen=True)
class Range:
    """Adjacent columns of the features, the input of some classifiers."""

    name: str
    start: int
    stop: int

    @property
    def columns(self) -> slice:
        return slice(self.start, self.stop)

    @property
    def width(self) -> int:
        return self.stop - self.start

    @property
    def text(self) -> str:
        """`cls1=2304:3072`, as in settings."""
        return f"{self.name}={self.start}:{self.stop}"


def ranges_of(parts: Sequence[VectorPart]) -> tuple[Range, ...]:
    """The inputs of DINOv2 that features have: the class token of the last block, and the class tokens of all blocks.

    The last block is the last that the features name, and a network's blocks are named in order of depth. Each input is
    there without and, if the features end with the mean of the last block's patch tokens, with this mean. They are
    named after the number of blocks: `cls1`, `cls1-avg`, `cls4` and `cls4-avg` for four blocks. Other features have
    none, which means the whole vector.
    """
    tokens = [each for each in parts if each.kind == "cls"]
    means = [each for each in parts if each.kind == "avg"]
    usual = [*tokens, *means] == list(parts) and len(means) <= 1
    if not tokens or not usual or (means and means[0].block != tokens[-1].block):
        return ()
    return tuple(
        Range(f"cls{number}{suffix}", tokens[-number].start, end)
        for number in dict.fromkeys((1, len(tokens)))
        for suffix, end in (("", tokens[-1].stop), *(("-avg", each.stop) for each in means))
    )


def read_ranges(words: Sequence[str], dimension: int) -> tuple[Range, ...]:
    """Ranges from words such as `cls1=2304:3072`; none for no words.

    Args:
        dimension: of the features.
    """
    found = list[Range]()
    for word in words:
        match = RANGE.fullmatch(word)
        if match is None:
            raise UserError(f"an input is a name and a range of columns such as cls1=2304:3072, not {word!r}")
        each = Range(match[1], int(match[2]), int(match[3]))
        if not each.start < each.stop <= dimension:
            raise UserError(f"the input {word} is no range of columns of features with {dimension} dimensions")
        if each.name in {other.name for other in found}:
            raise UserError(f"two inputs have the name {each.name}; give each its own")
        found.append(each)
    return tuple(found)


def whole(dimension: int) -> tuple[Range, ...]:
    """The range of all columns."""
    return (Range(WHOLE, 0, dimension),)
