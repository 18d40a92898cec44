"""The images that the page shows of subsets, where they are reachable."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from unseen.analyses.robustness.found_subsets import FoundSubset, ShiftSubsets
from unseen.data.core.open_dataset import OpenDataset
from unseen.errors import UserError
from unseen.report.core.thumbnails import WHOLE, jpeg, thumbnails
from unseen.studies.places import Places
from unseen.studies.run_images import images_of_run
from unseen.studies.watch import Silent

SHOWN, OTHERS = 24, 12
"""Images of a subset that are shown, and of the others that were searched."""
Pictures = Mapping[str, Mapping[int, bytes]]
"""OOD test set → number of an image → its picture as a JPEG file."""


def shown_images(found: FoundSubset) -> tuple[list[int], list[int]]:
    """The images of a subset with the lowest correlations, and evenly chosen other ones, by their numbers."""
    others = np.setdiff1d(np.flatnonzero(found.search.searched), found.subset)
    evenly = np.linspace(0, len(others) - 1, min(OTHERS, len(others))).round().astype(int)
    return found.subset[:SHOWN].tolist(), others[evenly].tolist()


def pictures_of_runs(subsets: ShiftSubsets, folders: Sequence[Path], places: Places) -> Pictures:
    """The pictures of the subsets of runs, opened as their studies name them; their images are not read otherwise."""
    if not any(found.negative for found in subsets.found):
        return {}
    opened = dict[str, OpenDataset]()
    for folder in folders:
        opened |= images_of_run(folder, places, Silent())[0]
    return subset_pictures(subsets, opened)


def subset_pictures(subsets: ShiftSubsets, images: Mapping[str, OpenDataset]) -> Pictures:
    """The pictures of the subsets on which the relation is negative; images that are not found are left out.

    Args:
        images: test sets by name.
    """
    pictures = dict[str, dict[int, bytes]]()
    for found in subsets.found:
        opened = images.get(found.test_set)
        if opened is None or not found.negative or not found.names:
            continue
        wanted = {found.names[number]: number for part in shown_images(found) for number in part}
        try:
            source, _ = opened.part(opened.dataset.split)
            pixels = thumbnails(source, wanted, found.ood, WHOLE)
        except UserError:
            continue
        pictures.setdefault(found.ood, {}).update({wanted[name]: jpeg(each) for name, each in pixels.items()})
    return pictures
