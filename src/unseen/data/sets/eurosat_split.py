"""EuroSAT with training, validation and test images: 810 images per class for testing and 540 for validation.

These are the numbers of T-ReX and UNIC, which do not publish their draw.
"""

from dataclasses import replace

from unseen.data.sets import eurosat

DATASET = replace(
    eurosat.DATASET,
    name="eurosat-split",
    title="EuroSAT, with test images",
    also_called=("eurosat",),
    test="held-810",
    validation="held-540",
    few_shot="other",
    counts={"train": 13_500, "val": 5400, "test": 8100},
    column=0,
)
