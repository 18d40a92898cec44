"""`unseen ls shift-sets`: the test sets of the shift study, and how much of them a folder has."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from unseen.cli.ls.datasets import MARKS
from unseen.cli.output import note, print_rows, track
from unseen.data.core.open_dataset import examine
from unseen.data.own.one_split import open_test_set, refuse_same_names
from unseen.data.registry import shift_sets
from unseen.errors import UserError

Rows = list[tuple[str | int, ...]]


def published_rows(root: Path | None, *, every: bool) -> tuple[tuple[str, ...], Rows, list[str]]:
    """Columns and rows of the published test sets, and sentences on incomplete copies.

    Args:
        root: folder of test sets; their images are counted, not read.
        every: also each corruption and severity of ImageNet-C.
    """
    if root is not None and not root.is_dir():
        raise UserError(f"{root}: no such folder; give the folder that contains the test sets")
    chosen = [each for each in shift_sets().values() if every or not each.name.startswith("imagenet-c.")]
    rows, notices = Rows(), list[str]()
    for each in track(chosen, "test sets checked", len(chosen)) if root else chosen:
        state = examine(each, root) if root else None
        where = str(state.place) if state and state.place else " or ".join(layout.folder for layout in each.layouts)
        here = (MARKS[state.state],) if state else ()
        counted = (f"{state.images:,}",) if state else ()
        rows.append((*here, each.name, each.classes, f"{each.images:,}", *counted, where, each.get, each.licence))
        if state and state.state == "partial":
            notices.append(f"Incomplete: {state.reason}.")
    found, counts = (("found",), ("images here",)) if root else ((), ())
    return (*found, "test set", "classes", "images", *counts, "folder", "how to get it", "licence"), rows, notices


def show_own_sets(places: Sequence[str], *, as_json: bool) -> None:
    """Print the contents of the user's own test sets, and notices on missing files."""
    opened = [open_test_set(place, partial=True) for place in places]
    refuse_same_names(opened, shift_sets())
    rows = []
    for each in opened:
        counts = Counter(entry.label for entry in each.manifest.entries).values()
        role = "OOD" if each.dataset.shifted else "ID"
        numbers = (len(counts), len(each.manifest), min(counts), max(counts))
        rows.append((each.dataset.name, role, *(f"{number:,}" for number in numbers)))
    columns = ("test set", "role", "classes", "images", "fewest per class", "most per class")
    print_rows(columns, rows, as_json=as_json)
    for sentence in (sentence for each in opened for sentence in each.notes):
        note(sentence)
