"""A page as one self-contained HTML file, with a policy that lets browsers run only its own scripts."""

import base64
import hashlib
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from unseen.files import write_text
from unseen.report.core.alt_text import alt_text
from unseen.report.core.looks import dressed, page_looks
from unseen.report.core.model import Page, Picture
from unseen.report.core.panels import with_shared_ranges
from unseen.report.core.plain_texts import with_plain_texts
from unseen.report.core.single_points import without_single_points
from unseen.version import __version__

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).parent / "templates"
BEFORE, AFTER = ("look.js", "figures.js", "labels.js", "tables.js"), ("points.js", "view.js", "start.js")
SMALL_IMAGE = 64
HEAD = 2000
"""Bytes of a page before its title, and some more."""


def write_page(page: Page, path: Path) -> None:
    """Write the page; the same data give the same bytes. Names from the data are always escaped."""
    write_text(path, page_html(page))


def is_page(path: Path) -> bool:
    """Whether a file is a page that this package wrote, by the beginning of it."""
    with path.open("rb") as file:
        return b'<meta name="generator" content="unseen ' in file.read(HEAD)


def page_html(page: Page) -> str:
    """The page as HTML; all of its contents are escaped."""
    page = with_plain_texts(page)
    sections = [with_shared_ranges(without_single_points(section)) for section in page.sections]
    page = dressed(replace(page, sections=sections))
    script = "(() => {\n" + "\n".join(_source(name) for name in (*BEFORE, *page.scripts, *AFTER)) + "})();\n"
    scripts = [_plotly(), script] if any(section.figures for section in page.sections) else [script]
    # The scripts and the style sheet belong to the package; the policy blocks everything else.
    return _environment().get_template("page.html.j2").render(
        page=page, looks=page_looks(page), payload=_payload(page), css=Markup(_source("page.css")),  # noqa: S704
        scripts=[Markup(text) for text in scripts], hashes=[_hash(text) for text in scripts],  # noqa: S704
        version=__version__, picture=_picture, alt_text=alt_text,
        published_names={backbone.name for backbone in page.backbones if backbone.published},
    )  # fmt: skip


@cache
def _environment() -> "jinja2.Environment":
    """The environment with its compiled templates, as compiling takes longer than rendering."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip


def _payload(page: Page) -> dict[str, Any]:
    looks = page_looks(page)
    figures = {
        f"{section.name}-{number}": _bare(figure)
        for section in page.sections
        for number, figure in enumerate(section.figures)
    }
    backbones = [
        {"name": name, "colour": look.colour, "symbol": look.symbol, "dash": look.dash} for name, look in looks.items()
    ]
    return {"follow": page.follow, "backbones": backbones, "figures": figures, **page.data}


def _bare(item: Any) -> Any:
    """Data for the scripts without default values; figures with their own drawing need no series."""
    if isinstance(item, (list, tuple)):
        return [_bare(each) for each in item]
    if not hasattr(item, "__dataclass_fields__"):
        return item
    own = {"title", "drawing", "data"} if getattr(item, "drawing", "") else None
    return {
        field.name: _bare(value)
        for field in fields(item)
        if field.name not in {"variant", "solid", "caption"} and (own is None or field.name in own)
        if (value := getattr(item, field.name)) != field.default and value not in ((), {})
    }


def _picture(picture: Picture) -> dict[str, Any]:
    """The attributes of an <img>; bytes 16 to 24 of a PNG are its size."""
    uri = f"data:image/{picture.kind};base64," + base64.b64encode(picture.content).decode()
    if picture.kind != "png":
        return {"uri": uri, "small": False, "size": ()}
    size = [int.from_bytes(picture.content[place : place + 4]) for place in (16, 20)]
    return {"uri": uri, "small": max(size) <= SMALL_IMAGE, "size": size}


def _plotly() -> str:
    from plotly.offline import get_plotlyjs

    source: str = get_plotlyjs()
    return source


def _source(name: str) -> str:
    """A script or style sheet without indentation and comment lines, to keep pages small."""
    lines = (line.strip() for line in (TEMPLATES / name).read_text(encoding="utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith(("//", "/*"))) + "\n"


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
