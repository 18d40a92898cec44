"""ADE20K in the version of the 2016 scene parsing challenge: 150 classes."""

from pathlib import Path

from unseen.data.core.dataset import Dataset, Layout
from unseen.data.core.listing import list_folder
from unseen.data.core.rows import Listing
from unseen.data.formats.map_files import ClassMaps, paired_listing

PARTS = (("training", "train"), ("validation", "test"))
NAMES = """
wall, building, sky, floor, tree, ceiling, road, bed, windowpane, grass, cabinet, sidewalk, person, earth, door,
table, mountain, plant, curtain, chair, car, water, painting, sofa, shelf, house, sea, mirror, rug, field, armchair,
seat, fence, desk, rock, wardrobe, lamp, bathtub, railing, cushion, base, box, column, signboard, chest of drawers,
counter, sand, sink, skyscraper, fireplace, refrigerator, grandstand, path, stairs, runway, case, pool table, pillow,
screen door, stairway, river, bridge, bookcase, blind, coffee table, toilet, flower, book, hill, bench, countertop,
stove, palm, kitchen island, computer, swivel chair, boat, bar, arcade machine, hovel, bus, towel, light, truck,
tower, chandelier, awning, streetlight, booth, television receiver, airplane, dirt track, apparel, pole, land,
bannister, escalator, ottoman, bottle, buffet, poster, stage, van, ship, fountain, conveyer belt, canopy, washer,
plaything, swimming pool, stool, barrel, basket, waterfall, tent, bag, minibike, cradle, oven, ball, food, step, tank,
trade name, microwave, pot, animal, bicycle, lake, dishwasher, screen, blanket, sculpture, hood, sconce, vase, traffic
light, tray, ashcan, fan, pier, crt screen, plate, monitor, bulletin board, shower, radiator, glass, clock, flag
"""
CLASSES = tuple(" ".join(NAMES.split()).split(", "))


def read(place: Path) -> Listing:
    """All images of the two folders; in label files, 0 is unlabelled and classes count from 1."""
    images = [
        (f"images/{folder}/{name}", part)
        for folder, part in PARTS
        for name in sorted(entry.name for entry in list_folder(place / "images" / folder))
        if name.endswith(".jpg")
    ]
    return paired_listing(place, images, _labels, lambda names: ClassMaps(place, names, first=1))


def _labels(image: str) -> str:
    return image.replace("images/", "annotations/").removesuffix(".jpg") + ".png"


DATASETS = (
    Dataset(
        name="ade20k",
        title="ADE20K",
        target="map",
        classes=len(CLASSES),
        names=CLASSES,
        counts={"train": 20_210, "test": 2_000},
        layouts=(
            Layout(
                "ADEChallengeData2016",
                tuple(f"{kind}/{folder}" for kind in ("images", "annotations") for folder, _ in PARTS),
                read,
            ),
        ),
        get="MIT Scene Parsing Benchmark: ADEChallengeData2016.zip",
        licence="BSD-3 for the annotations; images for research and education",
        citation="Zhou et al. 2017, Scene parsing through ADE20K dataset",
    ),
)
