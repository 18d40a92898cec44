"""How a table is laid out in a paper: its width, the size of its type, and where its texts are broken."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

from unseen.report.core.model import Cell, Row, Table
from unseen.text.latex import escaped

COLUMN, PAGE = 234.0, 486.0
"""Points of one column and of both, 3.25 and 6.75 inches."""
SIZES = ((r"\small", 9.0), (r"\footnotesize", 8.0), (r"\scriptsize", 7.0))
LETTER, BESIDE = 0.53, 7.0
"""Width of an average letter in the size of the type, and the size of small texts beside numbers."""
LONG, BOX, WIDE_BOX = 26, 22, 64
"""Letters from which a text is broken, and those of its lines in one column and over both."""
MOST_BROKEN = 10
"""Lines of a text in one column of the paper; a longer one goes over both."""
MOST_TURNED = 28
BROKEN = 1.4
"""Lines that texts in boxes take, of those that their letters would fill."""


@dataclass(frozen=True)
class Layout:
    """The layout of a table.

    Attributes:
        wide: whether it goes over both columns.
        size: the command for the size of its type.
        gap: half the distance of two columns, in points.
        headers: lines of the title of each column.
        turned: whether titles are turned by 90 degrees.
        boxes: column → width of its box in points, where texts are broken.
        parts: the columns of each part, below each other; the first one is in all.
    """

    wide: bool
    size: str
    gap: float
    headers: Sequence[Sequence[str]]
    turned: bool
    boxes: Mapping[int, float]
    parts: Sequence[Sequence[int]]

    @property
    def points(self) -> float:
        """The size of the type."""
        return next(points for command, points in SIZES if command == self.size)

    @property
    def line(self) -> float:
        """Points from one line to the next."""
        return 1.2 * self.points

    @property
    def header(self) -> float:
        """Points of the titles and rules of a part."""
        if self.turned:
            letters = max((printed_letters(line) for lines in self.headers for line in lines), default=0)
            return letters * LETTER * self.points + 4 * self.line
        return (3 + max((len(lines) for lines in self.headers), default=1)) * self.line


def chosen_layout(table: Table) -> Layout:
    """The first layout that fits, from one column to several parts over both."""
    every = range(len(table.columns))
    for wide, sizes, turned in (
        (False, SIZES[:2], False), (True, SIZES, False), (False, SIZES[:2], True), (True, SIZES, True),
    ):  # fmt: skip
        for command, size in sizes:
            gap = 4.0 if size > SIZES[-1][1] else 3.0
            widths, headers, boxes = _widths(table, size, wide=wide, turned=turned)
            if not wide and any(
                len(row.cells[place].text) > MOST_BROKEN * BOX for row in table.rows for place in boxes
            ):
                continue
            if sum(widths) + 2 * gap * (len(widths) - 1) <= (PAGE if wide else COLUMN):
                return Layout(wide, command, gap, headers, turned, boxes, [[*every]])
    command, size = SIZES[-1]
    widths, headers, boxes = _widths(table, size, wide=True, turned=True)
    return Layout(True, command, 3.0, headers, True, boxes, [*_parts(widths, 3.0)])


def _parts(widths: Sequence[float], gap: float) -> list[list[int]]:
    """Columns in parts that fit, with the first one in each."""
    parts, room = [[0]], PAGE - widths[0]
    left = room
    for place, width in enumerate(widths[1:], 1):
        needed = width + 2 * gap
        if needed > left and len(parts[-1]) > 1:
            parts.append([0])
            left = room
        parts[-1].append(place)
        left -= needed
    return parts


def _widths(
    table: Table, size: float, *, wide: bool, turned: bool
) -> tuple[list[float], list[Sequence[str]], dict[int, float]]:
    """Points of each column, the lines of its title, and the boxes of texts that are broken."""
    widths, headers, boxes, letter = list[float](), list[Sequence[str]](), dict[int, float](), LETTER * size
    for place, column in enumerate(table.columns):
        texts = [_letters(row.cells[place], size) for row in table.rows]
        content = max(texts, default=0.0)
        if content > LONG and not column.number:
            content = float(min(content, WIDE_BOX if wide else BOX))
            boxes[place] = content * letter
        words = column.title.split()
        lines = wrap(column.title, max([int(content), 4, *map(len, words)])) if column.title else []
        if turned and column.number:
            lines = wrap(column.title, MOST_TURNED) if column.title else []
            titled = 1.2 * size * len(lines)
        else:
            titled = max(map(printed_letters, lines), default=0) * letter
        headers.append(lines)
        widths.append(max(content * letter, titled))
    return widths, headers, boxes


def _letters(cell: Cell, size: float) -> float:
    """The width of a cell in letters of its size."""
    beside = " ".join(part for part in (cell.small, cell.below) if part)
    small = (printed_letters(beside) + 3) * BESIDE / size if beside else 0
    strong = 1.15 if {"best", "tied", "strong"} & {*cell.style.split()} else 1
    return strong * printed_letters(cell.text) + small


def printed_letters(text: str) -> float:
    """The letters that a text takes; a character without a font is printed as its number."""
    wide = sum(7 for character in text if "unseenglyph" in escaped(character))
    return len(text) + wide + 0.4 * sum(character.isupper() or character in "mw@%" for character in text)


def lines_of(row: Row, layout: Layout) -> int:
    """The lines that a row takes; words of texts in boxes do not fill their lines."""
    letter = LETTER * layout.points
    needed = {place: printed_letters(row.cells[place].text) * letter for place in layout.boxes}
    broken = [1 + int(BROKEN * points / layout.boxes[place]) for place, points in needed.items()]
    return max([1, *broken])


def heading(title: str, lines: Sequence[str], *, turned: bool) -> str:
    """The title of a column in its lines."""
    texts = [escaped(line) for line in lines] or [escaped(title)]
    stacked = texts[0] if len(texts) == 1 else "".join(["\\shortstack{", " \\\\ ".join(texts), "}"])
    return f"\\rotatebox{{90}}{{{stacked}}}" if turned and title else stacked
