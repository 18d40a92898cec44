"""CUB-200-2011: 200 species of birds."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, fields, files_listing
from unseen.errors import UserError

IMAGES, LABELS, NAMES, SPLIT = "images.txt", "image_class_labels.txt", "classes.txt", "train_test_split.txt"
PARTS = {"1": "train", "0": "test"}


def read(place: Path) -> Listing:
    """Four lists by number: the file and the class of each image, the name of each class, and 1 for training images."""
    names, labels, parts = (_table(place / file) for file in (NAMES, LABELS, SPLIT))
    rows = []
    for image, file in _table(place / IMAGES).items():
        name, part = names.get(labels.get(image, "")), PARTS.get(parts.get(image, ""))
        if name is None or part is None:
            raise UserError(f"{place}: {IMAGES} has an image {image} without a class in {LABELS} or a part in {SPLIT}")
        rows.append(Row(f"images/{file}", name, part))
    return files_listing(place, rows)


def _table(path: Path) -> dict[str, str]:
    return dict(fields(path, 2, "a number and what it stands for"))


DATASET = Dataset(
    name="cub",
    title="CUB-200-2011",
    also_called=("cub-200",),
    classes=200,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="other",
    counts={"train": 4796, "val": 1198, "test": 5794},
    layouts=(Layout("CUB_200_2011", ("images", IMAGES, LABELS, NAMES, SPLIT), read),),
    get="CaltechDATA, CUB-200-2011: CUB_200_2011.tgz",
    licence="non-commercial research only; photographs belong to their owners",
    citation="Wah et al. 2011, The Caltech-UCSD Birds-200-2011 Dataset",
)
