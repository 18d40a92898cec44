"""A page of the images that a classifier of another domain is confident about, with thumbnails, or a table of them."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.images.decode import decode
from unseen.images.source import ImageSource
from unseen.images.transform import Transform
from unseen.runs.tables import write_table
from unseen.studies.concepts.label_noise import Inspection

THUMBNAIL = Transform(size=96, resize=96)
SHOWN = 500
STYLE = """body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}
ul{list-style:none;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:1rem}
li{display:flex;gap:.75rem;align-items:flex-start}img,.none{width:96px;height:96px;flex:none;background:#eee}
small{color:#666;overflow-wrap:anywhere}"""


def write_inspection(
    inspection: Inspection,
    path: Path,
    *,
    sources: Mapping[str, ImageSource] | None = None,
    names: Mapping[str, str] | None = None,
    notices: Sequence[str] = (),
) -> None:
    """Write a page with thumbnails (.html, the first few hundred), or a table of all (.csv, .parquet, .md, .tex).

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
    items = [
        f"<li>{_picture(thumbnails.get((row.domain, row.image)))}<div>{escape(called.get(row.concept, row.concept))} "
        f"<small>({escape(row.domain)})</small><br>→ {escape(called.get(row.predicted, row.predicted))} "
        f"<small>({escape(row.classifier)})</small><br>{row.confidence:.4f}<br><small>{escape(row.image)}</small></div>"
        for row in inspection.table.head(SHOWN).itertuples()
    ]
    title = "Images that a classifier of another domain is confident about"
    lines = "".join(
        f"<p>{escape(classifier)} classifier on {escape(domain)}: {inspection.share(classifier, domain):.1%} of "
        f"{images:,} images.</p>"
        for (classifier, domain), images in inspection.applied.items()
    )
    lines += "".join(f"<p>{escape(sentence)}</p>" for sentence in notices)
    more = len(inspection.table) - len(items)
    rest = f"<p>{more:,} more are in the table.</p>" if more > 0 else ""
    page = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
        f"<h1>{title}</h1>{lines}<ul>{''.join(items)}</ul>{rest}</html>\n"
    )
    with atomic_write(path) as file:
        file.write(page.encode())


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


def _picture(jpeg: bytes | None) -> str:
    if jpeg is None:
        return '<div class="none"></div>'
    return f'<img alt="" src="data:image/jpeg;base64,{b64encode(jpeg).decode()}">'
