"""Caltech-101: 101 categories of objects, and background as the 102nd class."""

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.formats.class_folders import class_folders

DATASET = Dataset(
    name="caltech101",
    title="Caltech-101",
    classes=102,
    metric="mean-per-class",
    test="beyond-30",
    validation="fifth",
    few_shot="kornblith",
    counts={"train": 2448, "val": 612, "test": 6084},
    layouts=(Layout("caltech101/101_ObjectCategories", ("BACKGROUND_Google",), class_folders),),
    get="CaltechDATA, Caltech 101: caltech-101.zip, with 101_ObjectCategories.tar.gz in it unpacked",
    licence="CC BY 4.0",
    citation="Fei-Fei et al. 2004, Learning Generative Visual Models from Few Training Examples",
)
