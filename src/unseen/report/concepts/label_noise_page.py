"""A page of the images that a classifier of another domain is confident about, with thumbnails, or a table of them."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

from unseen.analyses.label_noise.inspection import Inspection
from unseen.data.core.decoding.decode import decode
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.source import ImageSource
from unseen.errors import UserError
from unseen.report.core.model import Gallery, Page, Picture, Section
from unseen.report.core.render import write_page
from unseen.runs.tables import write_table

THUMBNAIL = Transform(size=96, resize=96)
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
    """(domain, image) → JPEG, of the images shown; one that a source lacks is an error, a damaged one is left out."""
    found = {}
    shown = inspection.table.head(SHOWN)
    for domain, source in sources.items():
        wanted = set(shown.loc[shown["domain"] == domain, "image"])
        for number, entry in enumerate(source.entries) if wanted else ():
            if entry.id in wanted:
                wanted.discard(entry.id)
                found[domain, entry.id] = _thumbnail(source, number)
        if wanted:
            raise UserError(f"{min(wanted)}: not among the images of {domain} ({len(wanted):,} are not)")
    return {key: picture for key, picture in found.items() if picture is not None}


def _thumbnail(source: ImageSource, number: int) -> bytes | None:
    from PIL import Image

    try:
        pixels = decode(source.read(number), THUMBNAIL, fast=True)
    except UserError:
        return None
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
