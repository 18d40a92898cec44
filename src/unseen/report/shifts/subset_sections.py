"""The sections about subsets of shifted test sets on which models of higher ID accuracy are less accurate."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from unseen.analyses.robustness.found_subsets import ClassShare, FoundSubset, ShiftSubsets
from unseen.errors import option
from unseen.metrics.subsets import CHANCE, LEAST_APART
from unseen.report.core.model import Cell, Column, Figure, Gallery, Picture, Row, Section, Series, Table
from unseen.report.shifts.subset_pictures import SHOWN, Pictures, shown_images
from unseen.text.words import p_text, signed

Looks = Mapping[str, tuple[int, str]]
"""Group of models → its colour and symbol."""
MOST_SECTIONS, MOST_SENTENCES, MOST_CLASSES = 6, 6, 12
NAME = "subsets"
TITLE = "What the average hides"
NOTE = (
    "Half of the models choose the images, and the other half confirms the choice; neighbours in ID accuracy are in "
    "different halves. Images are ranked by the correlation of their hits with ID accuracy (on the scale of the fits), "
    "within groups of models. Sizes are tested from the stated one upwards, and the subset is the largest that is "
    "confirmed. The p-value, of the stated size, compares the correlation of the other half with those of the same "
    "search under {permutations:,} permutations of ID accuracy within groups; it is exact if models of a group are "
    "exchangeable, and too small if models of one family are close copies without a group. Images that "
    f"all but a few models ({LEAST_APART:.0%}, at least two) get right, or wrong, are not searched."
)


def subset_sections(subsets: ShiftSubsets, pictures: Pictures, looks: Looks) -> Iterator[Section]:
    """A section about all searches, and one for each subset on which the relation is negative."""
    if subsets.found:
        yield _summary(subsets)
    elif subsets.notices:
        yield Section(NAME, TITLE, sentences=subsets.notices, menu="Subsets")
    for number, found in enumerate([each for each in subsets.found if each.negative][:MOST_SECTIONS], 1):
        yield _section(found, number, pictures.get(found.ood, {}), looks)


def _summary(subsets: ShiftSubsets) -> Section:
    ordered = sorted(subsets.found, key=lambda each: each.p_holm)
    more = len(ordered) - MOST_SENTENCES
    sentences = [each.sentence for each in ordered[:MOST_SENTENCES]]
    sentences += [f"The table below has {more} more searches."] if more > 0 else []
    return Section(
        NAME, TITLE, menu="Subsets", sentences=[*sentences, *subsets.notices], figures=_curves(subsets.found[:4]),
        tables=[_table(subsets.found)], note=NOTE.format(permutations=len(subsets.found[0].search.null)),
    )  # fmt: skip


def _curves(found: Sequence[FoundSubset]) -> list[Figure]:
    """The correlation on either half against the size of the subset, with that of permuted searches."""
    figures = []
    for each in found:
        search = each.search
        sizes = search.sizes.astype(float).tolist()
        low, high = np.quantile(search.null, [CHANCE, 1 - CHANCE], axis=0).tolist()
        series = [
            Series("", sizes, low, mode="lines", dash="dot"),
            Series("chance (5% to 95%)", sizes, high, mode="lines", dash="dot", strong=True),
            Series("choosing half", sizes, search.found.tolist(), 4, mode="lines", dash="dash", strong=True),
            Series("other half", sizes, search.confirmed.tolist(), 0, strong=True, hover=_hover(each)),
        ]
        figures.append(
            Figure(
                f"{each.ood} by {each.id_set}",
                "images of the subset",
                "correlation with ID accuracy",
                series,
                log_x=True,
                x_ticks=_sizes(search.sizes.tolist()),
                y_range=(-1.05, 1.05),
                zero=True,
            )
        )
    return figures


def _hover(found: FoundSubset) -> list[str]:
    search = found.search
    pairs = zip(search.sizes.tolist(), search.confirmed.tolist(), strict=True)
    return [f"{size:,} images: {signed(value, 2)} on the other half" for size, value in pairs]


def _sizes(sizes: Sequence[int]) -> tuple[tuple[float, str], ...]:
    return tuple((float(size), f"{size:,}") for size in sizes[:: max(1, len(sizes) // 4)])


def _table(found: Sequence[FoundSubset]) -> Table:
    columns = [
        Column("OOD test set", number=False, names=["ood"]), Column("ID test set", number=False, names=["id"]),
        Column("Images", "of the test set, and those that were searched", names=["images", "searched"]),
        Column("Subset", "images", names=["subset"]),
        Column("r, all images", "on the other half", names=["all_images"]),
        Column("r, choosing half", names=["choosing"]), Column("r, other half", names=["confirming"]),
        Column("p (Holm)", "corrected for the number of searches", names=["p_holm", "p"]),
        Column("Resolvable", "a correlation below this has p of at most 0.05 before correction", names=["resolvable"]),
        Column("Slope", "points on the subset per 10 points of ID accuracy", names=["slope"]),
        Column("Models", names=["models"]),
    ]  # fmt: skip
    rows = []
    for each in found:
        search, searched = each.search, int(each.search.searched.sum())
        strong = "strong" if each.negative else ""
        cells = [
            Cell(each.ood), Cell(each.id_set),
            Cell(f"{each.images.count:,}", (each.images.count, searched), small=f"({searched:,})"),
            Cell(f"{len(each.subset):,}", (len(each.subset),)), _correlation(search.whole),
            _correlation(float(search.found[each.place])), _correlation(each.correlation, "main"),
            Cell(p_text(each.p_holm), (each.p_holm, float(search.p_values[0])), style=strong),
            _correlation(search.resolvable), Cell(signed(10 * each.slope, 1), (each.slope,)),
            Cell(f"{int(search.used.sum())}"),
        ]  # fmt: skip
        rows.append(Row(cells))
    return Table("subsets", columns, rows, "Searches for subsets", sortable=len(rows) > 1, head=True)


def _correlation(value: float, style: str = "") -> Cell:
    return Cell(signed(value, 2), (value,), style=style)


def _section(found: FoundSubset, number: int, pictures: Mapping[int, bytes], looks: Looks) -> Section:
    inside, others = shown_images(found)
    galleries = [
        Gallery(title, [Picture(pictures[each], _words(found, each), "jpeg") for each in numbers if each in pictures])
        for title, numbers in (("In the subset, the lowest correlation first", inside), ("Not in the subset", others))
        if any(each in pictures for each in numbers)
    ]
    tables = [_classes(found, number)] if found.classes else []
    note = "" if pictures else f" The images were not found, so the subset is in words: give them ({option('data')})."
    return Section(
        f"{NAME}-{number}",
        f"The subset of {found.ood} by {found.id_set}",
        menu=f"Subset {number}",
        sentences=list(_common(found)),
        figures=[_scatter(found, place, title, looks) for place, title in ((1, "All images"), (0, "The subset"))],
        tables=[*tables, _images(found, number, inside)],
        galleries=galleries,
        note=f"Filled points are models of the half that chose the images, open ones those of the other half.{note}",
    )


def _common(found: FoundSubset) -> Iterator[str]:
    """What the images of a subset have in common."""
    chosen = found.subset
    right, usual = found.shares[chosen].mean(), found.shares[found.search.searched].mean()
    yield f"Models get {right:.0%} of these {len(chosen):,} images right on average, and {usual:.0%} of all searched."
    more = [each for each in found.classes if each.p_value <= CHANCE]
    if more:
        named = [f"{each.name} ({each.inside:,} of {each.searched:,})" for each in more[:5]]
        rest = f" and {len(more) - 5:,} more" if len(more) > 5 else ""
        yield f"Over-represented, beyond what permuted searches give: {', '.join(named)}{rest}."
    elif found.classes:
        yield "No class is over-represented beyond what permuted searches give."


def _scatter(found: FoundSubset, place: int, title: str, looks: Looks) -> Figure:
    """Accuracy on the subset, or on all images, against ID accuracy, in percent."""
    series = []
    for group, (colour, symbol) in looks.items():
        for side, mark in ((False, f"{symbol}-open"), (True, symbol)):
            own = [
                (100 * model.id_accuracy[found.id_place], 100 * float(accuracy[place]), model.model)
                for model, searching, used, accuracy in zip(
                    found.models, found.search.searching, found.search.used, found.accuracy, strict=True
                )
                if used and searching == side and model.group == group
            ]
            if own:
                hover = [f"{name}: {across:.1f}% on {found.id_set}, {up:.1f}% here" for across, up, name in own]
                across, up, _ = (list(values) for values in zip(*own, strict=True))
                series.append(Series("", across, up, colour, group, True, "markers", mark, hover=hover))
    return Figure(title, f"{found.id_set} (%)", "accuracy (%)", series)


def _words(found: FoundSubset, number: int) -> list[str]:
    share = f"{found.shares[number]:.0%} right"
    return [*filter(None, [found.class_name(number)]), found.image_name(number).rpartition("/")[2], share]


def _classes(found: FoundSubset, number: int) -> Table:
    columns = [
        Column("Class", number=False, names=["class"]), Column("In the subset", names=["inside"]),
        Column("Searched", names=["searched"]), Column("Share", "of its searched images", names=["share"]),
        Column("p", "corrected for the number of classes", names=["p"]),
    ]  # fmt: skip
    return Table(
        f"subset-classes-{number}", columns, [_class_row(each) for each in found.classes[:MOST_CLASSES]],
        f"Classes of the subset ({min(MOST_CLASSES, len(found.classes))} of {len(found.classes):,})", head=True,
    )  # fmt: skip


def _class_row(each: ClassShare) -> Row:
    share = each.inside / each.searched
    strong = "strong" if each.p_value <= CHANCE else ""
    cells = [
        Cell(each.name), Cell(f"{each.inside:,}", (each.inside,)), Cell(f"{each.searched:,}", (each.searched,)),
        Cell(f"{share:.0%}", (share,)), Cell(f"{each.p_value:.2g}", (each.p_value,), style=strong),
    ]  # fmt: skip
    return Row(cells)


def _images(found: FoundSubset, number: int, inside: Sequence[int]) -> Table:
    columns = [
        Column("Image", number=False, names=["image"]), Column("Class", number=False, names=["class"]),
        Column("Models right", names=["right"]),
    ]  # fmt: skip
    rows = [
        Row(
            [
                Cell(found.image_name(each)), Cell(found.class_name(each) or "–"),
                Cell(f"{found.shares[each]:.0%}", (float(found.shares[each]),)),
            ]
        )
        for each in inside
    ]  # fmt: skip
    many = f"{min(SHOWN, len(found.subset))} of {len(found.subset):,}"
    return Table(f"subset-images-{number}", columns, rows, folded=f"Names of the images ({many})")
