"""`unseen ls datasets PLACE`: the contents of a user's own data set, and problems with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unseen.cli.output import console, print_json, print_table, track

if TYPE_CHECKING:
    from unseen.data.core.open_dataset import OpenDataset
    from unseen.data.own.survey import Survey

MOST_CLASSES = 50
"""Rows of the table; JSON has all."""
DECODED = 3
"""Images per split that are decoded, evenly spaced: a whole data set of the wrong format is noticed at once."""


def show_own_dataset(place: Path, *, as_json: bool) -> None:
    """Print the contents of a data set and problems with it; a data set that cannot be used is an error."""
    from unseen.data.core.dense.label_survey import refuse_unscorable
    from unseen.data.own.dense import label_counts, unusable_labels
    from unseen.data.own.description import describe
    from unseen.data.own.open_own import survey_own

    description = describe(place)
    found = survey_own(description, track=track)
    counts, damaged = found.counts, list[str]()
    if found.opened is not None:
        if description.dense:
            counts, damaged = label_counts(found.opened), unusable_labels(found.opened)
        damaged += _damaged(found.opened)
    facts = _facts(found)
    if as_json:
        pairs = [{"first": each.first, "second": each.second, "pairs": each.pairs} for each in found.shared]
        seen = {"images": found.images, "counts": counts, "missing": found.missing, "shared": pairs}
        print_json({**facts, **seen, "damaged": damaged, "problems": found.problems})
    else:
        _print(facts, counts, "Boxes" if description.table.task == "detection" else "Images")
        for sentence in (*(each.sentence for each in found.shared), *damaged):
            console().print(f"{sentence}.")
    opened = found.checked()
    if description.dense:
        refuse_unscorable(opened)
    if not as_json:
        without = (
            "The rest can be used."
            if description.dense
            else "The data set can be used without these images (--set on-error=skip)."
        )
        console().print(without if damaged else "Files, labels and splits are valid, and a few decoded images as well.")


def _damaged(opened: "OpenDataset") -> list[str]:
    """Sentences on images that cannot be decoded, of a few of each split; a split without any other is an error."""
    from unseen.data.core.decoding.decode import whole_pixels
    from unseen.errors import UserError, names_of

    found = []
    for split in dict.fromkeys(opened.manifest.splits):
        numbers = [number for number, each in enumerate(opened.manifest.splits) if each == split]
        tried = numbers[:: max(len(numbers) // DECODED, 1)][:DECODED]
        reasons = []
        for number in tried:
            try:
                whole_pixels(opened.source.read(number), opened.manifest.entries[number].id)
            except UserError as error:
                reasons.append(str(error))
        if reasons:
            found.append(f"{len(reasons)} of {len(tried)} decoded {split} images are damaged: {names_of(reasons)}")
        if len(reasons) == len(tried):
            raise UserError(f"{found[-1]}; check the files of this split")
    return found


def _facts(found: "Survey") -> dict[str, Any]:
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
