"""A page of the images that a classifier of another domain is confident about, with thumbnails, or a table of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from unseen.analyses.label_noise.inspection import Inspection
from unseen.data.core.source import ImageSource
from unseen.report.core.model import Gallery, Page, Picture, Section
from unseen.report.core.render import write_page
from unseen.report.core.thumbnails import jpeg, thumbnails
from unseen.runs.tables import write_table

SHOWN = 500
TITLE = "Images that a classifier of another domain is confident about"


def write_inspection(
    inspection: Inspection,
    path: Path,
    *,
    sources: Mapping[str, ImageSource] | None = None,
    names: Mapping[str, str] | None = None,
    notices: Sequence[str] = (),
) -> None:
    """Write a page with thumbnails (.html, the first few hundred), or a table of all.

    Args:
        sources: where the images of each domain are; without them the page has words alone.
        names: what concepts are called, by their WordNet ids.
        notices: what a reader must be told, for instance which images are not among those looked at.
    """
    if path.suffix != ".html":
        write_table(inspection.table, path)
        return
    called = names or {}
    thumbnails = _thumbnails(inspection, sources or {})
    pictures = [
        Picture(
            thumbnails.get((row.domain, row.image), b""),
            [
                f"{called.get(row.concept, row.concept)} ({row.domain})",
                f"→ {called.get(row.predicted, row.predicted)} ({row.classifier})",
                f"{row.confidence:.4f}",
                row.image,
            ],
            "jpeg",
        )
        for row in inspection.table.head(SHOWN).itertuples()
    ]
    found = [
        f"{classifier} classifier on {domain}: {inspection.share(classifier, domain):.1%} of {images:,} images."
        for (classifier, domain), images in inspection.applied.items()
    ]
    more = len(inspection.table) - len(pictures)
    section = Section(
        "images",
        "Images",
        galleries=[Gallery("", pictures)],
        note=f"{more:,} more are in the table." if more > 0 else "",
    )
    write_page(Page(TITLE, [section], notices=notices, findings=found), path)


def _thumbnails(inspection: Inspection, sources: Mapping[str, ImageSource]) -> dict[tuple[str, str], bytes]:
    """(domain, image) → JPEG, of the images shown."""
    shown = inspection.table.head(SHOWN)
    return {
        (domain, image): jpeg(pixels)
        for domain, source in sources.items()
        for image, pixels in thumbnails(source, set(shown.loc[shown["domain"] == domain, "image"]), domain).items()
    }
