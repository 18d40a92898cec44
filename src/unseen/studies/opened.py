"""The data sets of a study, opened: published ones by name, levels of concepts, test sets, and the user's own."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from unseen.data.core.dataset import Dataset, Target
from unseen.data.core.limit import limited
from unseen.data.core.links import Links, current_links, links_within
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.own.description import describe, describe_table, is_own, own_table, refuse_same_names
from unseen.data.own.one_split import open_test_set
from unseen.data.own.one_split import refuse_same_names as refuse_same_columns
from unseen.data.own.open_own import open_own
from unseen.data.own.own_data import PLACE_KEYS, OwnData
from unseen.data.registry import DATASETS, dense_sets, shift_sets, task_sets
from unseen.data.sources.repository import is_repository
from unseen.data.test_sets import get_sets, sets_below
from unseen.errors import MissingDataError, UserError, did_you_mean, option
from unseen.probes.probe import Input
from unseen.runs.notices import NOT_FOUND, Notice, left_out, not_found, told
from unseen.runs.setup import SplitsUsed
from unseen.studies.concepts.domains import open_domains, splits_used
from unseen.studies.concepts.levels import ChosenLevels, choose_levels
from unseen.studies.keys import ALL
from unseen.studies.places import LEVELS, Places
from unseen.studies.study import Study
from unseen.studies.toml import shipped_studies
from unseen.studies.watch import Watch

TOLD_WITH_ADVICE = 3
"""Data sets that were not found are told one by one, with how to get each; more are told by name only."""


@dataclass(frozen=True, eq=False)
class StudyData:
    """A data set of a study.

    Attributes:
        opened: its images; None if only its features are used.
        is_domain: whether it is the seen concepts or a level of unseen ones.
        is_test_set: whether it is a test set of the shift study.
        is_file: whether it is features in files, which alone say what it is.
        word: the name or the path by which the study names it; empty if it names all.
    """

    dataset: Dataset
    opened: OpenDataset | None = None
    is_domain: bool = False
    is_test_set: bool = False
    is_file: bool = False
    word: str = ""

    @property
    def name(self) -> str:
        return self.dataset.name

    @property
    def images(self) -> OpenDataset:
        """Its images; an error if there are only features."""
        if self.opened is None:
            raise UserError(
                f"{self.name}: its images are needed; give the folder that contains them ({option('data')})"
            )
        return self.opened


@dataclass(frozen=True, eq=False)
class OpenedData:
    """The data sets of a study.

    Attributes:
        levels: the levels of unseen concepts, if there are any.
        splits: how the images of levels are split, if they were opened.
        absent: notices about data sets that are missing.
        named: whether the user named data sets; only then does the page mention missing ones.
        notices: notices about concepts that were skipped.
        folders: folders of images without labels, for probes of single images.
        links: where links below those folders may lead.
    """

    data: Sequence[StudyData] = ()
    levels: ChosenLevels | None = None
    splits: SplitsUsed | None = None
    absent: Sequence[Notice] = ()
    named: bool = True
    notices: Sequence[Notice] = ()
    folders: Sequence[Path] = ()
    links: Links = field(default_factory=current_links)

    @property
    def missed(self) -> list[Notice]:
        """Notices about missing data sets for the page."""
        return list(self.absent) if self.named else []

    @cached_property
    def domains(self) -> list[StudyData]:
        return [each for each in self.data if each.is_domain]

    @property
    def seen(self) -> str | None:
        """The name of the seen concepts, if there are levels."""
        return self.levels.seen_domain if self.levels else None


@dataclass(frozen=True)
class Wanted:
    """What the probes of a study take: their inputs, and the targets of those that are not outputs."""

    inputs: frozenset[Input] = frozenset()
    targets: frozenset[Target] = frozenset()

    @property
    def only_outputs(self) -> bool:
        return self.inputs == {"outputs"}

    @property
    def only_single_images(self) -> bool:
        return self.targets == {"none"}

    def takes(self, dataset: Dataset) -> bool:
        """Whether one of the probes takes such labels."""
        return dataset.target in self.targets or self.only_single_images


def open_data(
    study: Study,
    places: Places,
    wanted: Wanted,
    watch: Watch,
    *,
    given: Sequence[OpenDataset] = (),
    features: Path | None = None,
) -> OpenedData:
    """Open the data sets of a study; it is an error if none of them exists.

    Args:
        given: data sets that were opened in Python, besides those of the study.
        features: folder of features that are used instead of images.
    """
    with links_within(follow=study.follow_links):
        return _open_data(study, places, wanted, watch, given, features)


def _open_data(
    study: Study, places: Places, wanted: Wanted, watch: Watch, given: Sequence[OpenDataset], features: Path | None
) -> OpenedData:
    if features is not None and not features.is_dir():
        raise UserError(f"{features}: no such folder; it should contain one folder of features per data set")
    made = {ALL} if study.datasets == (ALL,) else {each.name for each in given} - DATASETS.keys()
    words = [word for word in study.datasets if not given or word not in made]
    levels = _levels(study, places, features, watch)
    every = ALL in words
    known = {name.lower(): name for name in levels.names} if levels else {}
    domains = list(levels.names) if levels and every else [known[w.lower()] for w in words if w.lower() in known]
    domains = [name for name in levels.names if name in domains] if levels else []
    others = [word for word in words if word.lower() not in known and word != ALL]
    found, notices, absent, lost = list[StudyData](), list[Notice](), list[Notice](), list[str]()
    splits: SplitsUsed | None = None
    if levels and others and features is None and lacks_level_images(levels, places):
        absent = [left_out(name, f"{name}: the images of the levels are not there") for name in domains]
        lost, domains = domains, []
    if levels and domains:
        if features is None:
            opened, sentences = open_domains(study, levels, domains, places, watch)
            splits = splits_used(study, levels)
            notices += map(told, sentences)
            found += [StudyData(each.dataset, each, is_domain=True) for each in opened]
        else:
            found += [StudyData(_domain(name, levels.known.get(name, ())), is_domain=True) for name in domains]
    folders = list[Path]()
    if not levels or others or given:
        more = _Others(study, places, wanted, watch, features, levels.names if levels else ())
        found += more.every() if every else ()
        there = {each.name for each in found}
        found += more.named([word for word in others if word not in there], given)
        absent, folders = [*absent, *more.absent], more.folders
        lost = [*lost, *more.lost]
    if len(lost) > TOLD_WITH_ADVICE:
        absent = [not_found(each.domain) if each.domain in lost else each for each in absent]
    if not found and not folders:
        raise UserError(_nothing(study, absent, features))
    refuse_same_names(each.name for each in found)
    refuse_same_columns([each.opened for each in found if each.is_test_set and each.opened], shift_sets())
    if study.limit is not None:
        if features is not None:
            raise UserError("limit applies to images, not to features, which are used as they are")
        found = [replace(each, opened=limited(each.opened, study.limit)) if each.opened else each for each in found]
    exif = study.exif
    turned = [_turned(each, exif) for each in found]
    return OpenedData(turned, levels, splits, absent, not every, notices, folders)


def _levels(study: Study, places: Places, features: Path | None, watch: Watch) -> ChosenLevels | None:
    if study.levels is None:
        wrong = next((name for name in ("splits", "seen", "word_vectors") if getattr(study, name) is not None), None)
        if wrong is not None:
            raise UserError(f"{wrong.replace('_', '-')} needs levels; add levels, or leave it out")
        return None
    images = places.place(LEVELS)
    return choose_levels(
        study.levels,
        vectors=None if study.word_vectors is None else Path(study.word_vectors),
        seen=study.seen,
        images=Path(images) if images else places.root,
        features=features,
        tell=watch.tell,
    )


def lacks_level_images(levels: ChosenLevels, places: Places) -> bool:
    """Whether levels are of images that were given no place; other data sets of a study are used without them."""
    return levels.data is None and levels.drawn is None and places.place(LEVELS) is None


def _domain(name: str, concepts: Sequence[str]) -> Dataset:
    return Dataset(name, name, len(concepts), names=tuple(sorted(concepts)))


def _turned(data: StudyData, exif: bool) -> StudyData:
    """Boxes and maps are turned with their images."""
    if data.opened is None or data.opened.reader is None or data.opened.exif == exif:
        return data
    return replace(data, opened=replace(data.opened, exif=exif))


def _nothing(study: Study, absent: Sequence[Notice], features: Path | None) -> str:
    if study.datasets != (ALL,) and absent:
        lost = sum(each.code == NOT_FOUND for each in absent)
        others = [each.text for each in absent if each.code != NOT_FOUND]
        doctor = "unseen doctor --data FOLDER"
        if study.name in shipped_studies():
            doctor = f"unseen doctor --study {study.name} --data FOLDER"
        none = (
            f"{lost} of the {len(study.datasets)} data sets were not found; {doctor} says what is expected where, and "
            "how to get it"
        )
        return "; ".join([*others, *([none] if lost else [])])
    if features is not None:
        return f"{features}: no features of any data set; each has a folder of its name ({', '.join(task_sets())})"
    return (
        f"no data set was found; give the folder that contains them ({option('data')}): unseen doctor --data FOLDER "
        "lists them and how to get them"
    )


@dataclass
class _Others:
    """Opens everything but levels, and notes what is missing."""

    study: Study
    places: Places
    wanted: Wanted
    watch: Watch
    features: Path | None
    domains: Sequence[str] = ()
    absent: list[Notice] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    def every(self) -> Iterator[StudyData]:
        """All data sets that exist and that a probe takes, except for samples of others."""
        root = self.places.root
        if "outputs" in self.wanted.inputs:
            if root is None:
                raise UserError(f"say where the test sets are: the folder that contains them ({option('data')})")
            yield from map(self._test_set, sets_below(root))
        for dataset in [*task_sets().values(), *dense_sets().values()]:
            if dataset.sample_of or not self.wanted.takes(dataset):
                continue
            if self.features is not None:
                if (self.features / dataset.name).is_dir():
                    yield StudyData(dataset)
                continue
            try:
                yield StudyData(dataset, open_dataset(dataset, root))
            except UserError as error:
                self._note(dataset, error)

    def named(self, words: Sequence[str], given: Sequence[OpenDataset]) -> Iterator[StudyData]:
        """The data sets of some words, each once: known names in the order of the registry, then the user's own."""
        shifted, known, own = list[str](), set[str](), list[str]()
        for word in dict.fromkeys(words):
            if word not in self.study.data and DATASETS.plug_in(word):
                _ = DATASETS[word]  # one of another package may say why it cannot be used
            if (self.features is not None and word not in task_sets()) or word in self.study.data:
                own.append(word)
            elif word in task_sets() or word in dense_sets():
                known.add(word)
            elif "outputs" in self.wanted.inputs and (
                word in shift_sets() or ("*" in word and not Path(word).exists())
            ):
                shifted.append(word)
            elif is_own(word) or self._below(word) is not None:
                own.append(word)
            else:
                names = [*self.domains, *self.study.data, *DATASETS]
                raise UserError(
                    f"no data set '{word}'{did_you_mean(word, names) or ''}; unseen ls datasets lists them, and your "
                    "own are folders or .toml files"
                )
        for name, dataset in {**task_sets(), **dense_sets()}.items():
            if name in known:
                yield from self._known(dataset)
        if shifted:
            yield from map(self._test_set, get_sets(shifted))
        yield from (StudyData(each.dataset, each, is_test_set=each.dataset.shifted is not None) for each in given)
        if self.features is not None:  # known only by their files
            yield from (StudyData(Dataset(word, word, 0), is_file=True, word=word) for word in own)
            return
        for word in own:
            yield from self._own(word)

    def _known(self, dataset: Dataset) -> Iterator[StudyData]:
        if self.features is not None:
            yield StudyData(dataset)
            return
        try:
            yield StudyData(dataset, open_dataset(dataset, self.places.root))
        except UserError as error:
            self._note(dataset, error)

    def _note(self, dataset: Dataset, error: UserError) -> None:
        self.absent.append(left_out(dataset.name, str(error)))
        if isinstance(error, MissingDataError):
            self.lost.append(dataset.name)

    def _test_set(self, dataset: Dataset) -> StudyData:
        opened = open_dataset(dataset, self.places.root, partial=not self.study.complete)
        return StudyData(dataset, opened, is_test_set=True)

    def _own(self, word: str) -> Iterator[StudyData]:
        table = self.study.data.get(word)
        place = Path(word) if table is not None or Path(word).exists() else self._below(word) or Path(word)
        if self.wanted.only_outputs:
            own = own_test_set(word, table, self.places.root) if table is not None else place
            opened = open_test_set(own, partial=not self.study.complete)
            yield StudyData(opened.dataset, opened, is_test_set=True, word=word)
            return
        if table is None and self.wanted.only_single_images and place.is_dir() and not _has_splits(place):
            self.folders.append(place)
            return
        description = describe(place) if table is None else describe_table(word, table, self.places.root)
        opened = open_own(description, track=self.watch.track)
        yield StudyData(opened.dataset, opened, word=word)

    def _below(self, word: str) -> Path | None:
        """The path below the folder of all data, if there is one."""
        root = self.places.root
        return root / word if root is not None and (root / word).exists() else None


def own_test_set(name: str, table: Mapping[str, Any], root: Path | None) -> OwnData:
    """A test set from its table in a study; paths are looked up as they are, then below the folder of all data."""
    own = own_table(name, table, root)
    if own.test is not None:
        one = own.test
        return replace(own, **{key: getattr(one, key) for key in PLACE_KEYS})
    return own


def _has_splits(place: Path) -> bool:
    return (place / "train").is_dir() or (place / "test").is_dir() or is_repository(place)
