"""Oxford-IIIT Pets: 37 breeds of cats and dogs."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, fields, files_listing

FILES = {"train": "annotations/trainval.txt", "test": "annotations/test.txt"}


def read(place: Path) -> Listing:
    """Lines of an image, such as `Abyssinian_100`, and its class, species and breed as numbers; the name contains the
    breed.
    """
    rows = [
        Row(f"images/{image}.jpg", image.rpartition("_")[0], part)
        for part, file in FILES.items()
        for image, *_ in fields(place / file, 4, "an image and three numbers")
    ]
    return files_listing(place, rows)


DATASET = Dataset(
    name="pets",
    title="Oxford-IIIT Pets",
    also_called=("oxford-pets", "oxford-iiit-pet"),
    classes=37,
    metric="mean-per-class",
    test="author",
    validation="fifth",
    few_shot="kornblith",
    counts={"train": 2944, "val": 736, "test": 3669},
    layouts=(Layout("oxford-iiit-pet", ("images", *FILES.values()), read),),
    get="Oxford VGG, Oxford-IIIT Pet: images.tar.gz, annotations.tar.gz",
    licence="CC BY-SA 4.0",
    citation="Parkhi et al. 2012, Cats and Dogs",
)
