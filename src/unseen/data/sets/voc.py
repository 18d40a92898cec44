"""PASCAL VOC: detection (trained on 2007 and 2012, tested on 2007) and segmentation (2012)."""

from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.dense.labels import Objects
from unseen.data.core.rows import Listing, fields
from unseen.data.formats.map_files import ClassMaps, paired_listing
from unseen.data.sets.voc2007 import CLASSES
from unseen.errors import UserError
from unseen.files import read_bytes

DETECTION = (("VOC2007", "trainval", "train"), ("VOC2012", "trainval", "train"), ("VOC2007", "test", "test"))
"""Year and image list of each part: the "07+12" training set of Ericsson et al. 2021, tested on 2007."""
SEGMENTATION = (("train", "train"), ("val", "test"))
MOST_BYTES = 1 << 22
EDGES = ("xmin", "ymin", "xmax", "ymax")


@dataclass(frozen=True)
class VocBoxes:
    """Objects from the XML files `names` below `base`."""

    base: Path
    names: tuple[str, ...]

    def place(self, number: int) -> str:
        return str(self.base / self.names[number])

    def read(self, number: int) -> Objects:
        return read_objects(self.base / self.names[number])


def read_objects(path: Path) -> Objects:
    """The objects of an annotation file; parts of objects, such as heads and hands, are not read."""
    root = _parsed(path)
    boxes, classes, difficult, left_out = list[list[float]](), list[int](), list[bool](), list[str]()
    for item in root.iter("object"):
        name = (item.findtext("name") or "").strip()
        if name not in CLASSES:
            left_out.append(f"an object of the class {name[:40]!r}, which PASCAL VOC does not have")
            continue
        box = item.find("bndbox")
        texts = [(box.findtext(edge) or "").strip() if box is not None else "" for edge in EDGES]
        try:
            left, top, right, bottom = map(float, texts)
        except ValueError:
            left_out.append(f"the box of a {name} is {', '.join(texts)[:80]}; expected four numbers")
            continue
        boxes.append([left - 1, top - 1, right, bottom])
        classes.append(CLASSES.index(name))
        difficult.append((item.findtext("difficult") or "0").strip() == "1")
    return replace(Objects.of(boxes, classes, ignored=difficult), left_out=tuple(left_out))


def _parsed(path: Path) -> ElementTree.Element:
    try:
        content = read_bytes(path)
        # VOC annotations have no document type; one could define entities that expand without limit.
        if len(content) > MOST_BYTES or b"<!" in content.replace(b"<!--", b""):
            raise UserError(f"{path}: not a PASCAL VOC annotation (too large, or with a document type)")
        return ElementTree.fromstring(content)  # noqa: S314 - without a document type there are no entities
    except (ElementTree.ParseError, ValueError) as error:
        raise UserError(f"{path}: damaged XML ({error})") from None


def read_detection(place: Path) -> Listing:
    """The images of both years, or of VOC 2007 alone, which is an incomplete copy."""
    lists = [(year, place / year / f"ImageSets/Main/{words}.txt", part) for year, words, part in DETECTION]
    images = [
        (f"{year}/JPEGImages/{image}.jpg", part)
        for year, file, part in lists
        if year == "VOC2007" or file.exists()
        for (image,) in fields(file, 1, "the number of an image")
    ]
    return paired_listing(place, images, _annotation, lambda names: VocBoxes(place, names))


def _annotation(image: str) -> str:
    return image.replace("/JPEGImages/", "/Annotations/").removesuffix(".jpg") + ".xml"


def read_segmentation(place: Path) -> Listing:
    """The images of the lists `train` and `val`; `val` is used for testing."""
    images = [
        (f"JPEGImages/{image}.jpg", part)
        for words, part in SEGMENTATION
        for (image,) in fields(place / f"ImageSets/Segmentation/{words}.txt", 1, "the name of an image")
    ]
    return paired_listing(place, images, _class_map, lambda names: ClassMaps(place, names))


def _class_map(image: str) -> str:
    return image.replace("JPEGImages/", "SegmentationClass/").removesuffix(".jpg") + ".png"


_GET = "PASCAL VOC: VOCtrainval_06-Nov-2007.tar, VOCtest_06-Nov-2007.tar, VOCtrainval_11-May-2012.tar"
_CITATION = "Everingham et al. 2010, The PASCAL Visual Object Classes (VOC) Challenge"
DATASETS = (
    Dataset(
        name="voc-detection",
        title="PASCAL VOC detection, 07+12",
        also_called=("voc2007", "voc2012"),
        target="boxes",
        classes=len(CLASSES),
        names=CLASSES,
        counts={"train": 16_551, "test": 4_952},
        layouts=(
            Layout(
                "VOCdevkit",
                tuple(f"{year}/ImageSets/Main/{words}.txt" for year, words, _ in DETECTION if year == "VOC2007"),
                read_detection,
            ),
        ),
        get=_GET,
        licence="Flickr's terms of use",
        citation=_CITATION,
    ),
    Dataset(
        name="voc-segmentation",
        title="PASCAL VOC 2012 segmentation",
        also_called=("voc2012",),
        target="map",
        classes=1 + len(CLASSES),
        names=("background", *CLASSES),
        counts={"train": 1_464, "test": 1_449},
        layouts=(
            Layout(
                "VOCdevkit/VOC2012",
                ("SegmentationClass", *(f"ImageSets/Segmentation/{words}.txt" for words, _ in SEGMENTATION)),
                read_segmentation,
            ),
        ),
        get=_GET,
        licence="Flickr's terms of use",
        citation=_CITATION,
    ),
)
