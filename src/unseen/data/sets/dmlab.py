"""DMLab: frames of an agent's view in DeepMind Lab, labelled by the distance and the reward of the closest object.

It exists as TFRecord files only, as its authors distribute them or as TensorFlow Datasets stores them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.entries import EntryTable
from unseen.data.core.open_files import FileState, open_file
from unseen.data.core.releases import provenance
from unseen.data.core.rows import Listing, Row
from unseen.data.formats.tfrecord import CHECKSUM, EXPECTED, Values, checked_record, examples, parse_example
from unseen.errors import UserError
from unseen.reading.guard import reading

PARTS = {"train": "train", "val": "validation", "test": "test"}
CLASSES = 6
IMAGE, NAME, LABEL = "image", "filename", "label"


@dataclass(frozen=True)
class Place:
    """A record: the number of its file, and its offset and size there."""

    file: int
    offset: int
    size: int


@dataclass(frozen=True)
class RecordImages:
    """JPEG files inside of TFRecord files, whose checksums are compared when an image is read."""

    folder: Path
    files: tuple[FileState, ...]
    places: tuple[Place, ...]
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> bytes:
        place = self.places[number]
        state = self.files[place.file]
        path = self.folder / state.name
        content = open_file(path, state).read(place.offset, place.size + CHECKSUM)
        with reading(path, EXPECTED):
            return _one_text(parse_example(checked_record(content, path, place.offset)), IMAGE)


def read(place: Path) -> Listing:
    """Each part has one or several files, whose records have an image, its name, and its class from 0 to 5."""
    rows, files, places = list[Row](), list[FileState](), list[Place]()
    for part, name in PARTS.items():
        found = sorted(path for path in place.glob(f"dmlab-{name}.tfrecord*") if path.is_file())
        if not found:
            raise UserError(f"{place}: contains no dmlab-{name}.tfrecord files")
        for path in found:
            for offset, size, features in examples(path):
                rows.append(_row(features, part, path))
                places.append(Place(len(files), offset, size))
            files.append(FileState.at(path))

    def opened() -> RecordImages:
        entries = EntryTable.of(((row.id, row.label) for row in rows), str(place))
        about = provenance("TFRecord", entries.classes, len(entries))
        return RecordImages(place, tuple(files), tuple(places), entries, about)

    return Listing(rows, opened)


def file_name(row: Row) -> str:
    """The key of an image in TensorFlow Datasets: its name, which may be a path."""
    return row.id.partition("/")[2]


def _row(features: dict[str, Values], part: str, path: Path) -> Row:
    name, labels = _one_text(features, NAME).decode(), features.get(LABEL, [])
    if len(labels) != 1 or not isinstance(labels[0], int) or not 0 <= labels[0] < CLASSES or not name.isprintable():
        raise UserError(f"{path}: {name!a} has the label {_shown(labels)}; expected one from 0 to {CLASSES - 1}")
    return Row(f"{part}/{name}", str(labels[0]), part)


def _shown(labels: Sequence[object]) -> str:
    return ", ".join(str(label)[:20] for label in labels[:3] if isinstance(label, int)) or "none"


def _one_text(features: dict[str, Values], name: str) -> bytes:
    values = features.get(name, [])
    if len(values) != 1 or not isinstance(values[0], memoryview) or not len(values[0]):
        raise ValueError(f"a record without one '{name}'")
    return bytes(values[0])


DATASET = Dataset(
    name="dmlab",
    title="DMLab",
    classes=CLASSES,
    metric="top1",
    test="author",
    validation="author",
    few_shot="other",
    counts={"train": 65_550, "val": 22_628, "test": 22_735},
    layouts=tuple(Layout(folder, (), read) for folder in ("dmlab/2.0.1", "dmlab")),
    get="Google, task_adaptation (VTAB): dmlab.tar.gz, unpacked into the folder dmlab",
    licence="Apache-2.0",
    citation="Beattie et al. 2016, DeepMind Lab; Zhai et al. 2019, A Large-scale Study of Representation Learning",
)
