"""Food-101: 101 dishes; by design, the training images contain label noise."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, files_listing
from unseen.reading.json_records import read_json, typed

PARTS = ("train", "test")


def read(place: Path) -> Listing:
    """Each part has a JSON file with the images of each dish, such as `apple_pie/1005649`."""
    rows = [
        Row(f"images/{image}.jpg", dish, part)
        for part in PARTS
        for dish, images in sorted(_dishes(place / f"meta/{part}.json").items())
        for image in images
    ]
    return files_listing(place, rows)


def _dishes(file: Path) -> dict[str, list[str]]:
    dishes: dict[str, list[str]] = typed(read_json(file), dict[str, list[str]], str(file))
    return dishes


DATASET = Dataset(
    name="food101",
    title="Food-101",
    classes=101,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="kornblith",
    counts={"train": 60_600, "val": 15_150, "test": 25_250},
    layouts=(Layout("food-101", ("images", *(f"meta/{part}.json" for part in PARTS)), read),),
    get="ETH Zürich CVL, Food-101: food-101.tar.gz",
    licence="scientific fair use; photographs belong to Foodspotting's users",
    citation="Bossard et al. 2014, Food-101 – Mining Discriminative Components with Random Forests",
)
