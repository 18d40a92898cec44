"""The package that each listed name comes from."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unseen.extension.registry import Registry

PACKAGE = "package"
"""The column with a package and its version."""


def with_packages(
    columns: Sequence[str], rows: Iterable[Sequence[str]], names: "Registry[Any]", *, as_json: bool
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A table with the package that each of its names comes from; on a terminal, only if there are several packages.

    Args:
        rows: the first cell of each is its name, perhaps with a colon after it.
    """
    if not as_json and not names.extended:
        return tuple(columns), [tuple(row) for row in rows]
    return (*columns, PACKAGE), [(*row, names.origin(row[0].removesuffix(":"))) for row in rows]
