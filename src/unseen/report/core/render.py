"""What pages share: templates, style sheets, scripts, and the policy by which a browser runs no others."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from unseen.version import __version__

TEMPLATES = Path(__file__).parent / "templates"


def render(
    template: str,
    *,
    sheets: Sequence[str],
    scripts: Sequence[str],
    filters: Mapping[str, Callable[..., str]],
    values: Mapping[str, Any],
) -> str:
    """A page that needs nothing else. Whatever is in `values` is escaped.

    The template gets, beside the values: `css`, `script`, `plotly`, `version` and `hashes`, by which its policy names
    the two scripts.
    """
    import jinja2
    from plotly.offline import get_plotlyjs

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= filters
    script = "(() => {\n" + "\n".join(_source(name) for name in scripts) + "})();\n"
    plotly: str = get_plotlyjs()
    # The scripts and the sheets are the package's own; the policy lets the browser run and load nothing else.
    own = {"css": "".join(_source(name) for name in sheets), "script": script, "plotly": plotly}
    return environment.get_template(template).render(
        **{name: Markup(text) for name, text in own.items()},  # noqa: S704
        hashes=[_hash(plotly), _hash(script)], version=__version__, **values,
    )  # fmt: skip


def _source(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
