"""Groups of jobs in this process, for a GPU, which is most efficient with many jobs at once."""

from collections.abc import Callable, Iterator, Sequence

from unseen.runs.execute import Compute, Executor, J
from unseen.runs.means import Means


def run_groups(groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
    """Compute one group after another in this process."""
    for group in groups:
        yield from compute(group)


def executor(_: Means) -> Executor:
    return run_groups
