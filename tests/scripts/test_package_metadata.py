"""What is computed of the metadata: a long description without dead links, and extras that name the package."""

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from unseen.version import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the hook, with a stand-in for Hatchling, which is installed during builds only."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.delitem(sys.modules, "package_metadata", raising=False)
    import package_metadata

    return package_metadata


def test_relative_links_become_text(hook: ModuleType) -> None:
    page = "[a](docs/a.md#b) [b](https://c.org) [c](#d)\n\n![p](docs/images/p.png)\n\nend\n"
    assert hook.long_description(page) == "a [b](https://c.org) [c](#d)\n\nend\n"
    there = hook.long_description(page, "https://host/files/")
    assert "[a](https://host/files/docs/a.md#b)" in there
    assert "![p](https://host/files/docs/images/p.png)" in there


def test_readme_has_no_dead_link_on_an_index(hook: ModuleType) -> None:
    made = hook.PackageMetadata()
    made.root, made.config = str(ROOT), {"extras": {}}
    metadata: dict[str, Any] = {"name": "unseen"}
    made.update(metadata)
    text = metadata["readme"]["text"]
    assert re.search(r"\]\((?!https?:|#)", text) is None
    assert "<img" not in text
    assert len(re.findall(r"^## ", text, re.MULTILINE)) > 5


def test_extras_of_extras_name_the_package(hook: ModuleType) -> None:
    extras = {"torch": ["torch>=2"], "timm": ["[torch]", "timm"], "all": ["[torch,timm]"]}
    expected = {"torch": ["torch>=2"], "timm": ["other[torch]", "timm"], "all": ["other[torch,timm]"]}
    assert hook.named_extras(extras, "other") == expected


def test_the_name_is_in_one_line() -> None:
    """Of what is installed: `unseen[extra]` is nowhere, since the package may be called otherwise."""
    files = [ROOT / "pyproject.toml", ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.py")]
    named = [path.name for path in files if re.search(r"\bunseen\[\w", path.read_text(encoding="utf-8"))]
    assert named == []
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    assert lines.count('name = "unseen"') == 1


def test_citations_have_the_version() -> None:
    assert f"version = {{{__version__}}}," in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
