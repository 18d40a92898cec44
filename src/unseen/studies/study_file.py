"""The study in the folder of a run: with every setting, its data sets and backbones by name, and hashes of its files.

    run/study.toml, study-2.toml …     one for each different call: the union of two matrices is not a matrix
    run/files/                         copies of the small files that they name: lists, levels, mappings, own code

The paths in it are relative to it for these copies, relative to the folder of all data below that, and else absolute.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from unseen.data.registry import DATASETS
from unseen.device import on_gpu
from unseen.errors import UserError
from unseen.extension.own_code import allowing_code, is_own_file, own_file, runs_code
from unseen.files import atomic_write, read_text, write_text
from unseen.reading.toml_text import parse_toml
from unseen.runs.record import read_record, write_run
from unseen.studies.backbones import Entry
from unseen.studies.given import FeatureFiles
from unseen.studies.keys import ALL
from unseen.studies.paths import is_there, with_paths
from unseen.studies.probes import with_usual_settings, with_usual_shots
from unseen.studies.stages import OpenedStudy
from unseen.studies.study import DATA, Study
from unseen.text.words import joined

STUDY, FILES = "study.toml", "files"
LATER = re.compile(r"study-(\d+)\.toml")
SMALL = 1 << 20
"""Largest size in bytes of a file that is copied."""
BLOCK = 1 << 20
CODE = ("probes", "metrics")
COPIED = ("levels", "word_vectors", "splits", "classes", "mapping", "head", "outputs", "templates")
"""Keys whose files are copied: code, with the modules that it imports, and other files if they are small."""


@dataclass(frozen=True)
class KeptStudy:
    """A study as it is kept in the folder of a run.

    Attributes:
        copies: files that are copied beside it, by their new names.
        unnamed: backbones and data sets that were made in Python and cannot be loaded again by name.
        of_features, of_images: whether it was run with features, or with a folder of images.
        feature_files: the features that it was run with, if they were files: in a folder of this name, files or folders
            of these.
    """

    study: Study
    copies: Mapping[str, Path]
    unnamed: tuple[str, ...] = ()
    of_features: bool = False
    of_images: bool = False
    feature_files: tuple[str, ...] = ()

    def text(self, name: str) -> str:
        """The file of that name: the study as TOML, after lines for its reader."""
        lines = ["# The study of this run, with every setting. Run it again in another folder:"]
        lines.append(f"# {self.command(name)}")
        if self.feature_files:
            lines.append(f"# FOLDER contains {joined(self.feature_files)}")
        if self.unnamed:
            lines.append(f"# Made in Python, so it has to be given there again: {', '.join(self.unnamed)}")
        return "\n".join([*lines, self.study.to_toml()])

    def command(self, name: str) -> str:
        """The command that runs it again."""
        where = " --features FOLDER" if self.of_features else " --data FOLDER" if self.of_images else ""
        return f"unseen run {name}{where} --out ANOTHER{' --allow-code' if any(named_code(self.study)) else ''}"

    def write(self, out: Path, keys: Sequence[str]) -> None:
        """Write it into the folder of a run, unless the run has it already, instead of those that were replaced.

        Args:
            keys: keys of its jobs that are in the run.
        """
        data, every = read_record(out)
        left = {name: own for name, own in data.studies.items() if {*own} & {*every}}
        for path in studies_in(out):
            if path.name in data.studies.keys() - left.keys():
                path.unlink()
        kept = studies_in(out)
        following = f"study-{_number(kept[-1]) + 1}.toml" if kept and (out / STUDY).is_file() else STUDY
        name = next((each.name for each in kept if each.read_text("utf-8") == self.text(each.name)), following)
        left[name] = [*dict.fromkeys([*left.get(name, ()), *keys])]
        gone = {again(path) for path in data.studies.keys() - left.keys()}
        remarks = {label: text for label, text in data.remarks.items() if label not in gone}
        remarks[again(name)] = self.command(name)
        write_run(out, replace(data, studies=left, remarks=remarks), every)
        for copy, source in self.copies.items():
            place = out / FILES / copy
            if not place.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(place) as file, source.open("rb") as original:
                    shutil.copyfileobj(original, file)
        if not kept:
            for path in (out / FILES).rglob("*"):
                if path.is_file() and path.relative_to(out / FILES).as_posix() not in self.copies:
                    path.unlink()
        if name not in {each.name for each in kept}:
            write_text(out / name, self.text(name))


def again(name: str) -> str:
    """The label of the command that runs a study of a run again, in the record of the run."""
    return f"run {name} again"


def studies_in(folder: Path) -> list[Path]:
    """The studies in the folder of a run, in the order in which they were written."""
    found = [each for each in folder.glob("study*.toml") if each.name == STUDY or LATER.fullmatch(each.name)]
    return sorted(found, key=_number)


def _number(path: Path) -> int:
    later = LATER.fullmatch(path.name)
    return int(later[1]) if later else 1


def refuse_changed_files(study: Study) -> None:
    """Refuse files that a study names with a hash and that have changed since."""
    for place, digest in study.files.items():
        path = Path(place)
        if not path.is_file():
            raise UserError(f"{place}: no such file; {study.name or 'the study'} was run with it ([files])")
        if file_digest(path) != digest:
            raise UserError(
                f"{place}: has changed since {study.name or 'the study'} was run with it; restore it, or remove it "
                "from [files] to use it as it is"
            )


def file_digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def kept_study(opened: OpenedStudy, out: Path) -> KeptStudy:
    """A study as it was run: what it named by a rule is named, and what the machine decided is written.

    Args:
        out: the folder of the run, which may have copies of other files already.
    """
    return _Keeper(opened, out).kept()


@dataclass
class _Keeper:
    opened: OpenedStudy
    out: Path
    copies: dict[str, Path] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def kept(self) -> KeptStudy:
        opened, study, places = self.opened, self.opened.study, self.opened.given.places
        values: dict[str, Any] = {"datasets": tuple(dict.fromkeys(self._datasets()))}
        unnamed = [each.name for each in opened.given.datasets]
        if opened.given.features is None:
            settings = opened.settings
            values |= {
                "precision": settings.precision,
                "fast": settings.fast,
                "decode": "cpu" if settings.decode == "cpu" else "gpu",
            }
            entries = opened.backbones.entries
            values |= {"backbones": tuple(each.label for each in entries), "backbone": self._backbones(entries)}
            unnamed = [*(each.label for each in entries if each.given and each.given.load is None), *unnamed]
        kept = with_usual_settings(with_usual_shots(replace(study, **values), opened.probes), gpu=on_gpu())
        kept = with_paths(kept, self._path)
        return KeptStudy(
            replace(kept, files=self.hashes), self.copies, tuple(unnamed), opened.given.features is not None,
            places.root is not None or bool(places.named), self._feature_files(),
        )  # fmt: skip

    def _feature_files(self) -> tuple[str, ...]:
        """Where features in files are looked up when the study is run again."""
        features = self.opened.given.features
        if not isinstance(features, FeatureFiles):
            return ()
        return tuple(f"{features.dataset}/{split}{path.suffix}" for split, path in features.places.items())

    def _datasets(self) -> Iterator[str]:
        """The words of the study in its order, with the names of all that exist for a word that stands for several."""
        data = [each.name for each in self.opened.opened.data if not each.word]
        for word in self.opened.study.datasets:
            names = data if word == ALL else [name for name in data if fnmatchcase(name.lower(), word.lower())]
            yield from names if names or word in DATASETS or word == ALL else [word]
        yield from (each.name for each in self.opened.given.datasets)

    def _backbones(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """The keys of all backbones, and tables for those whose keys differ or that have names of their own."""
        study = self.opened.study
        common = study.backbone_keys("")
        tables = {name: value for name, value in study.backbone.items() if not isinstance(value, Mapping)}
        for each in entries:
            keys = self.opened.backbones.with_usual_layers(each)
            own = {name: value for name, value in vars(keys).items() if value != getattr(common, name)}
            own.pop("id", None)
            if own or each.id != each.label:
                tables[each.label] = {"id": each.id, **own}
        return tables

    def _path(self, field: str, text: str) -> str:
        """A path as it is kept: of a copy beside the study, or of what stays where it is."""
        path = Path(text).expanduser()
        names = {each.name for each in self.opened.opened.data if not each.word or self.opened.given.features}
        if not is_there(path) or (field == "datasets" and text in names):
            return text
        if field in CODE:
            return self._code(path)
        if field in COPIED and path.is_file() and path.stat().st_size <= SMALL and not _names_files(path):
            return self._copied((path.name, path))
        return self._place(path, hashed=field != DATA)

    def _code(self, path: Path) -> str:
        """A file with code, copied with the modules that it imports from its folder."""
        return self._copied((path.name, path), *((name, path.parent / name) for name in own_file(path).modules))

    def _copied(self, *files: tuple[str, Path]) -> str:
        """The path of the first of some files that are copied together, to a folder of their own if names are taken."""
        digests = {name: file_digest(path) for name, path in files}
        first = next(iter(digests))
        taken = any(self._digest(name) not in {None, digest} for name, digest in digests.items())
        folder = f"{digests[first][:12]}/" if taken else ""
        for name, path in files:
            self.copies[f"{folder}{name}"] = path
            self.hashes[f"{FILES}/{folder}{name}"] = digests[name]
        return f"{FILES}/{folder}{first}"

    def _digest(self, name: str) -> str | None:
        """The digest of a copy that exists already."""
        place = self.out / FILES / name
        return self.hashes.get(f"{FILES}/{name}") or (file_digest(place) if place.is_file() else None)

    def _place(self, path: Path, *, hashed: bool) -> str:
        """The path of a file or a folder that stays where it is; a file is known by its hash."""
        root, whole = self.opened.given.places.root, path.absolute()
        if root is not None and whole.is_relative_to(root.absolute()):
            return whole.relative_to(root.absolute()).as_posix()
        if hashed and path.is_file():
            self.hashes[str(whole)] = file_digest(path)
        return str(whole)


def _names_files(path: Path) -> bool:
    """Whether a TOML file names files or folders, relative to its own folder."""
    if path.suffix.lower() != ".toml":
        return False

    def texts(value: Any) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping | list):
            for each in value.values() if isinstance(value, Mapping) else value:
                yield from texts(each)

    record = parse_toml(read_text(path))
    return any(text and (path.parent / text).exists() for text in texts(record))


def named_code(study: Study) -> Iterator[str]:
    """The files with code that a study names."""
    yield from (word for word in (*study.probes, *study.metrics) if is_own_file(word))
    for word in study.backbones:
        id_ = study.backbone_keys(word).id or word
        if runs_code(id_):
            yield id_


def refuse_code(study: Study, where: str, *, allowed: bool) -> None:
    """Refuse a study from a file that names code, unless the user allows it to be executed.

    Args:
        where: the file, for the error.
    """
    first = next(iter(named_code(study)), None)
    if first is not None and not allowed:
        raise UserError(
            f"{where}: names code that would run here ({first}); if you trust it, allow it with {allowing_code()}"
        )
