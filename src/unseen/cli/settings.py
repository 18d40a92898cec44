"""The option `--set` of commands whose settings are the fields of a dataclass."""

from typing import Any

import typer

from unseen.reading.keys import keys_of


def setting_option(keys: type) -> Any:
    """An option for further settings, whose help lists them; `unseen.reading.keys.with_texts` reads its values."""
    listed = "; ".join(f"{each.name} ({each.help})" for each in keys_of(keys).values())
    return typer.Option("--set", metavar="KEY=VALUE", help=f"Another value for a setting: {listed}.")
