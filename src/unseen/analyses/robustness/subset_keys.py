"""The settings of the search for subsets of shifted test sets."""

from dataclasses import dataclass

from unseen.reading.keys import key


@dataclass(frozen=True)
class SubsetKeys:
    """What users set of the search for subsets."""

    size: int | None = key(None, "fewest images of a subset; unset: one in 20 of the test set", least=2)
    permutations: int | None = key(
        None, "searches with permuted models; unset: 200, or 40 times the number of searches if that is more", least=19
    )
    seed: int = key(0, "seed of the halves and permutations", least=0)
