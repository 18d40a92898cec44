"""Country211: photographs labelled by the country in which they were taken."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.folder import folder_images
from unseen.data.core.rows import Listing, Row, files_listing

PARTS = {"train": "train", "val": "valid", "test": "test"}


def read(place: Path) -> Listing:
    """Each part is a folder with one folder per country."""
    rows = [
        Row(f"{folder}/{entry.id}", entry.label, part)
        for part, folder in PARTS.items()
        for entry in folder_images(place / folder).entries
    ]
    return files_listing(place, rows)


DATASET = Dataset(
    name="country211",
    title="Country211",
    classes=211,
    metric="top1",
    test="author",
    validation="author",
    few_shot="other",
    counts={"train": 31_650, "val": 10_550, "test": 21_100},
    layouts=(Layout("country211", tuple(PARTS.values()), read),),
    get="OpenAI, CLIP (data/country211.md): country211.tgz",
    licence="Creative Commons, by photograph (YFCC100M)",
    citation="Radford et al. 2021, Learning Transferable Visual Models From Natural Language Supervision",
)
