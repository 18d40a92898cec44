"""Packages as an installation leaves them: modules in a folder on `sys.path`, with their metadata beside them."""

import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from importlib import invalidate_caches
from pathlib import Path

import pytest

from unseen.extension import registry
from unseen.extension.entry_points import installed

EXAMPLE = Path(__file__).parents[2] / "docs/example-plugin"
EXAMPLE_PACKAGE, EXAMPLE_MODULE = "unseen-corners", "unseen_corners"
Groups = Mapping[str, Mapping[str, str]]


class Site:
    """A folder on `sys.path` whose packages are installed, upgraded and removed while Python runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, package: str, groups: Groups, version: str = "1.0", **modules: str) -> None:
        """Install a package with single modules; one that is there is upgraded."""
        for module, text in modules.items():
            (self.folder / f"{module}.py").write_text(text)
            sys.modules.pop(module, None)
        self._describe(package, groups, version)

    def add_example(self, version: str = "1.0") -> None:
        """Install the package of docs/example-plugin, whose modules stay where they are."""
        sys.path[:] = [*dict.fromkeys([*sys.path, str(EXAMPLE / "src")])]
        project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
        self._describe(project["name"], project["entry-points"], version)

    def remove(self, package: str) -> None:
        for path in self.folder.glob(f"{package.replace('-', '_')}-*.dist-info"):
            shutil.rmtree(path)
        invalidate_caches()
        installed.cache_clear()

    def _describe(self, package: str, groups: Groups, version: str) -> None:
        self.remove(package)
        info = self.folder / f"{package.replace('-', '_')}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
        lines = [line for group, names in groups.items() for line in (f"[{group}]", *map(" = ".join, names.items()))]
        (info / "entry_points.txt").write_text("\n".join(lines))
        invalidate_caches()
        installed.cache_clear()


def site_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A site that is there for a test, after which nothing of it is left in this process."""
    before = {*sys.modules}
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(registry, "_TOLD", set())
    installed.cache_clear()
    yield Site(folder)
    installed.cache_clear()
    for name in {*sys.modules} - before:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if file.startswith((str(folder), str(EXAMPLE))):
            del sys.modules[name]
