"""Groups of jobs in this process, for a GPU, which is most efficient with many jobs at once."""

from collections.abc import Callable, Iterator, Sequence

from unseen.runs.execute import Compute, Executor, J
from unseen.runs.means import Means
from unseen.runs.pool import one_by_one


def run_groups(groups: Sequence[Sequence[J]], compute: Compute[J], cost: Callable[[J], float]) -> Iterator[J]:
    """Compute one group after another in this process."""
    yield from one_by_one(groups, compute)


def executor(_: Means) -> Executor:
    return run_groups
