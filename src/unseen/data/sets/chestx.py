"""ChestX-ray8: chest X-rays with exactly one of 7 findings, selected as in CD-FSL.

The images are those of the later release, ChestX-ray14; CD-FSL uses the earlier name.
"""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import ALL, Listing, Row, files_listing
from unseen.files import read_table

LABELS = "Data_Entry_2017.csv"
CLASSES = ("Atelectasis", "Cardiomegaly", "Effusion", "Infiltration", "Mass", "Nodule", "Pneumothorax")
IMAGE, FINDINGS = "Image Index", "Finding Labels"


def read(place: Path) -> Listing:
    """A table with the findings of each image, joined by `|`; images with several or other findings are skipped."""
    rows = [
        Row(f"images/{record[IMAGE]}", record[FINDINGS], ALL)
        for _, record in read_table(place / LABELS, (IMAGE, FINDINGS))
        if record[FINDINGS] in CLASSES
    ]
    return files_listing(place, rows)


DATASET = Dataset(
    name="chestx",
    title="ChestX-ray8",
    also_called=("chest-xray14",),
    classes=7,
    metric="top1",
    test=None,
    validation=None,
    few_shot="cd-fsl",
    counts={"all": 25_848},
    layouts=(Layout("ChestX-Ray8", (LABELS, "images"), read),),
    get="Kaggle, nih-chest-xrays/data: Data_Entry_2017.csv, and the images of its twelve folders in one, images",
    licence="free to use, with link, citation, and acknowledgement of the NIH Clinical Center",
    citation="Wang et al. 2017, ChestX-ray8: Hospital-Scale Chest X-Ray Database and Benchmarks",
    column=3,
)
