"""A user's own Python files: identifying them, executing them, and reporting their errors by file and line.

A file is identified by its contents and those of the modules it imports from its own folder, which are found in its
source without executing it. Modules imported by other means (`importlib`, a modified path) are not included.
"""

import ast
import hashlib
import importlib
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from unseen.errors import UserError, call, did_you_mean, on_command_line, option
from unseen.extension.entry_points import InstalledCode
from unseen.files import read_bytes

SUFFIX = ".py"
SHORT = 12
"""Number of hexadecimal digits of a digest that are shown."""
_BESIDE: dict[str, dict[str, ModuleType]] = {}
"""Digest of a file → the modules of its folder that it has imported, by name."""


@dataclass(frozen=True)
class OwnFile:
    """A Python file.

    Attributes:
        digest: SHA-256 of its contents, and of the modules it imports from its folder.
        modules: files of those modules, below the folder.
    """

    path: Path
    digest: str
    modules: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """The sentence shown before it is executed."""
        beside = f", with {', '.join(self.modules)} beside it" if self.modules else ""
        return f"Running your own code: {self.path} (sha256 {self.digest[:SHORT]}){beside}"


def is_own_file(name: str) -> bool:
    """Whether a name is that of a Python file, possibly followed by `:something`."""
    return own_place(name)[0].endswith(SUFFIX)


def own_place(name: str) -> tuple[str, str]:
    """The path in `path/to/file.py` or `path/to/file.py:something`, and the part after the colon, or an empty text."""
    path, colon, attribute = name.rpartition(":")
    return (path, attribute) if colon and path.endswith(SUFFIX) else (name, "")


def runs_code(backbone: str) -> bool:
    """Whether loading a backbone executes code that its id names: a Python file, or a torch.hub folder."""
    return is_own_file(backbone) or backbone.startswith("hub:")


def allowing_code() -> str:
    """How the user allows code that a file names: an option of commands, an argument of `unseen.study` in Python."""
    return option("allow-code", True) if on_command_line() else call("study", "allow-code", True)


def told_before(name: str, tell: Callable[[str], None]) -> None:
    """Announce that a file will be executed, if a name is that of a Python file."""
    if is_own_file(name):
        tell(own_file(Path(own_place(name)[0])).sentence)


def own_file(path: Path) -> OwnFile:
    """A file with its digest; it is not executed."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    folder, contents = path.parent.resolve(), {path.resolve(): read_bytes(path)}
    waiting = [path.resolve()]
    while waiting:
        place = waiting.pop()
        for beside in _imported(place, contents[place], folder):
            if beside not in contents:
                contents[beside] = read_bytes(beside)
                waiting.append(beside)
    [own, *others] = contents
    modules = sorted((each.relative_to(folder).as_posix(), each) for each in others)
    digest = hashlib.sha256(contents[own])
    for name, module in modules:
        digest.update(f"\0{name}\0{hashlib.sha256(contents[module]).hexdigest()}".encode())
    return OwnFile(path, digest.hexdigest(), tuple(name for name, _ in modules))


def _imported(path: Path, content: bytes, folder: Path) -> Iterator[Path]:
    """Files in a folder that a source imports, anywhere in it; empty if it is not valid Python, which execution
    reports.
    """
    try:
        nodes = list(ast.walk(ast.parse(content)))
    except (SyntaxError, ValueError):
        return
    except (RecursionError, MemoryError):  # Python's parser raises one or the other, by the kind of nesting
        raise UserError(
            f"{path}: an expression is nested too deeply for Python to read; divide it into several statements"
        ) from None
    names = list[str]()
    for node in nodes:
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    for name in names:
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            place = folder.joinpath(*parts[:length])
            yield from (each for each in (place.with_suffix(SUFFIX), place / "__init__.py") if each.is_file())


@lru_cache(maxsize=64)
def loaded(file: OwnFile) -> ModuleType:
    """The module of a file; it is executed once for each content, from its source (see `_FromText`)."""
    module = ModuleType(f"unseen_own_{file.path.stem}_{file.digest[:SHORT]}")
    module.__file__ = str(file.path)
    with running(file):
        if own_file(file.path).digest != file.digest:
            raise UserError(f"{file.path}: changed since it was read; run the command again")
        sys.modules[module.__name__] = module  # dataclasses look up the names in annotations there
        exec(compile(file.path.read_bytes(), str(file.path), "exec"), module.__dict__)  # noqa: S102 (the user's file)
    return module


def attribute_of(file: OwnFile, names: Iterable[str], what: str) -> Any:
    """The first of these names that a file defines.

    Args:
        what: what it is, for the error about a file that has none of them.
    """
    module, wanted = loaded(file), tuple(names)
    found = next((name for name in wanted if hasattr(module, name)), None)
    if found is None:
        known = [name for name in vars(module) if not name.startswith("_")]
        hint = did_you_mean(wanted[0], known) or (f"; end it with {wanted[0]} = …" if wanted[0].isupper() else "")
        raise UserError(f"{file.path}: has no {what} {' or '.join(wanted)}{hint}")
    return getattr(module, found)


@contextmanager
def running(file: OwnFile | InstalledCode) -> Iterator[None]:
    """The file's folder can be imported from, and errors name the file and the line.

    Modules of the folder are only visible to this file: another folder may have others with the same names. Errors of
    an installed package name the package.
    """
    if isinstance(file, InstalledCode):
        with _naming(file):
            yield
        return
    folder = str(file.path.parent.resolve())
    names = [name.removesuffix("/__init__.py").removesuffix(SUFFIX).replace("/", ".") for name in file.modules]
    others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    beside = _BESIDE.setdefault(file.digest, {})
    sys.modules.update(beside)
    finder = _FromText(folder, dict(zip(names, file.modules, strict=True)))
    sys.meta_path.insert(0, finder)
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    except (UserError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:
        raise UserError(_told(error, file)) from error
    finally:
        sys.path.remove(folder)
        sys.meta_path.remove(finder)
        beside.update({name: sys.modules.pop(name) for name in names if name in sys.modules})
        sys.modules.update(others)


@contextmanager
def _naming(code: InstalledCode) -> Iterator[None]:
    """Errors name the package, and the line of the innermost call."""
    try:
        yield
    except (UserError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        said = " ".join(str(error).split())
        raise UserError(
            f"{code.origin}: {type(error).__name__}: {said} ({last.filename}, line {last.lineno})"
        ) from error


class _FromText(MetaPathFinder):
    """Finds modules of a folder and compiles their source.

    Python's own finder would reuse compiled code of a file that changed within a second.

    Args:
        files: files of modules by name, below the folder.
    """

    def __init__(self, folder: str, files: Mapping[str, str]) -> None:
        self._files = {name: Path(folder, file) for name, file in files.items()}

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        file = self._files.get(fullname)
        if file is None:
            return None
        below = [str(file.parent)] if file.name == "__init__.py" else None
        loader = _TextLoader(fullname, str(file))
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=below)


class _TextLoader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def _told(error: BaseException, file: OwnFile) -> str:
    """The error message, with the last line of the user's code that was running."""
    folder = file.path.parent.resolve()
    own = {file.path.resolve(), *(folder / name for name in file.modules)}
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).resolve() in own:
        where: tuple[str, int | None] = (error.filename, error.lineno)
    else:
        frames = reversed(traceback.extract_tb(error.__traceback__))
        where = next(((f.filename, f.lineno) for f in frames if Path(f.filename).resolve() in own), (str(file.path), 0))
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    line = f", line {where[1]}" if where[1] else ""
    return f"{where[0]}{line}: {type(error).__name__}: {' '.join(said.split())}"
