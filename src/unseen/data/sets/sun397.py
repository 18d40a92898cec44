"""SUN397: 397 kinds of scene, in the first of its ten splits of 50 + 50 images per class."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import Listing, Row, fields, files_listing

FILES = {"train": "Training_01.txt", "test": "Testing_01.txt"}


def read(place: Path) -> Listing:
    """Lines of a path, such as `/a/apartment_building/outdoor/sun_axhl.jpg`; the scene is the part between letter and
    file.
    """
    rows = [
        Row(path.removeprefix("/"), path.removeprefix("/").partition("/")[2].rpartition("/")[0], part)
        for part, file in FILES.items()
        for (path,) in fields(place / file, 1, "the path of an image")
    ]
    return files_listing(place, rows)


DATASET = Dataset(
    name="sun397",
    title="SUN397",
    classes=397,
    metric="top1",
    test="author",
    validation="fifth",
    few_shot="kornblith",
    counts={"train": 15_880, "val": 3970, "test": 19_850},
    layouts=(Layout("SUN397", tuple(FILES.values()), read),),
    get="Princeton Vision, SUN Database: SUN397.tar.gz, and Partitions.zip unpacked into the folder SUN397",
    licence="research only; photographs belong to their owners",
    citation="Xiao et al. 2010, SUN Database: Large-scale Scene Recognition from Abbey to Zoo",
)
