"""The pieces of Debian's `sweethome3d-furniture`: fetching them, what kind each is, and which of them test.

The package's own categories say where a piece is used: chairs are under "Living room", "Office" and "Kitchen". What a
piece is, is in its name, so kinds are made of words in the names. Pieces that belong outdoors, and small things that
would be a few pixels, have no kind and are not used.
"""

import re
import shutil
import subprocess
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from unseen.errors import UserError

PACKAGE = "sweethome3d-furniture"
LIST = "PluginFurnitureCatalog.properties"
INDOORS = {"Living room", "Bedroom", "Office", "Kitchen", "Bathroom", "Lights", "Characters"}
KINDS = (
    ("lamp", r"\b(lamp|light|lights|lantern|fluorescent strip)\b"),
    ("person", r"^((holding )?(fe)?male|boy|girl)$"),
    ("plant", r"\b(plant|tulips|cactus|orchids|bamboo|spathiphyllum|yucca|lily|flowers|ficus|bonsai|christmas tree)\b"),
    ("bathroom fixture", r"\b(washbasin|toilets unit|vanity|urinal|bidet|bath|bathtub|shower stall|lavatory)\b"),
    ("appliance", r"\b(refrigerator|fridge|double oven|stove|washing machine|dryer machine|freezer)\b"),
    ("shelves", r"\b(bookcase|shelves)\b"),
    ("cabinet", r"\b(cabinet|wardrobe|cupboard|dresser|chest|bedside table|tv stand|changing table|island)\b"),
    ("armchair", r"\barmchair$"),
    ("sofa", r"\b(sofa|couch)\b"),
    ("bed", r"\b(bed|crib|futon)\b"),
    ("chair", r"\b(chair|stool|seat)\b"),
    ("table", r"\b(table|desk)\b"),
)
"""Kind → words of names; the first that fits."""
NOT_USED = r"\b(street|park|outdoor|porch|camping|flashlight|hospital|upper corner|propane|baby high chair|tv 16:9)\b"
LEAST_HEIGHT = 0.15
MOST_POLYGONS = 60_000
"""Larger models, mostly of flowers, take long to read and look no better at this size."""
TEST_SHARE = 4
"""One piece in so many of each kind is in test rooms."""
Rotation = tuple[float, ...]
UPRIGHT: Rotation = (1, 0, 0, 0, 1, 0, 0, 0, 1)


@dataclass(frozen=True)
class Piece:
    """A model of the catalogue; lengths in metres.

    Attributes:
        elevation: of its lower side above the floor, for pieces that hang.
        top: height at which other things stand on it; 0 where nothing does.
        rotation: nine numbers, row by row, which turn the file's model upright with its front towards +z.
        model: the file in `archive`.
        digest: of the model's file.
    """

    id: str
    name: str
    kind: str
    width: float
    depth: float
    height: float
    elevation: float
    top: float
    rotation: Rotation
    archive: Path
    model: str
    digest: str
    creator: str
    licence: str


def fetch(folder: Path) -> None:
    """Download the Debian package into `folder` and unpack it there, unless its archives are there already."""
    if any(folder.rglob("*.sh3f")):
        return
    for tool in ("apt-get", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise UserError(f"{tool} is not installed: unpack Debian's package {PACKAGE} into {folder} by other means")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(["apt-get", "download", "-q", PACKAGE], cwd=folder, check=True)
        package = max(folder.glob(f"{PACKAGE}_*.deb"))
        subprocess.run(["dpkg-deb", "-x", package.name, "."], cwd=folder, check=True)
    except (subprocess.CalledProcessError, ValueError) as error:
        raise UserError(f"{PACKAGE} could not be fetched into {folder} ({error})") from None


def read_catalogue(folder: Path) -> list[Piece]:
    """The pieces that have a kind, of all archives below `folder`, by their ids."""
    found: dict[str, Piece] = {}
    for archive in sorted(folder.rglob("*.sh3f")):
        try:
            with zipfile.ZipFile(archive) as opened:
                found |= {piece.id: piece for piece in _pieces(archive, opened)}
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise UserError(f"{archive}: not a library of furniture ({error})") from None
    if not found:
        raise UserError(f"{folder}: no archives of furniture (*.sh3f) below it")
    return [found[name] for name in sorted(found)]


def _pieces(archive: Path, opened: zipfile.ZipFile) -> list[Piece]:
    # Java's properties: Latin-1, `key#number=value`.
    text = opened.read(LIST).decode("latin-1")
    entries: dict[int, dict[str, str]] = defaultdict(dict)
    for key, number, value in re.findall(r"^(\w+)#(\d+)=(.*)$", text, re.MULTILINE):
        entries[int(number)][key] = value.strip()
    licence = re.search(r"^license=(.*)$", text, re.MULTILINE)
    words = " ".join(licence.group(1).split("Copyright")[0].split("\xa9")[0].split()) if licence else "unknown"
    pieces = []
    for entry in entries.values():
        kind = kind_of(entry["name"], entry["category"])
        height = float(entry["height"]) / 100
        if kind is None or height < LEAST_HEIGHT or entry.get("doorOrWindow") == "true":
            continue
        model = entry["model"].lstrip("/")
        content = opened.read(model)
        if content.count(b"\nf ") > MOST_POLYGONS:
            continue
        top = float(entry.get("dropOnTopElevation", 0)) / 100
        pieces.append(
            Piece(
                id=entry["id"],
                name=entry["name"],
                kind=kind,
                width=float(entry["width"]) / 100,
                depth=float(entry["depth"]) / 100,
                height=height,
                elevation=float(entry.get("elevation", 0)) / 100,
                top=max(top, 0.0),
                rotation=tuple(map(float, entry["modelRotation"].split())) if "modelRotation" in entry else UPRIGHT,
                archive=archive,
                model=model,
                digest=sha256(content).hexdigest(),
                creator=entry.get("creator", "unknown"),
                licence=words,
            )
        )
    return pieces


def kind_of(name: str, category: str) -> str | None:
    """The kind of a piece; None for pieces that are not used."""
    lower = name.lower()
    if category not in INDOORS or re.search(NOT_USED, lower):
        return None
    kind = next((kind for kind, words in KINDS if re.search(words, lower)), None)
    # Lamps are listed as lights and people as characters; elsewhere such words are parts of other names.
    expected = {"lamp": "Lights", "person": "Characters"}
    listed = {category: kind for kind, category in expected.items()}
    return kind if expected.get(kind or "", category) == category and listed.get(category, kind) == kind else None


def split_pieces(pieces: Sequence[Piece]) -> dict[str, list[Piece]]:
    """Pieces for training rooms and for test rooms, of every kind; equal models are on one side.

    The order of the models' digests decides, so that the split does not depend on the machine or on other kinds.
    """
    parts: dict[str, list[Piece]] = {"train": [], "test": []}
    for kind, _ in KINDS:
        digests = sorted({piece.digest for piece in pieces if piece.kind == kind})
        tests = set(digests[::TEST_SHARE]) if len(digests) > 1 else set()
        for piece in pieces:
            if piece.kind == kind:
                parts["test" if piece.digest in tests else "train"].append(piece)
    return parts
