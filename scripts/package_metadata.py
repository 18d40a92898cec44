"""What is computed of the metadata when a wheel or an sdist is built (a hook of Hatchling).

The long description is made from README.md: a package index shows it alone, where relative links and pictures lead
nowhere. The extras that contain other extras name the package that they are of, so that its name is in one place.
"""

import re
from collections.abc import Mapping, Sequence
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


def named_extras(extras: Mapping[str, Sequence[str]], name: str) -> dict[str, list[str]]:
    """Requirements by extra, where those that begin with a bracket, `[torch]`, are of the package itself."""
    return {
        extra: [f"{name}{each}" if each.startswith("[") else each for each in requirements]
        for extra, requirements in extras.items()
    }


class PackageMetadata(MetadataHookInterface):  # Hatchling is there during a build only
    def update(self, metadata: dict[str, object]) -> None:
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = long_description(readme, self.config.get("address", ""))
        metadata["optional-dependencies"] = named_extras(self.config["extras"], str(metadata["name"]))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
