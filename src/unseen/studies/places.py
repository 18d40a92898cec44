"""Where the images of a study are on this machine: never a part of the study itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from pathlib import Path

from unseen.errors import UserError, did_you_mean, on_command_line, option

LEVELS, SEEN, TRUTH, LPIPS = "imagenet-21k", "imagenet-1k", "truth", "lpips"
NAMES = {
    LEVELS: "images of the levels: ImageNet-21K, or those that levels of your own were built for",
    SEEN: "images of the seen concepts: ImageNet-1K",
    TRUTH: "file with the classes of a flat validation set of ImageNet-1K",
    LPIPS: "folder with the weights of AlexNet, VGG-16 or SqueezeNet, for perceptual distances",
}
"""Places that have names of their own."""
USUAL = {
    LEVELS: ("imagenet-21k", "imagenet21k", "fall11_whole.tar", "winter21_whole.tar.gz"),
    SEEN: ("imagenet-1k", "imagenet", "ILSVRC2012"),
    LPIPS: ("lpips",),
}
"""Where they are looked up below the folder of all data, if no other place is given."""


def named_place(name: str, value: str) -> str:
    """A place as the user gives it: `--data imagenet-1k=FOLDER`, or `data={'imagenet-1k': FOLDER}` in Python."""
    return option("data", f"{name}={value}") if on_command_line() else f"{option('data')}{{{name!r}: {value}}}"


@dataclass(frozen=True)
class Places:
    """The folder that contains data sets by their names, and places with names of their own.

    Attributes:
        root: None for data sets that come with packages.
        named: places by the keys of `NAMES`.
    """

    root: Path | None = None
    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, data: "str | PathLike[str] | Mapping[str, str | PathLike[str]] | Iterable[str] | None") -> "Places":
        """From a folder, from words such as `imagenet-1k=/data/1k`, or from a mapping, with "" for the folder."""
        if data is None:
            return cls()
        if isinstance(data, Mapping):
            pairs = [(name, fspath(place)) for name, place in data.items()]
        else:
            words = [data] if isinstance(data, str | PathLike) else list(data)
            pairs = [_pair(fspath(word)) for word in words]
        root: Path | None = None
        named = dict[str, str]()
        for name, place in pairs:
            if name in named or (not name and root is not None):
                raise UserError(f"{option('data')}: {name or 'the folder of all data sets'} is given twice")
            if not name:
                root = Path(place)
            elif name in NAMES:
                named[name] = place
            else:
                hint = did_you_mean(name, NAMES) or f"; there are {', '.join(NAMES)}"
                raise UserError(f"{named_place(name, place)}: no place is called '{name}'{hint}")
        if root is not None and not root.exists():
            raise UserError(f"{root}: no such folder; give the folder that contains the data sets ({option('data')})")
        return cls(root, named)

    def place(self, name: str) -> str | None:
        """A place by its name, or where it usually is below the folder of all data; None if it is not there."""
        if name in self.named:
            return self.named[name]
        if self.root is None:
            return None
        usual = (self.root / each for each in USUAL.get(name, ()))
        return next((str(each) for each in usual if each.exists()), None)

    def path(self, name: str) -> Path | None:
        """The same as a path."""
        found = self.place(name)
        return None if found is None else Path(found)


def _pair(word: str) -> tuple[str, str]:
    """The name and the place in a word; a path that exists has no name, even with a = in it."""
    name, equals, place = word.partition("=")
    named = equals and "/" not in name and not Path(word).exists()
    return (name, place) if named else ("", word)
