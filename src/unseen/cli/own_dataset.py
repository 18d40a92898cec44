"""What `unseen ls datasets PLACE` shows of a user's own data set."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.cli.output import console, print_json, print_table, track

if TYPE_CHECKING:
    from unseen.images.own.survey import Survey

MOST_CLASSES = 50
"""Rows of the table; JSON has all."""


def show_own_dataset(place: Path, *, as_json: bool) -> None:
    """Print what is in a data set and what is wrong with it; anything wrong ends in an error."""
    from unseen.images.own.dense import damaged_labels, label_counts, survey_dense
    from unseen.images.own.description import describe
    from unseen.images.own.survey import survey_dataset

    description = describe(place)
    found: Survey[Any]
    if description.table.task == "classification":
        found = survey_dataset(description, track=track)
        counts, damaged = found.counts, list[str]()
    else:
        found = survey_dense(description, track)
        counts, damaged = (label_counts(found.opened), damaged_labels(found.opened)) if found.opened else ({}, [])
    facts = _facts(found)
    if as_json:
        pairs = [{"first": each.first, "second": each.second, "pairs": each.pairs} for each in found.shared]
        seen = {"images": found.images, "counts": counts, "missing": found.missing, "shared": pairs}
        print_json({**facts, **seen, "damaged": damaged, "problems": found.problems})
    else:
        _print(facts, counts, "Boxes" if description.table.task == "detection" else "Images")
        for sentence in (*(each.sentence for each in found.shared), *damaged):
            console().print(f"{sentence}.")
    found.checked()
    if not as_json:
        in_order = "Files, labels and splits are in order. Images are first decoded when features are extracted."
        console().print("It can be used without these images." if damaged else in_order)


def _facts(found: "Survey[Any]") -> dict[str, Any]:
    table = found.description.table
    measured = {"metric": table.metric} if table.task == "classification" else {}
    return {
        "name": table.name,
        "title": found.description.title,
        "task": table.task,
        **measured,
        "images": ", ".join(f"{count:,} {split}" for split, count in found.images.items()),
        "licence": table.licence or "not given",
        "citation": table.citation or "not given",
        "content": found.opened.dataset.content if found.opened else "",
    }


def _print(facts: Mapping[str, str], counts: Mapping[str, Mapping[str, int]], counted: str) -> None:
    print_table("Your data set", ("", ""), [item for item in facts.items() if item[1]])
    console().print()
    classes = list(dict.fromkeys(name for of in counts.values() for name in of))
    if classes:
        rows = [(name, *(f"{of.get(name, 0):,}" for of in counts.values())) for name in classes[:MOST_CLASSES]]
        print_table(f"{counted} of each class", ("class", *counts), rows, list(counts))
        console().print()
    if len(classes) > MOST_CLASSES:
        console().print(f"And {len(classes) - MOST_CLASSES:,} more classes, which --json lists.")
