"""TOML files, as tables of plain values."""

import tomllib
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.files import read_text


def read_toml(path: Path) -> dict[str, Any]:
    """What a TOML file says; an error names its line."""
    try:
        return tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserError(f"{path}: not valid TOML ({error})") from None
