"""The digest of a module of an installed package: of its source, and of what it imports from its own package.

Imports are found in the source, without executing it, relative ones too. Modules that are imported by other means, and
files of other kinds, are not read; a release of the package that changes them has another version.
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

SUFFIX = ".py"


@cache
def digest_of_module(module: str, label: str) -> str:
    """SHA-256, in hexadecimal.

    Args:
        label: the package and its version, which are part of it.
    """
    top = module.partition(".")[0]
    sources, waiting = dict[str, bytes](), [module]
    folders = _folders(top)
    while waiting:
        name = waiting.pop()
        path = _file(name, top, folders)
        if name in sources or path is None:
            continue
        sources[name] = path.read_bytes()
        waiting += [name.rpartition(".")[0]] if "." in name else []  # a package runs before its modules
        waiting += [each for each in _imports(sources[name], name, path) if each.partition(".")[0] == top]
    digest = hashlib.sha256(label.encode())
    for name, source in sorted(sources.items()):
        digest.update(f"\0{name}\0{hashlib.sha256(source).hexdigest()}".encode())
    return digest.hexdigest()


def _folders(top: str) -> list[Path]:
    """The folders of a package; of a single module, the folder that it is in."""
    spec = find_spec(top)
    if spec is None:
        return []
    if spec.submodule_search_locations is not None:
        return [Path(each) for each in spec.submodule_search_locations]
    return [Path(spec.origin).parent] if spec.origin else []


def _file(name: str, top: str, folders: list[Path]) -> Path | None:
    """The file of a module, if it is of Python source."""
    below = name.split(".")[1:]
    for folder in folders:
        place = folder.joinpath(*below)
        single = folder / f"{top}{SUFFIX}" if not below else place.with_name(f"{place.name}{SUFFIX}")
        found = next((each for each in (place / f"__init__{SUFFIX}", single) if each.is_file()), None)
        if found is not None:
            return found
    return None


def _imports(source: bytes, name: str, path: Path) -> Iterator[str]:
    """The modules that a source may import, by their full names; a name from a package may be one of its modules."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):  # which the import reports
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.rsplit(".", node.level - 1)[0] if node.level else ""
            base = ".".join(filter(None, (above, node.module)))
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
