"""The best of a column of scores with all that ties with it, which papers print in bold."""

from collections.abc import Collection
from dataclasses import replace

from unseen.analyses.core.comparable import Comparable

RULE = (
    "Bold: the best of a column and all that are not resolved from it by paired comparisons on the same test images "
    "(Holm-corrected p > 0.05)."
)


def best_and_ties(
    compared: Comparable | None, names: Collection[str], barred: Collection[str] = ()
) -> frozenset[str] | None:
    """The best backbone and those that paired comparisons do not resolve from it.

    Args:
        names: the backbones of the column.
        barred: backbones that are never best, such as those trained on the test images; the others are compared.

    Returns:
        None if it cannot be decided: what the fits keep does not allow to compare all of them on the same images.
    """
    asked = [name for name in names if name not in barred]
    if compared is None or not {*asked} <= {*compared.kept}:
        return None
    if not asked:
        return frozenset()
    some = {name: of for name, of in compared.kept.items() if name in asked}
    among = compared if len(some) == len(compared.kept) else replace(compared, kept=some)
    if any(not among.seeds_of(asked[0], name) for name in asked):
        return None
    return frozenset(among.standings.groups[0])
