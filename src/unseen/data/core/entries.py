"""A compact table for millions of image entries, at tens of bytes each."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self, overload

from unseen.data.core.source import Entry
from unseen.errors import UserError


class EntryTable(Sequence[Entry]):
    """Entries stored as columns; an `Entry` is created on access.

    Attributes:
        classes: all classes, including those without images; not always sorted.
    """

    def __init__(self, ids: Any, codes: Any, classes: Sequence[str]) -> None:
        """Create from Arrow arrays: ids as text, and the index of each image's class in `classes`."""
        self._ids, self._codes, self.classes = ids, codes, tuple(classes)

    @classmethod
    def of(cls, rows: Iterable[tuple[str, str]], where: str, classes: Iterable[str] = ()) -> Self:
        """Create from (id, class) pairs in their order; a repeated id is an error that names `where`.

        Args:
            classes: classes to include even if they have no image.
        """
        import pyarrow as pa

        code = {name: number for number, name in enumerate(classes)}
        ids: list[str] = []
        codes: list[int] = []
        for id_, label in rows:
            ids.append(id_)
            codes.append(code.setdefault(label, len(code)))
        if not ids:
            raise UserError(f"{where}: contains no images")
        if len(set(ids)) < len(ids):
            raise UserError(f"{where}: {_first_repeated(ids)} occurs twice")
        return cls(pa.array(ids, pa.large_string()), pa.array(codes, pa.int32()), tuple(code))

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, number: int) -> Entry: ...
    @overload
    def __getitem__(self, number: slice) -> "EntryTable": ...
    def __getitem__(self, number: int | slice) -> "Entry | EntryTable":
        if isinstance(number, slice):
            return EntryTable(self._ids[number], self._codes[number], self.classes)
        return Entry(self._ids[number].as_py(), self.classes[self._codes[number].as_py()])

    def __iter__(self) -> Iterator[Entry]:
        block = 65_536
        for start in range(0, len(self), block):
            ids, codes = (column[start : start + block].to_pylist() for column in (self._ids, self._codes))
            for id_, code in zip(ids, codes, strict=True):
                yield Entry(id_, self.classes[code])


def _first_repeated(ids: Iterable[str]) -> str:
    seen = set[str]()
    return next(id_ for id_ in ids if id_ in seen or seen.add(id_))  # type: ignore[func-returns-value]
