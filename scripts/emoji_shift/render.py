"""Render the pictures of the pool into one file of arrays.

    python -m emoji_shift.render PICTURES.npz

Run it with `scripts` and `src` on the path; it needs resvg_py and the packages `@iconify-json/…` and emojibase-data.
"""

import argparse
from pathlib import Path

from emoji_shift.pictures import stored_arrays
from unseen.errors import UserError


def main() -> None:
    """Render and store them, and print how many there are."""
    parser = argparse.ArgumentParser(description="Render the pictures of the pool of emoji and drawings.")
    parser.add_argument("out", type=Path, help="file for the arrays (.npz)")
    args = parser.parse_args()
    try:
        arrays = stored_arrays(args.out)
    except UserError as error:
        parser.exit(2, f"{parser.prog}: {error}\n")
    for name, array in arrays.items():
        if array.ndim >= 3 and "texts" not in name:
            print(f"{name}: {len(array)}")


if __name__ == "__main__":
    main()
