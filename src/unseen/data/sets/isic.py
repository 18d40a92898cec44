"""ISIC 2018, task 3: dermoscopic images of 7 kinds of skin lesion; only the training part, as in CD-FSL."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.rows import ALL, Listing, Row, files_listing
from unseen.errors import UserError
from unseen.files import read_table

IMAGES = "ISIC2018_Task3_Training_Input"
LABELS = "ISIC2018_Task3_Training_GroundTruth/ISIC2018_Task3_Training_GroundTruth.csv"
CLASSES = ("MEL", "NV", "BCC", "AKIEC", "BKL", "DF", "VASC")


def read(place: Path) -> Listing:
    """A table with one column per lesion, which is 1.0 for the lesion in the image."""
    rows = []
    for line, record in read_table(place / LABELS, ("image", *CLASSES)):
        shown = [name for name in CLASSES if record[name] not in {"0", "0.0"}]
        if len(shown) != 1 or record[shown[0]] not in {"1", "1.0"}:
            raise UserError(f"{place / LABELS}, line {line}: expected one 1.0 among {','.join(CLASSES)}")
        rows.append(Row(f"{IMAGES}/{record['image']}.jpg", shown[0], ALL))
    return files_listing(place, rows)


DATASET = Dataset(
    name="isic",
    title="ISIC 2018",
    classes=7,
    metric="top1",
    test=None,
    validation=None,
    few_shot="cd-fsl",
    counts={"all": 10_015},
    layouts=(Layout("ISIC2018", (IMAGES, LABELS), read),),
    get="ISIC Archive, challenge 2018: ISIC2018_Task3_Training_Input.zip, ISIC2018_Task3_Training_GroundTruth.zip",
    licence="CC BY-NC 4.0",
    citation="Tschandl et al. 2018, The HAM10000 Dataset; Codella et al. 2019, Skin Lesion Analysis",
    column=2,
)
