"""The study in the folder of a run: with every setting, its data sets and backbones by name, and hashes of its files.

    run/study.toml, study-2.toml …     one for each different call: the union of two matrices is not a matrix
    run/files/                         copies of the small files that they name: lists, levels, mappings, own code

The paths in it are relative to it for these copies, relative to the folder of all data below that, and else absolute.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.extension.own_code import allowing_code, is_own_file, own_file, own_place, runs_code
from unseen.files import atomic_write
from unseen.ontology.class_lists import CLASS_LISTS
from unseen.studies.backbones import Entry
from unseen.studies.given import FeatureFiles
from unseen.studies.keys import HEADS, OUTPUTS, BackboneKeys
from unseen.studies.shifts.plans import TEMPLATES
from unseen.studies.stages import OpenedStudy
from unseen.studies.study import Study
from unseen.studies.toml import replace_raw
from unseen.text.words import joined

STUDY, FILES = "study.toml", "files"
LATER = re.compile(r"study-(\d+)\.toml")
SMALL = 1 << 20
"""Largest size in bytes of a file that is copied."""
BLOCK = 1 << 20
KNOWN = {"head": HEADS, "outputs": OUTPUTS, "templates": tuple(TEMPLATES)}
"""Keys of backbones whose values are names or files, and the names."""


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

    @property
    def text(self) -> str:
        """The study as TOML, after lines for its reader."""
        lines = ["# The study of this run, with every setting. Run it again in another folder:", f"# {self.command}"]
        if self.feature_files:
            lines.append(f"# FOLDER contains {joined(self.feature_files)}")
        if self.unnamed:
            lines.append(f"# Made in Python, so it has to be given there again: {', '.join(self.unnamed)}")
        return "\n".join([*lines, self.study.to_toml()])

    @property
    def command(self) -> str:
        """The command that runs it again."""
        where = " --features FOLDER" if self.of_features else " --data FOLDER" if self.of_images else ""
        return f"unseen run {STUDY}{where} --out ANOTHER{' --allow-code' if any(named_code(self.study)) else ''}"

    def write(self, out: Path) -> None:
        """Write it into the folder of a run, unless the run has it already."""
        for name, source in self.copies.items():
            place = out / FILES / name
            if not place.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(place) as file, source.open("rb") as original:
                    shutil.copyfileobj(original, file)
        text, kept = self.text, studies_in(out)
        if any(each.read_text("utf-8") == text for each in kept):
            return
        name = STUDY if not kept else f"study-{_number(kept[-1]) + 1}.toml"
        with atomic_write(out / name) as file:
            file.write(text.encode())


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


def kept_study(opened: OpenedStudy) -> KeptStudy:
    """A study as it was run: what it named by a rule is named, and what the machine decided is written."""
    return _Keeper(opened).kept()


@dataclass
class _Keeper:
    opened: OpenedStudy
    copies: dict[str, Path] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)

    def kept(self) -> KeptStudy:
        opened, study = self.opened, self.opened.study
        values: dict[str, Any] = {
            "probes": tuple(map(self._code, study.probes)),
            "metrics": tuple(map(self._code, study.metrics)),
            "classes": tuple(self._small(each) if each not in CLASS_LISTS else each for each in study.classes),
        }
        for name in ("levels", "word_vectors", "splits", "mapping"):
            text = getattr(study, name)
            values[name] = None if text is None else self._small(text)
        if opened.given.features is None:
            settings = opened.settings
            values |= {
                "precision": settings.precision,
                "fast": settings.fast,
                "decode": "cpu" if settings.decode == "cpu" else "gpu",
            }
        values["datasets"] = tuple(self._datasets())
        values["backbones"], values["backbone"], unnamed = self._backbones()
        made = (*unnamed, *(each.name for each in opened.given.datasets))
        features, places = opened.given.features is not None, opened.given.places
        images = places.root is not None or bool(places.named)
        kept = replace_raw(study, **values, files=self.hashes)
        return KeptStudy(kept, self.copies, made, features, images, self._feature_files())

    def _feature_files(self) -> tuple[str, ...]:
        """Where features in files are looked up when the study is run again."""
        features = self.opened.given.features
        if not isinstance(features, FeatureFiles):
            return ()
        return tuple(f"{features.dataset}/{split}{path.suffix}" for split, path in features.places.items())

    def _datasets(self) -> Iterator[str]:
        opened = self.opened.opened
        for each in opened.data:
            known = each.word == each.name or not each.word or each.word in self.opened.study.data
            yield each.name if known else self._place(each.word)
        for folder in opened.folders:
            yield self._place(str(folder))

    def _backbones(self) -> tuple[tuple[str, ...], dict[str, Any], list[str]]:
        study, unnamed = self.opened.study, list[str]()
        common = {name: value for name, value in study.backbone.items() if not isinstance(value, Mapping)}
        tables: dict[str, Any] = {name: self._key(name, value) for name, value in common.items()}
        if self.opened.given.features is not None:
            return study.backbones, tables | dict(study.named_backbones), []
        for each in self.opened.backbones.entries:
            if each.given is not None and each.given.load is None:
                unnamed.append(each.label)
            own = self._own_keys(each, study.backbone_keys(""))
            if own or each.id != each.label:
                tables[each.label] = {"id": self._id(each.id), **own}
        return tuple(each.label for each in self.opened.backbones.entries), tables, unnamed

    def _own_keys(self, entry: Entry, common: BackboneKeys) -> dict[str, Any]:
        """The keys of a backbone that differ from those of all."""
        names = [each.name for each in fields(BackboneKeys) if each.name != "id"]
        return {
            name: self._key(name, getattr(entry.keys, name))
            for name in names
            if getattr(entry.keys, name) != getattr(common, name)
        }

    def _key(self, name: str, value: Any) -> Any:
        if name == "checkpoint" and value is not None:
            return self._place(value)
        return value if name not in KNOWN or value in KNOWN[name] else self._small(value)

    def _id(self, id_: str) -> str:
        if is_own_file(id_):
            place, attribute = own_place(id_)
            return f"{self._place(place)}{attribute and f':{attribute}'}"
        start, at, place = id_.partition("@")
        return f"{start}@{self._place(place)}" if at else id_

    def _code(self, word: str) -> str:
        """A file with code, copied with the modules that it imports from its folder."""
        if not is_own_file(word):
            return word
        place, attribute = own_place(word)
        file = own_file(Path(place))
        name = self._copied(Path(place))
        for module in file.modules:
            self._copied(Path(place).parent / module, module)
        return f"{name}{attribute and f':{attribute}'}"

    def _small(self, text: str) -> str:
        """A word as it is, or the path of a file, which is copied if it is small and names no other files."""
        path = Path(text)
        if not path.is_file():
            return text
        if path.stat().st_size > SMALL or path.suffix.lower() == ".toml":
            return self._place(text)
        return self._copied(path)

    def _copied(self, path: Path, name: str = "") -> str:
        digest = file_digest(path)
        name = name or path.name
        other = self.copies.get(name)
        if other is not None and other.resolve() != path.resolve():
            name = f"{digest[:12]}/{name}"
        self.copies[name] = path
        kept = f"{FILES}/{name}"
        self.hashes[kept] = digest
        return kept

    def _place(self, text: str) -> str:
        """The path of a file or a folder that stays where it is; a file is known by its hash."""
        path, root = Path(text).expanduser(), self.opened.given.places.root
        if not path.exists():
            return text
        whole = path.absolute()
        below = root is not None and whole.is_relative_to(root.absolute())
        shown = whole.relative_to(root.absolute()).as_posix() if below and root is not None else str(whole)
        if path.is_file() and not below:
            self.hashes[shown] = file_digest(path)
        return shown


def forget_studies(out: Path) -> None:
    """Remove the studies of a run whose results were all replaced."""
    for each in studies_in(out):
        each.unlink(missing_ok=True)
    shutil.rmtree(out / FILES, ignore_errors=True)


def named_code(study: Study) -> Iterator[str]:
    """The files with code that a study names."""
    yield from (word for word in (*study.probes, *study.metrics) if is_own_file(word))
    for word in study.backbones:
        id_ = study.backbone_keys(word).id or word
        if runs_code(id_):
            yield id_


def refuse_code(study: Study, *, allowed: bool) -> None:
    """Refuse a study from a file that names code, unless the user allows it to be executed."""
    first = next(iter(named_code(study)), None)
    if first is not None and not allowed:
        raise UserError(
            f"{study.name}: names code that would run here ({first}); if you trust it, allow it with {allowing_code()}"
        )
