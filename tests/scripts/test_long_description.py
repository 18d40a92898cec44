"""What a package index shows of the README: nothing that leads nowhere."""

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from unseen.version import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the hook, with a stand-in for Hatchling, which is installed during builds only."""
    interface = ModuleType("hatchling.metadata.plugin.interface")
    interface.MetadataHookInterface = object  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, interface.__name__, interface)
    monkeypatch.delitem(sys.modules, "long_description", raising=False)
    import long_description

    return long_description


def test_relative_links_become_text(hook: ModuleType) -> None:
    page = "[a](docs/a.md#b) [b](https://c.org) [c](#d)\n\n![p](docs/images/p.png)\n\nend\n"
    assert hook.long_description(page) == "a [b](https://c.org) [c](#d)\n\nend\n"
    there = hook.long_description(page, "https://host/files/")
    assert "[a](https://host/files/docs/a.md#b)" in there
    assert "![p](https://host/files/docs/images/p.png)" in there


def test_readme_has_no_dead_link_on_an_index(hook: ModuleType) -> None:
    made = hook.LongDescription()
    made.root, made.config = str(ROOT), {}
    metadata: dict[str, dict[str, str]] = {}
    made.update(metadata)
    text = metadata["readme"]["text"]
    assert re.search(r"\]\((?!https?:|#)", text) is None
    assert "<img" not in text
    assert len(re.findall(r"^## ", text, re.MULTILINE)) > 5


def test_citations_have_the_version() -> None:
    assert f"version = {{{__version__}}}," in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"version: {__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
