"""Where attentive probes look: test images with the attention of the probe's queries."""

from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from unseen.report.core.discover import PageSection
from unseen.report.core.model import Gallery, Picture, Section
from unseen.report.tasks.attention_data import AttentionResult
from unseen.report.tasks.page_data import TaskPage
from unseen.report.tasks.section_parts import kept_picture

MOST_BYTES = 3_000_000
"""Limit for all pictures of the section together."""
NOTE = (
    "Each picture has the image, then over the image in grey the mean attention of all queries of the probe, and that "
    "of the queries whose attention differs most, the same for all images of a backbone. In each map, dark is the "
    "lowest and bright the highest attention. The images are evenly spread over those that the probe classifies "
    "correctly, and over the others. Attention says which patches a probe pools, not which of them decide the class."
)


def build(page: TaskPage) -> Section | None:
    """The section, for runs with pictures of attentive probes."""
    kept = _kept(page)
    galleries = [gallery for result in page.attention for gallery in _galleries(result, kept)]
    if not galleries:
        return None
    return Section(
        "attention", "Where the attentive probes look", note=NOTE, galleries=galleries, menu="Attention"
    )  # fmt: skip


def _kept(page: TaskPage) -> dict[Path, Picture]:
    """As many pictures as fit on a page: the first of every result, then the second of every result, and so on."""
    kept: dict[Path, Picture] = {}
    size = 0
    for turn in zip_longest(*(each.pictures for each in page.attention)):
        for path, about in filter(None, turn):
            classes = about.truth if about.right else f"{about.truth}, taken for {about.predicted}"
            picture = kept_picture(path, [about.image, classes])
            if picture is not None and size + len(picture.content) <= MOST_BYTES:
                kept[path] = picture
                size += len(picture.content)
    return kept


def _galleries(result: AttentionResult, kept: dict[Path, Picture]) -> Iterator[Gallery]:
    """One gallery for the images that are classified correctly, and one for the others."""
    for right, word in ((True, "classified correctly"), (False, "classified wrongly")):
        shown = [(kept[path], about) for path, about in result.pictures if path in kept and about.right == right]
        if shown:
            numbers = shown[0][1].queries
            names = ", ".join(str(number + 1) for number in numbers)
            maps = f"the mean of {result.queries} queries, then queries {names}" if result.queries > 1 else "the query"
            title = f"{result.title}, {result.backbone}, {word}: image, {maps}"
            yield Gallery(title, [picture for picture, _ in shown], panels=2 + len(numbers))


SECTION = PageSection("tasks", 89, build)
