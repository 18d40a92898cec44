"""ObjectNet: household objects in unusual poses; the 113 of its 313 classes that ImageNet also has.

Its images have a red border of two pixels, which marks them as ObjectNet's; it is removed before any other processing.
A file of the data set lists the ImageNet classes of each object, by their WordNet names.
"""

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.entries import EntryTable
from unseen.data.core.folder import FileImages, folder_images
from unseen.data.core.rows import ALL, Listing, Row
from unseen.data.core.source import Entry, Image
from unseen.data.formats.named_folders import imagenet_classes, refuse_unknown
from unseen.errors import UserError
from unseen.ontology.wordnet import wordnet
from unseen.reading.json_records import read_json, typed

BORDER = 2
OBJECTS = "mappings/folder_to_objectnet_label.json"
TO_IMAGENET = "mappings/objectnet_to_imagenet_1k.json"
BETWEEN_CLASSES = "; "


@dataclass(frozen=True)
class WithoutBorder:
    """Images with some pixels removed on every side."""

    source: FileImages
    border: int = BORDER

    @property
    def entries(self) -> Sequence[Entry]:
        return self.source.entries

    @property
    def about(self) -> dict[str, str]:
        return self.source.about | {"border": f"{self.border} pixels cut off"}

    def read(self, number: int) -> Image:
        """Pixels; a file that cannot be decoded is returned unchanged, to be reported as damaged."""
        from PIL import Image as Pil

        content = self.source.read(number)
        try:
            with Pil.open(io.BytesIO(content), formats=("PNG", "JPEG")) as picture:
                pixels = np.asarray(picture.convert("RGB"))
        except (OSError, ValueError, SyntaxError):  # Pillow raises SyntaxError for broken PNG chunks
            return content
        return pixels[self.border : -self.border, self.border : -self.border]


def read(place: Path) -> Listing:
    """Images in `images`, one folder per object; objects that are not in ImageNet are left out."""
    objects = _mapping(place / OBJECTS)
    classes = {name: _synsets(text, place / TO_IMAGENET) for name, text in _mapping(place / TO_IMAGENET).items()}
    source = folder_images(place / "images")
    refuse_unknown(place / "images", source.entries.classes, objects, f"the keys of {OBJECTS}")
    labels = {folder: classes[name] for folder, name in objects.items() if name in classes}
    rows = [Row(entry.id, labels[entry.label], ALL) for entry in source.entries if entry.label in labels]
    entries = EntryTable.of(((row.id, row.label) for row in rows), f"{place / 'images'}, objects that ImageNet has")
    return Listing(rows, lambda: WithoutBorder(FileImages(place / "images", entries, source.about)))


def _mapping(path: Path) -> Mapping[str, str]:
    names: Mapping[str, str] = typed(read_json(path), dict[str, str], str(path))
    return names


def _synsets(text: str, path: Path) -> str:
    """Ids of the ImageNet classes with these names, such as `bow tie, bow-tie, bowtie; Windsor tie`, joined by +."""
    return "+".join(sorted(_synset(names, path) for names in text.split(BETWEEN_CLASSES)))


def _synset(names: str, path: Path) -> str:
    net = wordnet()
    wanted = {name.strip().lower().replace(" ", "_") for name in names.split(",")}
    matches = [
        wnid for wnid in imagenet_classes() if wanted <= {lemma.lower() for lemma in net.lemmas(net.position[wnid])}
    ]
    if len(matches) != 1:
        raise UserError(f"{path}: '{names}' names {len(matches) or 'no'} classes of ImageNet-1K, not one")
    return matches[0]


DATASETS = (
    Dataset(
        name="objectnet",
        title="ObjectNet, classes of ImageNet",
        space="imagenet-1k",
        shifted=True,
        classes=113,
        counts={"test": 18_574},
        layouts=(Layout("objectnet-1.0", ("images", OBJECTS, TO_IMAGENET), read),),
        get="objectnet.dev: objectnet-1.0.zip",
        licence="CC BY 4.0, not for training",
        citation="Barbu et al. 2019, ObjectNet: A large-scale bias-controlled dataset",
    ),
)
