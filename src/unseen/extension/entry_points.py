"""Plug-ins of other installed packages, which are found by their entry points before anything of them is imported.

A package adds them with its own metadata, for instance in its `pyproject.toml`:

    [project.entry-points."unseen.probes"]
    nearest-corner = "unseen_corners.probe:NearestCorner"
"""

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from unseen.version import __version__

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

PREFIX = "unseen."
KINDS = ("probes", "metrics", "datasets", "backbones", "studies", "loggers")
"""The groups of entry points, without their prefix."""
PACKAGE = "unseen"
"""The package that is imported, whatever distribution provides it."""
COMMAND, ENTRY = "console_scripts", "unseen.cli.main:run"
"""By which the distribution of this package is found: its command."""


@dataclass(frozen=True)
class InstalledCode:
    """Identifies code of an installed package, as a file of the user's own is identified by its digest.

    Attributes:
        digest: SHA-256 of the package's name, its version, and the modules that the code is in (`digest_of_module`).
    """

    package: str
    version: str
    digest: str

    @property
    def origin(self) -> str:
        return f"{self.package} {self.version}"


@dataclass(frozen=True)
class PlugIn:
    """Something that an installed package adds.

    Attributes:
        kind: one of `KINDS`.
        value: module and attribute, as `unseen_corners.probe:NearestCorner`; a module alone for studies.
        package, version: those of the distribution.
    """

    kind: str
    name: str
    value: str
    package: str
    version: str

    @property
    def origin(self) -> str:
        """The package that it comes from, with its version."""
        return f"{self.package} {self.version}"

    def load(self) -> Any:
        """Import it."""
        from importlib.metadata import EntryPoint

        return EntryPoint(self.name, self.value, f"{PREFIX}{self.kind}").load()

    @cached_property
    def code(self) -> InstalledCode:
        """What identifies its code in the keys of jobs."""
        from unseen.extension.module_digest import digest_of_module

        module = self.value.partition(":")[0].strip()
        return InstalledCode(self.package, self.version, digest_of_module(module, self.origin))


@cache
def installed() -> tuple[PlugIn, ...]:
    """Every plug-in of the installed packages, in the order of their names; only metadata are read."""
    from importlib.metadata import entry_points

    every, found = entry_points(), list[PlugIn]()
    for kind in KINDS:
        for each in every.select(group=f"{PREFIX}{kind}"):
            package = _fact(each, "Name") or each.value.partition(".")[0]
            version = _fact(each, "Version") or "of unknown version"
            found.append(PlugIn(kind, each.name, each.value, package, version))
    return tuple(sorted(found, key=lambda each: (each.kind, each.name, each.package)))


def _fact(entry: "EntryPoint", name: str) -> str:
    """What the metadata of an entry point's package say; empty if they are damaged."""
    try:
        return str(entry.dist.metadata[name] or "") if entry.dist and name in entry.dist.metadata else ""
    except (OSError, KeyError):
        return ""


@cache
def distribution() -> str:
    """The name of the installed distribution that this package is of, as `pip install` takes it."""
    from importlib.metadata import entry_points

    names = [_fact(each, "Name") for each in entry_points(group=COMMAND) if each.value == ENTRY]
    return next(filter(None, names), PACKAGE)


def our_origin() -> str:
    """This package and its version, beside those of others."""
    return f"{distribution()} {__version__}"
