"""Small copies of data sets with boxes and maps, in their true form on disk."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

XML = """<annotation><filename>{name}.jpg</filename><size><width>40</width><height>30</height><depth>3</depth></size>
{objects}</annotation>
"""
OBJECT = """<object><name>{name}</name><pose>Left</pose><truncated>0</truncated><difficult>{difficult}</difficult>
<bndbox><xmin>{box[0]}</xmin><ymin>{box[1]}</ymin><xmax>{box[2]}</xmax><ymax>{box[3]}</ymax></bndbox>
<part><name>head</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>2</xmax><ymax>2</ymax></bndbox></part></object>
"""


def photograph(path: Path, seed: int, size: tuple[int, int] = (40, 30)) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(seed).integers(0, 255, (size[1], size[0], 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


def class_map(path: Path, values: NDArray[np.uint8], *, palette: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.fromarray(values, mode="L")
    if palette:
        picture = Image.fromarray(values, mode="P")
        picture.putpalette([value for number in range(256) for value in (number, 255 - number, 7)])
    picture.save(path)


def voc_tree(root: Path) -> Path:
    """Two training images of each year, one test image; the object of the first is in the corner."""
    for year, images, words in (
        ("VOC2007", ("000001", "000002"), "trainval"),
        ("VOC2012", ("2008_000001", "2008_000002"), "trainval"),
        ("VOC2007", ("000003",), "test"),
    ):
        base = root / "VOCdevkit" / year
        (base / "ImageSets/Main").mkdir(parents=True, exist_ok=True)
        (base / "ImageSets/Main" / f"{words}.txt").write_text("".join(f"{name}\n" for name in images))
        (base / "Annotations").mkdir(exist_ok=True)
        for number, name in enumerate(images):
            photograph(base / "JPEGImages" / f"{name}.jpg", number)
            objects = OBJECT.format(name="dog", difficult=0, box=(1, 1, 10, 20))
            objects += OBJECT.format(name="person", difficult=1, box=(11, 5, 40, 30))
            (base / "Annotations" / f"{name}.xml").write_text(XML.format(name=name, objects=objects))
    return root


def voc_segmentation_tree(root: Path) -> Path:
    base = root / "VOCdevkit/VOC2012"
    (base / "ImageSets/Segmentation").mkdir(parents=True, exist_ok=True)
    values = np.zeros((30, 40), dtype=np.uint8)
    values[5:10, 5:10], values[4, 4:11] = 12, 255
    for number, (words, name) in enumerate((("train", "2007_000001"), ("val", "2007_000002"))):
        (base / f"ImageSets/Segmentation/{words}.txt").write_text(f"{name}\n")
        photograph(base / f"JPEGImages/{name}.jpg", number)
        class_map(base / f"SegmentationClass/{name}.png", values, palette=True)
    return root


def ade20k_tree(root: Path) -> Path:
    base = root / "ADEChallengeData2016"
    values = np.zeros((30, 40), dtype=np.uint8)
    values[:, 20:], values[0, 0] = 1, 150
    for number, (folder, name) in enumerate((("training", "ADE_train_00000001"), ("validation", "ADE_val_00000001"))):
        photograph(base / f"images/{folder}/{name}.jpg", number)
        class_map(base / f"annotations/{folder}/{name}.png", values)
    return root
