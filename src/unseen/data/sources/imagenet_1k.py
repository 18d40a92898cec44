"""ImageNet-1K as distributed: training and validation images, the latter also flat with a ground-truth file.

If `split` is "train" or "val", images are searched for below the given folder, in `train` or `val` or
`ILSVRC/Data/CLS-LOC/…` (Kaggle), and in `ILSVRC2012_img_train.tar` and `ILSVRC2012_img_val.tar`.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from unseen.data.core.entries import EntryTable
from unseen.data.core.folder import FileImages, folder_images
from unseen.data.core.listing import list_folder
from unseen.data.core.releases import WNID, provenance
from unseen.data.core.source import Entry, ImageSource
from unseen.data.core.tars.archive import images_in, is_image, open_plain_tar
from unseen.data.core.tars.imagenet_tars import imagenet_tars
from unseen.data.core.tars.index import Group, Groups, Watch, index_tars, open_index
from unseen.data.core.tars.tar_images import TarImages
from unseen.errors import UserError, did_you_mean
from unseen.files import read_table, read_text
from unseen.text.words import whole_number

VALIDATION_NAME = re.compile(r"ILSVRC2012_val_(?P<number>[0-9]{8})\.[A-Za-z]+")
SPLITS = {"train": ("train",), "val": ("val", "validation"), "test": ("test",)}
KAGGLE_TRUTH = "LOC_val_solution.csv"
DEVKIT_TRUTH = "ILSVRC2012_validation_ground_truth.txt"
TRUTH_NAMES = (KAGGLE_TRUTH, "imagenet_2012_validation_synset_labels.txt", DEVKIT_TRUTH)
ORDER_NAMES = ("map_clsloc.txt", "synsets.txt")
DEVKIT = ("ILSVRC2012_devkit_t12/data", "ILSVRC/devkit/data", "devkit/data", "data")


def imagenet_1k(
    root: Path, *, split: str | None = None, truth: Path | None = None, cache: Path | None = None, watch: Watch = iter
) -> ImageSource:
    """The training or validation images below `root`.

    Args:
        split: "train", "val" or, of folders that are not ImageNet's, "test"; required.
        truth: the classes of flat validation images; by default searched for nearby. See `read_truth`.
        cache, watch: see `imagenet_tars`.
    """
    if split is None:
        there = [name for name, folders in SPLITS.items() if any((root / folder).is_dir() for folder in folders)]
        one = " or ".join(there or ["train", "val"])
        raise UserError(f"{root}: has several splits; give the folder of one of them: {one}")
    if split not in SPLITS:
        raise UserError(f"{root}: no split '{split}'{did_you_mean(split, SPLITS)}; there are {', '.join(SPLITS)}")
    place = _find(root, split)
    if split == "val" and is_flat_validation(place):
        return flat_validation(place, truth=truth, cache=cache, watch=watch)
    if place.is_file() or any(entry.name.endswith(".tar") for entry in list_folder(place)):
        return imagenet_tars(place, cache=cache, watch=watch)
    return folder_images(place)


def _find(root: Path, split: str) -> Path:
    places = [root / base / name for base in ("", "ILSVRC/Data/CLS-LOC", "Data/CLS-LOC") for name in SPLITS[split]]
    places = [place for place in places if place.is_dir()] + [root / f"ILSVRC2012_img_{split}.tar"]
    if not places[0].exists():
        names = " or ".join([*SPLITS[split], f"ILSVRC2012_img_{split}.tar"])
        raise UserError(f"{root}: no images of the split '{split}' in it; expected {names}")
    return places[0]


def is_flat_validation(place: Path) -> bool:
    """Whether a folder or tar file contains images under their validation names, without class folders."""
    if place.is_dir():
        return any(VALIDATION_NAME.fullmatch(entry.name) for entry in list_folder(place))
    with open_plain_tar(place) as archive:
        first = next(archive.members(), None)
    return first is not None and VALIDATION_NAME.fullmatch(first.name) is not None


def flat_validation(
    place: Path, *, truth: Path | None = None, cache: Path | None = None, watch: Watch = iter
) -> FileImages | TarImages:
    """Validation images in a single folder or tar file, with classes from a ground-truth file.

    Ids and their order equal those of the same images in class folders.
    """
    file = truth or _near(place, TRUTH_NAMES)
    if file is None:
        raise UserError(
            f"{place}: these validation images need their classes; put one of {', '.join(TRUTH_NAMES)} beside them"
        )
    truths = read_truth(file)
    if place.is_dir():
        names = [entry.name for entry in list_folder(place) if is_image(entry.name) and entry.is_file()]
        rows = sorted((_label(truths, name, file), name) for name in names)
        entries = EntryTable.of(((f"{label}/{name}", label) for label, name in rows), str(place))
        about = provenance("flat validation folder", entries.classes, len(entries), truth=file.name)
        return FileImages(place, entries, about, flat=True)
    # The index stores the classes, so they are part of its key.
    settings = f"validation {json.dumps(truths)}"
    index, key = index_tars(place, [place], settings, lambda: _groups(place, truths, file), cache, watch)
    indexed = open_index(index, key).entries
    about = provenance("flat validation tar file", indexed.classes, len(indexed), truth=file.name)
    return TarImages(place.parent, index, key, about)


def _groups(place: Path, truths: Mapping[str, str], file: Path) -> Groups:
    with open_plain_tar(place) as archive:
        found = images_in(archive)
    images = sorted((_label(truths, image.name, file), image.name, image) for image in found)
    entries = [Entry(f"{label}/{name}", label) for label, name, _ in images]
    yield Group(place.name, 0, entries, [(image.offset, image.size) for _, _, image in images])


def read_truth(file: Path) -> dict[str, str]:
    """Classes by the names of validation images without suffix, from one of three kinds of file.

    - Kaggle's CSV: `ImageId,PredictionString`, in which a prediction starts with a synset id.
    - A synset id on each line, for the images in numerical order.
    - The development kit's class numbers, one per line. Their meaning is defined in its `meta.mat`, and as text in
      `map_clsloc.txt` (`n02119789 1 kit_fox`), which must be beside the file.
    """
    if file.suffix.lower() == ".csv":
        table = read_table(file, ("ImageId", "PredictionString"))
        return {row["ImageId"]: row["PredictionString"].split(" ")[0] for _, row in table}
    lines = read_text(file).split()
    if lines and all(whole_number(line) is not None for line in lines):
        order = _devkit_order(file)
        lines = [order.get(int(line), line) for line in lines]
    return {f"ILSVRC2012_val_{number:08d}": line for number, line in enumerate(lines, start=1)}


def _label(truth: Mapping[str, str], name: str, file: Path) -> str:
    label = truth.get(name.rpartition(".")[0])
    if label is None or not WNID.fullmatch(label):
        shown = "nothing" if label is None else repr(label)
        raise UserError(f"{file}: no synset id for the image {name} ({shown} where one was expected)")
    return label


def _devkit_order(file: Path) -> Mapping[int, str]:
    """The development kit's class numbers. They do not follow the order of the synset ids, so both files are needed."""
    path = _near(file, ORDER_NAMES)
    order: dict[int, str] = {}
    for line in read_text(path).splitlines() if path else ():
        fields = line.split()
        if len(fields) >= 2 and WNID.fullmatch(fields[0]) and whole_number(fields[1]) is not None:
            order[int(fields[1])] = fields[0]
    if not order:
        needed = "map_clsloc.txt, with lines like 'n02119789 1 kit_fox', beside it"
        raise UserError(f"{file}: its numbers are in the order of the development kit's meta.mat; put {needed}")
    return order


def _near(place: Path, names: tuple[str, ...]) -> Path | None:
    """The first of some files in, beside, or a few folders above a place, or in a development kit there."""
    above = [place, *place.absolute().parents[:4]]
    paths = (folder / inner / name for folder in above for inner in ("", *DEVKIT) for name in names)
    return next((path for path in paths if path.is_file()), None)
