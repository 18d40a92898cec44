"""A tiny ImageNet in the true formats: ImageNet-21K as one tar file of tar files, ImageNet-1K as its official files."""

import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

SEEN = {"n01440764": "tench", "n01443537": "goldfish", "n02123045": "tabby"}
LEVELS = {
    1: {"n02121808": "domestic_cat.n.01", "n02124623": "serval.n.01", "n02125081": "lynx.n.02"},
    2: {"n03930630": "pickup.n.01", "n04037443": "racer.n.02", "n04285008": "sports_car.n.01"},
}
IMAGES = 12
SIDE = 24
TEST, TRAIN = 3, 8

BACKBONE = """
from torch import nn
from unseen.data.core.decoding.transform import Transform

def make():
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten()), Transform(size=16, resize=16)

def other():
    return nn.Sequential(nn.AdaptiveMaxPool2d(2), nn.Flatten()), Transform(size=16, resize=16)
"""


@dataclass(frozen=True)
class TinyImageNet:
    """Where everything is."""

    folder: Path

    @property
    def imagenet_21k(self) -> Path:
        return self.folder / "fall11_whole.tar"

    @property
    def imagenet_1k(self) -> Path:
        return self.folder / "imagenet-1k"

    @property
    def levels(self) -> Path:
        return self.folder / "levels.csv"

    @property
    def splits(self) -> Path:
        return self.folder / "splits.npz"

    @property
    def backbone(self) -> str:
        return f"{self.folder / 'tiny.py'}:make"


def make_tiny_imagenet(folder: Path) -> TinyImageNet:
    """Write it all: 12 images a concept, of which splits draw 3 to test and at most 8 to train."""
    from unseen.data.core.listing import list_images
    from unseen.data.core.splits import SplitRule, draw_splits

    tiny = TinyImageNet(folder)
    tiny.imagenet_1k.mkdir(parents=True)
    (folder / "tiny.py").write_text(BACKBONE)
    rows = [
        f"{level},{10 * level + i},{wnid},{name},{0.9 - 0.3 * level - 0.01 * i},n02123045,{IMAGES}"
        for level, concepts in LEVELS.items()
        for i, (wnid, name) in enumerate(concepts.items())
    ]
    tiny.levels.write_text("\n".join(["level,rank,wnid,name,similarity,nearest,images", *rows, ""]))
    unseen = [wnid for concepts in LEVELS.values() for wnid in concepts]
    write_tar_of_tars(tiny.imagenet_21k, [*unseen, "n00007846"], IMAGES)
    rule = SplitRule(TEST, TRAIN - 2, TRAIN)
    draw_splits(list_images(tiny.imagenet_21k), unseen, source="tiny", rule=rule).write(tiny.splits)
    _write_imagenet_1k(tiny.imagenet_1k)
    return tiny


def write_tar_of_tars(path: Path, wnids: list[str], images: int) -> None:
    with tarfile.open(path, "w") as outer:
        for number, wnid in enumerate(wnids):
            inner = io.BytesIO()
            with tarfile.open(fileobj=inner, mode="w") as archive:
                for i, picture in enumerate(pictures(number, images)):
                    add(archive, f"{wnid}_{i}.JPEG", picture)
            add(outer, f"{wnid}.tar", inner.getvalue())


def _write_imagenet_1k(folder: Path) -> None:
    """Two tar files, and the development kit with its own numbering of classes."""
    seen = list(SEEN)
    write_tar_of_tars(folder / "ILSVRC2012_img_train.tar", seen, IMAGES)
    kit = folder / "ILSVRC2012_devkit_t12/data"
    kit.mkdir(parents=True)
    order = [2, 0, 1]  # the kit's numbers do not follow the ids
    (kit / "map_clsloc.txt").write_text("".join(f"{seen[c]} {n} {SEEN[seen[c]]}\n" for n, c in enumerate(order, 1)))
    labels = [i % len(seen) for i in range(TEST * len(seen))]
    truth = "".join(f"{order.index(label) + 1}\n" for label in labels)
    (kit / "ILSVRC2012_validation_ground_truth.txt").write_text(truth)
    streams = [pictures(number, TEST, seed=1) for number in range(len(seen))]
    with tarfile.open(folder / "ILSVRC2012_img_val.tar", "w") as archive:
        for i, label in enumerate(labels, start=1):
            add(archive, f"ILSVRC2012_val_{i:08d}.JPEG", next(streams[label]))


def pictures(number: int, count: int, seed: int = 0) -> Iterator[bytes]:
    """JPEGs of a class: a colour of its own under noise."""
    rng = np.random.default_rng([number, seed])
    colour = np.random.default_rng(number).integers(40, 216, 3)
    for _ in range(count):
        pixels = np.clip(colour + rng.normal(0, 25, 3) + rng.normal(0, 30, (SIDE, SIDE + 4, 3)), 0, 255)
        file = io.BytesIO()
        Image.fromarray(pixels.astype(np.uint8)).save(file, "JPEG")
        yield file.getvalue()


def add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))
