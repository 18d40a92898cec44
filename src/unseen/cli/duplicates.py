"""`unseen duplicates`: test images that are also training images, as far as stored features show it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli.output import Json, console, print_json, print_table
from unseen.cli.study_options import DataOption, places_of
from unseen.cli.watching import CommandWatch

if TYPE_CHECKING:
    from unseen.analyses.duplicates.pairs import Duplicates

PAGE = "duplicates.html"


def duplicates(
    place: Annotated[
        Path, typer.Argument(help="Folder of a run, a folder of features, or the features of some test images.")
    ],
    against: Annotated[
        list[str] | None,
        typer.Option(help="Searched instead of a data set's own training images: data sets there, or features."),
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="Folder of the features of the run, if they are not in its folder.")
    ] = None,
    backbone: Annotated[str | None, typer.Option(help="Whose features are compared, if there are several.")] = None,
    datasets: Annotated[list[str] | None, typer.Option(help="Data sets with test images. Default: all.")] = None,
    threshold: Annotated[float, typer.Option(help="Cosine similarity from which a pair counts.")] = 0.9,
    data: DataOption = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="PAGE",
            help=f"Page (.html) or table (.csv, .json, .parquet, .md, .tex). Default: {PAGE} in the run, or here.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Find test images that are also among the training images.

    The nearest training image of each test image is found by the cosine similarity of stored features. The page shows
    the closest pairs, how many there are at each threshold, and the accuracies of the run with and without them.
    """
    from unseen.analyses.duplicates.of_place import find_duplicates
    from unseen.files import check_writable
    from unseen.report.duplicates.page import write_duplicates
    from unseen.runs.record import RUN
    from unseen.runs.tables import check_table_name
    from unseen.studies.run_images import images_of_run

    is_run, watch = (place / RUN).is_file(), CommandWatch()
    page = out or (place / PAGE if is_run else Path(PAGE))
    check_writable(page.parent)
    if page.suffix != ".html":
        check_table_name(page)
    found = find_duplicates(
        place, against=against or (), features=features, backbone=backbone, datasets=datasets, threshold=threshold,
        watch=watch,
    )  # fmt: skip
    images, sentences = images_of_run(place, places_of(data), watch) if is_run and page.suffix == ".html" else ({}, [])
    write_duplicates(found, page, images=images)
    if json:
        print_json(_record(found, page))
        return
    _print(found)
    for sentence in (*found.notices, *sentences):
        console().print(sentence)
    console().print(f"\nPage: {page}")


def _record(found: "Duplicates", page: Path) -> dict[str, Any]:
    from dataclasses import asdict

    sets = [
        {
            "dataset": each.dataset,
            "images": len(each.test.features),
            "searched": [{"dataset": part.dataset, "split": part.split, "images": len(part.features)}
                         for part in each.parts],
            "near_duplicates": int(each.above(found.threshold).sum()),
        }
        for each in found.sets
    ]  # fmt: skip
    scores = [asdict(each) for each in found.scores]
    about = {"backbone": found.backbone, "threshold": found.threshold}
    return {**about, "sets": sets, "scores": scores, "notices": list(found.notices), "file": str(page)}


def _print(found: "Duplicates") -> None:
    rows = []
    for each in found.sets:
        above = each.above(found.threshold)
        same = f"{each.same_class[above].mean():.0%}" if above.any() else "–"
        rows.append([each.dataset, f"{len(above):,}", f"{each.searched:,}", f"{int(above.sum()):,}", same])
    columns = ["data set", "test images", "searched", "near-duplicates", "of one class"]
    title = f"Near-duplicates by {found.backbone}, cosine similarity of at least {found.threshold:g}"
    print_table(title, columns, rows, right=columns[1:])
    if found.scores:
        scores = [
            [each.backbone, each.dataset, each.probe, "all" if each.shots is None else f"{each.shots}", each.metric,
             f"{100 * each.value:.2f}", f"{100 * each.without:.2f}"]
            for each in found.scores
        ]  # fmt: skip
        names = ["backbone", "data set", "probe", "shots", "metric", "all images", "without"]
        print_table("Scores in percent", names, scores, right=["shots", "all images", "without"])
