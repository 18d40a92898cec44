"""The long description of the package, made from README.md when a wheel or an sdist is built (a hook of Hatchling).

A package index shows the README alone, where relative links and pictures lead nowhere.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?:|#)([^)]*)\)")


def long_description(readme: str, address: str = "") -> str:
    """The README with relative links below an address; without one, links become text and pictures are left out."""

    def replaced(match: re.Match[str]) -> str:
        picture, label, target = match.groups()
        if address:
            return f"{picture}[{label}]({address.rstrip('/')}/{target})"
        return "" if picture else label

    return re.sub(r"\n{3,}", "\n\n", RELATIVE.sub(replaced, readme))


class LongDescription(MetadataHookInterface):  # type: ignore[misc]  # Hatchling is there during a build only
    def update(self, metadata: dict[str, object]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = long_description(readme, self.config.get("address", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
