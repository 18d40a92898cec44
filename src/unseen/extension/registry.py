"""Names of one kind with what they stand for: ours, and those that other installed packages add.

The names of plug-ins are known from metadata. A plug-in is imported when its name is looked up, or when everything is
listed. One that cannot be used is named once and left out of lists; if it is looked up, the error says why.
"""

import re
import sys
import warnings
from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, MutableMapping, ValuesView
from multiprocessing import parent_process
from typing import Any, Generic, TypeVar, overload

from unseen.errors import UserError, on_command_line
from unseen.extension.entry_points import PlugIn, installed, our_origin
from unseen.text.words import printable

T = TypeVar("T")
D = TypeVar("D")
NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_TOLD = set[str]()


class PlugInWarning(UserWarning):
    """A plug-in of another package is left out."""


class Registry(MutableMapping[str, T], Generic[T]):
    """Names of one kind, ours first.

    Args:
        kind: the group of entry points, one of `unseen.extension.entry_points.KINDS`.
        what: one of them in words, for errors.
        ours: those of this package, in their order.
        checked: what a plug-in loads as it is used here; it refuses something else with a `UserError`.
    """

    def __init__(self, kind: str, what: str, ours: Mapping[str, T], checked: Callable[[PlugIn, Any], T]) -> None:
        self._kind, self._what, self._ours, self._checked = kind, what, dict(ours), checked
        self._installed: tuple[PlugIn, ...] = ()
        self._added: dict[str, list[PlugIn]] = {}
        self._loaded: dict[str, T | UserError] = {}
        self._every: dict[str, T] | None = None

    def names(self) -> list[str]:
        """All names, ours first; nothing is imported for them."""
        alone = [name for name, plug_ins in self._plug_ins().items() if len(plug_ins) == 1]
        return [*self._ours, *(name for name in alone if name not in self._ours)]

    def plug_in(self, name: str) -> PlugIn | None:
        """The plug-in of that name; None for ours."""
        return None if name in self._ours else next(iter(self._plug_ins().get(name, ())), None)

    def origin(self, name: str) -> str:
        """The package that a name comes from, with its version."""
        plug_in = self.plug_in(name)
        return plug_in.origin if plug_in else our_origin()

    @property
    def extended(self) -> bool:
        """Whether another package adds to it."""
        return bool(self._plug_ins())

    def __getitem__(self, name: str) -> T:
        plug_ins = self._plug_ins().get(name, [])
        if name in self._ours:
            for each in plug_ins:
                _tell(self._ours_first(each))
            return self._ours[name]
        if not plug_ins:
            raise KeyError(name)
        if name not in self._loaded:
            self._loaded[name] = self._load(plug_ins)
        found = self._loaded[name]
        if isinstance(found, UserError):
            raise UserError(str(found))
        return found

    def _load(self, plug_ins: list[PlugIn]) -> T | UserError:
        """What a name stands for, or why it cannot be used."""
        first = plug_ins[0]
        if len(plug_ins) > 1:
            packages = " and ".join(each.origin for each in plug_ins)
            return UserError(f"the {self._what} {first.name} is in {packages}; uninstall one of them")
        try:
            return self._checked(first, first.load())
        except UserError as error:
            reason = str(error)
        except (Exception, SystemExit) as error:  # a module can raise anything when it is imported
            reason = ": ".join(filter(None, (type(error).__name__, " ".join(str(error).split()))))
        return UserError(f"the {self._what} {first.name} of {first.origin} cannot be used ({reason})")

    def _ours_first(self, other: PlugIn) -> str:
        return (
            f"the {self._what} {other.name} of {other.origin} is not used: {our_origin()} has one of that name, which "
            "keeps it"
        )

    def _plug_ins(self) -> dict[str, list[PlugIn]]:
        """Those of the kind by name; packages that are installed meanwhile count when they are looked for again."""
        found = installed()
        if found is not self._installed:
            self._installed, self._loaded, self._every, self._added = found, {}, None, {}
            for each in found:
                if each.kind == self._kind:
                    self._added.setdefault(each.name, []).append(each)
        return self._added

    def _all(self) -> dict[str, T]:
        """Everything that can be used; what cannot is named once."""
        plug_ins = self._plug_ins()
        if self._every is None:
            every = dict(self._ours)
            for name, those in plug_ins.items():
                if name in self._ours:
                    for each in those:
                        _tell(self._ours_first(each))
                    continue
                try:
                    every[name] = self[name]
                except UserError as error:
                    _tell(f"{error}; it is left out")
            self._every = every
        return self._every

    def __contains__(self, name: object) -> bool:
        if name in self._ours:
            return True
        if name not in self._plug_ins():
            return False
        try:
            return bool([self[str(name)]])
        except UserError:
            return False

    @overload
    def get(self, name: str, default: None = None, /) -> T | None: ...
    @overload
    def get(self, name: str, default: D, /) -> T | D: ...
    def get(self, name: str, default: Any = None, /) -> Any:
        """What can be used under a name, or else the default: of a name that nobody asks for now, as of an old run."""
        return self[name] if name in self else default  # noqa: SIM401  (this is get)

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def keys(self) -> KeysView[str]:
        return self._all().keys()

    def values(self) -> ValuesView[T]:
        return self._all().values()

    def items(self) -> ItemsView[str, T]:
        return self._all().items()

    def __setitem__(self, name: str, value: T) -> None:
        self._ours[name], self._every = value, None

    def __delitem__(self, name: str) -> None:
        del self._ours[name]
        self._every = None


def checked_name(plug_in: PlugIn, name: object, pattern: re.Pattern[str] = NAME) -> None:
    """Refuse a plug-in whose entry point is called otherwise than what it loads, or by no name of that kind."""
    if name != plug_in.name:
        raise UserError(f"its entry point is called {plug_in.name}, but {plug_in.value} is called {name}")
    if not pattern.fullmatch(plug_in.name):
        raise UserError("its name consists of lower-case letters, digits, -, _ and ., and begins with one of the first")


def _tell(sentence: str) -> None:
    """Say something once, in the process that the user has started."""
    if sentence in _TOLD or parent_process() is not None:
        return
    _TOLD.add(sentence)
    if on_command_line():
        print(printable(f"{sentence[0].upper()}{sentence[1:]}."), file=sys.stderr)
    else:
        warnings.warn(sentence, PlugInWarning, stacklevel=2)
