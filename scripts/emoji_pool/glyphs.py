"""Emoji from the packages `@iconify-json/…` of JavaScript's registry, rendered to small pictures."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npm_folders import npm_folders
from unseen.errors import UserError
from unseen.files import atomic_write

SIDE = 32
SETS: Mapping[str, tuple[str, ...]] = {
    "fluent": ("fluent-emoji", "fluent-emoji-flat", "fluent-emoji-high-contrast"),
    "emojione": ("emojione", "emojione-v1", "emojione-monotone"),
    "noto": ("noto", "noto-v1"),
    "twemoji": ("twemoji",),
    "openmoji": ("openmoji",),
}
"""Family → its sets. Sets of a family come from one hand, so a family trains or tests as a whole."""

Pictures = NDArray[np.uint8]


def read_icons(name: str) -> dict[str, Any]:
    """The file of a set's drawings, from the folders where packages of JavaScript lie."""
    for folder in npm_folders():
        path = folder / "@iconify-json" / name / "icons.json"
        if path.is_file():
            try:
                found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            except ValueError as error:
                raise UserError(f"{path}: not JSON ({error}); install the package again") from None
            if not isinstance(found.get("icons"), dict):
                raise UserError(f"{path}: no icons in it; install the package again")
            return found
    raise UserError(f"no package @iconify-json/{name} here; run npm install @iconify-json/{name}")


def svg(icons: Mapping[str, Any], name: str) -> str:
    """A drawing as an SVG document: its body, centred in the smallest square around its view box."""
    icon = icons["icons"][name]
    left, top, width, height = (
        icon.get(key, icons.get(key, default))
        for key, default in (("left", 0), ("top", 0), ("width", 16), ("height", 16))
    )
    longer = max(width, height)
    box = f"{left - (longer - width) / 2:g} {top - (longer - height) / 2:g} {longer:g} {longer:g}"
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{box}" color="black">{icon["body"]}</svg>'
    )


def render(document: str, side: int = SIDE) -> Pictures:
    """(side, side, 3) pixels of a drawing on white."""
    from PIL import Image

    try:
        import resvg_py
    except ImportError:
        raise UserError("drawings are rendered by resvg_py; run pip install resvg_py") from None
    data = resvg_py.svg_to_bytes(svg_string=document, width=side, height=side, background="white")
    with Image.open(io.BytesIO(bytes(data))) as picture:
        return np.asarray(picture.convert("RGB"))


def render_sets(names: Sequence[str]) -> dict[str, Pictures]:
    """Set → (n, side, side, 3) pictures of some names, in their order."""
    pictures = {}
    for name in all_sets():
        icons = read_icons(name)
        missing = [concept for concept in names if concept not in icons["icons"]]
        if missing:
            raise UserError(f"@iconify-json/{name} has no drawing {missing[0]}; install the version that docs name")
        pictures[name] = np.stack([render(svg(icons, concept)) for concept in names])
    return pictures


def all_sets() -> Iterable[str]:
    """Every set, family by family."""
    return (name for family in SETS.values() for name in family)


def stored_pictures(path: Path, names: Sequence[str]) -> dict[str, Pictures]:
    """The pictures of some names, rendered once and then read from an `.npz` file."""
    if not path.exists():
        pictures = render_sets(names)
        with atomic_write(path) as file:
            np.savez_compressed(file, names=np.array(names), **pictures)  # type: ignore[arg-type]
    try:
        with np.load(path, allow_pickle=False) as stored:
            if stored["names"].tolist() == list(names):
                return {name: stored[name] for name in all_sets()}
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: not a file of pictures ({type(error).__name__}); delete it") from None
    raise UserError(f"{path}: has pictures of other concepts; delete it")
