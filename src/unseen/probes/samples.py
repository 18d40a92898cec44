"""Training samples per class: how many a probe is trained on, and whether there are enough for a number of shots."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self, TypedDict


@dataclass(frozen=True)
class Shortage:
    """Too few samples for a number of shots: the code and the numbers of a notice (`unseen.runs.notices`).

    Attributes:
        advice: what to do if nothing else is left to fit.
    """

    code: str
    numbers: tuple[tuple[str, int], ...]
    advice: str = "use fewer shots, or all"


@dataclass(frozen=True)
class SamplesPerClass:
    """Training samples of the smallest, the median and the largest class; of two median classes, the smaller one.

    A draw of `shots` samples per class takes min(shots, n) of n, which keeps the order of classes by size. So these
    three numbers are enough to know those of every draw.
    """

    fewest: int
    median: int
    most: int

    @classmethod
    def of(cls, counts: Iterable[int]) -> Self:
        """From the number of samples of each class; classes without samples are not counted."""
        ordered = sorted(count for count in counts if count)
        return cls(ordered[0], ordered[(len(ordered) - 1) // 2], ordered[-1]) if ordered else cls(0, 0, 0)

    @classmethod
    def same(cls, number: int) -> Self:
        """Equally many of every class."""
        return cls(number, number, number)

    @classmethod
    def of_labels(cls, y: Any) -> Self:
        """From class indices, in a NumPy array or a tensor."""
        import numpy as np

        return cls.of(np.bincount(np.asarray(y.cpu() if hasattr(y, "cpu") else y)).tolist())

    def drawn(self, shots: int | None) -> "SamplesPerClass":
        """The same after drawing `shots` samples of each class, or all of a class that has fewer."""
        if shots is None:
            return self
        return SamplesPerClass(*(min(shots, number) for number in (self.fewest, self.median, self.most)))

    def total_shortage(self, shots: int | None) -> Shortage | None:
        """That every class has fewer samples, if so: the fit would be the one on all samples."""
        return None if shots is None or shots <= self.most else Shortage("skipped-shots", (("most", self.most),))

    def partial_shortage(self, shots: int | None, validation: float = 0.0) -> Shortage | None:
        """That some classes have fewer samples, or fewer while trials of a search are trained, if so.

        Args:
            validation: share of each class's samples that such a search holds out to score its trials; 0 for no search.
        """
        left = searchable(self.fewest, validation) if validation else self.fewest
        if shots is None or not left < shots <= self.most:
            return None
        if shots > self.fewest:
            return Shortage("fewer-samples", (("fewest", self.fewest),))
        return Shortage("few-for-search", (("fewest", self.fewest), ("left", left)))

    def __str__(self) -> str:
        """`20`, or `14 to 20 (median 18)`."""
        if self.fewest == self.most:
            return str(self.most)
        return f"{self.fewest} to {self.most} (median {self.median})"


@dataclass(frozen=True)
class ClassCounts:
    """Numbers of training and of test samples of each class, in the same order."""

    train: tuple[int, ...]
    test: tuple[int, ...]

    @classmethod
    def of_labels(cls, y_train: Any, y_test: Any, classes: int) -> Self:
        """From class indices, in NumPy arrays or tensors."""
        import numpy as np

        labels = (np.asarray(y.cpu() if hasattr(y, "cpu") else y) for y in (y_train, y_test))
        return cls(*(tuple(np.bincount(y, minlength=classes).tolist()) for y in labels))

    @property
    def samples(self) -> SamplesPerClass:
        return SamplesPerClass.of(self.train)

    @property
    def together(self) -> list[int]:
        """Training and test samples of each class."""
        return [train + test for train, test in zip(self.train, self.test, strict=True)]


class ScoreFields(TypedDict):
    """The fields of a score about training samples per class."""

    fewest_samples: int | None
    median_samples: int | None
    most_samples: int | None


def score_fields(samples: SamplesPerClass | None) -> ScoreFields:
    """The fields of a score on that many samples per class; None if they are unknown."""
    fewest, median, most = (samples.fewest, samples.median, samples.most) if samples else (None, None, None)
    return ScoreFields(fewest_samples=fewest, median_samples=median, most_samples=most)


def searchable(samples: int, validation: float) -> int:
    """How many of a class's samples a search trains on; the others are held out to score its trials."""
    return samples - min(max(int(samples * validation), 1), samples - 1)
