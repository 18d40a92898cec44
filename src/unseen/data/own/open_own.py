"""Checking and opening a user's own data set, whatever its images are labelled with."""

from unseen.data.core.links import links_within
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.own.classes import survey_classes
from unseen.data.own.contents import Track, untracked
from unseen.data.own.dense import survey_dense
from unseen.data.own.description import Description
from unseen.data.own.survey import Survey


def survey_own(description: Description, *, seed: int = 0, track: Track = untracked) -> Survey:
    """Check a data set: its lists and folders, and the bytes of all its images.

    Args:
        seed: seed of a drawn validation split.
        track: shows progress in images read.
    """
    with links_within(*description.folders, follow=description.table.follow_links):
        if description.dense:
            return survey_dense(description, track)
        return survey_classes(description, seed=seed, track=track)


def open_own(description: Description, *, seed: int = 0, track: Track = untracked) -> OpenDataset:
    """A user's data set; a faulty one is refused with all its problems."""
    return survey_own(description, seed=seed, track=track).checked()
