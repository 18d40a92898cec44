"""Where packages of JavaScript's registry are."""

import os
from collections.abc import Iterator
from pathlib import Path

NPM_VARIABLE = "UNSEEN_NPM"
"""Environment variable with the folder that JavaScript packages lie in."""


def npm_folders() -> Iterator[Path]:
    """The folder that UNSEEN_NPM names, then `node_modules` of the current folder and of those above it."""
    if given := os.environ.get(NPM_VARIABLE):
        yield Path(given)
    here = Path.cwd()
    yield from (folder / "node_modules" for folder in (here, *here.parents))
