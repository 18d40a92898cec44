"""`unseen.duplicates`: test images that are also training images, as far as stored features show it."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unseen.analyses.duplicates.pairs import Duplicates


def duplicates(
    place: str | PathLike[str],
    *,
    against: str | PathLike[str] | Sequence[str | PathLike[str]] = (),
    features: str | PathLike[str] | None = None,
    backbone: str | None = None,
    datasets: Sequence[str] | None = None,
    threshold: float = 0.9,
    out: str | PathLike[str] | None = None,
    data: str | PathLike[str] | None = None,
) -> "Duplicates":
    """Find the nearest training image of each test image by stored features, and scores without such test images.

    Args:
        place: folder of a run, a folder with one folder of features per data set, or features of some test images.
        against: what is searched instead of each data set's own training and validation images: names of data sets in
            the same folder, or features.
        features: folder of the features of the run, if they are not in its folder.
        backbone: whose features are compared, if there are several.
        datasets: names of data sets with test images; None for all.
        threshold: cosine similarity from which a pair counts as near-duplicates.
        out: page (.html) with the closest pairs, or table with all of them.
        data: folder that contains the data sets, for the pictures of the page.

    Returns:
        The pairs, with `.sets`, `.scores` and `.to_frame()`, one row per test image.

    Example:
        >>> pairs = unseen.duplicates("run", threshold=0.95, out="duplicates.html")
        >>> pairs.to_frame().head()
    """
    from unseen.analyses.duplicates.of_place import find_duplicates
    from unseen.report.duplicates.page import write_duplicates
    from unseen.runs.record import RUN
    from unseen.runs.tables import check_table_name
    from unseen.studies.places import Places
    from unseen.studies.run_images import images_of_run
    from unseen.studies.watch import Silent

    if out is not None and Path(out).suffix != ".html":
        check_table_name(Path(out))
    folder, words = Path(place), [against] if isinstance(against, str | PathLike) else list(against)
    found = find_duplicates(
        folder, against=[fspath(each) for each in words], features=None if features is None else Path(features),
        backbone=backbone, datasets=datasets, threshold=threshold,
    )  # fmt: skip
    if out is not None:
        images = images_of_run(folder, Places.of(data), Silent())[0] if (folder / RUN).is_file() else {}
        write_duplicates(found, Path(out), images=images)
    return found
