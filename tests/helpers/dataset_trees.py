"""Tiny copies of the data sets, in the files and formats that their authors distribute."""

import gzip
import io
import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from unseen.data.core.dataset import Dataset, nowhere

VOC_CLASSES = [
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
]


def without_packages(dataset: Dataset) -> Dataset:
    """The data set as it is below a folder, whatever packages this machine has."""
    return replace(dataset, layouts=tuple(replace(layout, elsewhere=nowhere) for layout in dataset.layouts))


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def jpeg(seed: int) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (9, 12, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, "JPEG")
    return buffer.getvalue()


def write_images(folder: Path, names: Sequence[str]) -> None:
    for seed, name in enumerate(names):
        write(folder / name, jpeg(seed))


def aircraft(root: Path) -> None:
    data = root / "fgvc-aircraft-2013b/data"
    parts = {"train": ["0000001", "0000002"], "val": ["0000003", "0000004"], "test": ["0000005", "0000006"]}
    for part, images in parts.items():
        variants = zip(images, ("707-320", "Boeing 717"), strict=True)
        write(data / f"images_variant_{part}.txt", "".join(f"{image} {name}\n" for image, name in variants))
        write_images(data / "images", [f"{image}.jpg" for image in images])
    write(data / "variants.txt", "707-320\nBoeing 717\n")


def caltech101(root: Path) -> None:
    folder = root / "caltech101/101_ObjectCategories"
    for name, count in (("BACKGROUND_Google", 36), ("Faces", 31), ("accordion", 33)):
        write_images(folder / name, [f"image_{number:04d}.jpg" for number in range(1, count + 1)])
    write(folder / "BACKGROUND_Google/tmp", "")  # the true archive has this file


def cars(root: Path) -> None:
    from scipy.io import savemat

    folder = root / "stanford_cars"
    (folder / "devkit").mkdir(parents=True)
    names = np.array([["AM General Hummer SUV 2000", "Ram C/V Cargo Van Minivan 2012"]], dtype=object)
    savemat(folder / "devkit/cars_meta.mat", {"class_names": names})
    kind = [(name, "O") for name in ("bbox_x1", "bbox_y1", "bbox_x2", "bbox_y2", "class", "fname")]
    for part, file, count in (
        ("train", "devkit/cars_train_annos.mat", 12),
        ("test", "cars_test_annos_withlabels.mat", 4),
    ):
        images = [f"{number:05d}.jpg" for number in range(1, count + 1)]
        records = [(39, 116, 569, 375, 1 + number % 2, image) for number, image in enumerate(images)]
        savemat(folder / file, {"annotations": np.array([records], dtype=kind)}, do_compression=True)
        write_images(folder / f"cars_{part}", images)


def dtd(root: Path) -> None:
    folder = root / "dtd/dtd"
    for part, number in (("train", 2), ("val", 5), ("test", 9)):
        images = [f"{name}/{name}_{number:04d}.jpg" for name in ("banded", "zigzagged")]
        write(folder / f"labels/{part}1.txt", "\n".join(images) + "\n")
        write(folder / f"labels/{part}2.txt", "another/split.jpg\n")
        write_images(folder / "images", images)
    write(folder / "imdb/imdb.mat", "")


def flowers(root: Path) -> None:
    from scipy.io import savemat

    folder = root / "flowers-102"
    write_images(folder / "jpg", [f"image_{number:05d}.jpg" for number in range(1, 9)])
    labels = np.array([[77, 77, 77, 77, 3, 3, 3, 3]], dtype=np.uint8)
    savemat(folder / "imagelabels.mat", {"labels": labels}, do_compression=True)
    parts = {"tstid": [[1, 5, 2, 6]], "trnid": [[3, 7]], "valid": [[4, 8]]}
    savemat(folder / "setid.mat", {name: np.array(ids, dtype=np.uint16) for name, ids in parts.items()})


def food101(root: Path) -> None:
    folder = root / "food-101"
    for part, numbers in (("train", range(100, 106)), ("test", range(200, 202))):
        dishes = {dish: [f"{dish}/{number}" for number in numbers] for dish in ("waffles", "apple_pie")}
        write(folder / f"meta/{part}.json", json.dumps(dishes))
        write_images(folder / "images", [f"{image}.jpg" for images in dishes.values() for image in images])


def pets(root: Path) -> None:
    folder = root / "oxford-iiit-pet"
    for file, numbers in (("trainval", range(100, 106)), ("test", range(1, 3))):
        breeds = (("Abyssinian", 1, 1, 1), ("american_bulldog", 2, 2, 1))
        lines = [(f"{name}_{number}", *rest) for name, *rest in breeds for number in numbers]
        write(folder / f"annotations/{file}.txt", "".join(" ".join(map(str, line)) + "\n" for line in lines))
        write_images(folder / "images", [f"{line[0]}.jpg" for line in lines])


def sun397(root: Path) -> None:
    folder = root / "SUN397"
    scenes = ("/a/abbey", "/a/apartment_building/outdoor")
    write(folder / "ClassName.txt", "".join(f"{scene}\n" for scene in scenes))
    for file, count in (("Training_01", 5), ("Testing_01", 2)):
        images = [f"{scene}/sun_{file.lower()}{number}.jpg" for scene in scenes for number in range(count)]
        write(folder / f"{file}.txt", "".join(f"{image}\n" for image in images))
        write_images(folder, [image[1:] for image in images])


def voc_marks() -> dict[str, dict[str, dict[str, int]]]:
    """Part → image → class → 1 or, where it is difficult, 0. Image 20 of each part has a dog and a difficult chair."""
    marks: dict[str, dict[str, dict[str, int]]] = {}
    for number, part in enumerate(("train", "val", "test")):
        images = {f"{number:03d}{place:03d}": {name: 1} for place, name in enumerate(VOC_CLASSES)}
        marks[part] = images | {f"{number:03d}020": {"dog": 1, "chair": 0}, f"{number:03d}021": {"cow": 1, "person": 1}}
    return marks


def voc2007(root: Path) -> None:
    folder = root / "VOCdevkit/VOC2007"
    for part, images in voc_marks().items():
        write(folder / f"ImageSets/Main/{part}.txt", "".join(f"{image}\n" for image in images))
        for name in VOC_CLASSES:
            lines = (f"{image} {marks.get(name, -1):2d}\n" for image, marks in images.items())
            write(folder / f"ImageSets/Main/{name}_{part}.txt", "".join(lines))
        write_images(folder / "JPEGImages", [f"{image}.jpg" for image in images])


def class_folders(root: Path, folder: str, names: Mapping[str, Sequence[str]]) -> None:
    for name, images in names.items():
        write_images(root / folder / name, images)


def cropdiseases(root: Path) -> None:
    names = {"Apple___healthy": ["0a1b___RS_HL 1.JPG"], "Tomato___Leaf_Mold": ["x.JPG", "y.jpg"]}
    class_folders(root, "plant-disease/dataset/train", names)


def eurosat(root: Path) -> None:
    class_folders(root, "eurosat/2750", {name: [f"{name}_{n}.jpg" for n in (1, 2, 10)] for name in ("Forest", "River")})


def isic(root: Path) -> None:
    folder = root / "ISIC2018"
    lines = ["image,MEL,NV,BCC,AKIEC,BKL,DF,VASC", "ISIC_0024306,0.0,1.0,0.0,0.0,0.0,0.0,0.0"]
    lines += ["ISIC_0024310,1.0,0.0,0.0,0.0,0.0,0.0,0.0"]
    truth = "ISIC2018_Task3_Training_GroundTruth"
    write(folder / truth / f"{truth}.csv", "\n".join(lines))
    write_images(folder / "ISIC2018_Task3_Training_Input", ["ISIC_0024306.jpg", "ISIC_0024310.jpg"])


def chestx(root: Path) -> None:
    folder = root / "ChestX-Ray8"
    # The header's brackets hold commas without quotes, and every line ends in one.
    header = "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,View Position,"
    header += "OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],"
    findings = ["Cardiomegaly", "Cardiomegaly|Emphysema", "No Finding", "Pneumonia", "Mass", "Hernia"]
    rest = "0,1,058Y,M,PA,2682,2749,0.143,0.143,"
    lines = [f"0000000{number}_000.png,{finding},{rest}" for number, finding in enumerate(findings)]
    write(folder / "Data_Entry_2017.csv", "\n".join([header, *lines]))
    write_images(folder / "images", [line.split(",")[0] for line in lines])


def python_2_pickle(data: np.ndarray, strings: Mapping[str, str | list[str] | list[int]]) -> bytes:
    """The opcodes that Python 2 wrote for a dictionary of an array of bytes, strings and lists (protocol 2)."""

    def text(value: bytes) -> bytes:
        return b"U" + bytes([len(value)]) + value if len(value) < 256 else b"T" + struct.pack("<i", len(value)) + value

    def number(value: int) -> bytes:
        return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value)

    def item(value: object) -> bytes:
        if isinstance(value, list):
            return b"](" + b"".join(map(item, value)) + b"e"
        return number(value) if isinstance(value, int) else text(str(value).encode())

    array = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + text(b"b") + b"tR(K\x01("
    array += b"".join(map(number, data.shape)) + b"t"
    array += b"cnumpy\ndtype\n(" + text(b"u1") + b"K\x00K\x01tR(K\x03" + text(b"|") + b"NNNJ\xff\xff\xff\xffJ"
    array += b"\xff\xff\xff\xffK\x00tb\x89" + text(data.tobytes()) + b"tb"
    items = [text(b"data") + array] if data.size else []
    items += [text(key.encode()) + item(value) for key, value in strings.items()]
    return b"\x80\x02}(" + b"".join(items) + b"u."


def cifar_batch(seed: int, count: int, classes: int) -> tuple[np.ndarray, list[int]]:
    data = np.random.default_rng(seed).integers(0, 256, (count, 3072), dtype=np.uint8)
    return data, [number % classes for number in range(count)]


NOTHING = np.empty(0, dtype=np.uint8)


def cifar10(root: Path) -> None:
    folder = root / "cifar-10-batches-py"
    for seed, name in enumerate([*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]):
        data, labels = cifar_batch(seed, 4, 2)
        write(folder / name, python_2_pickle(data, {"labels": labels, "batch_label": "training batch 1 of 5"}))
    write(folder / "batches.meta", python_2_pickle(NOTHING, {"label_names": ["airplane", "automobile"]}))


def cifar10_binary(root: Path) -> None:
    folder = root / "cifar-10-batches-bin"
    for seed, name in enumerate([*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"]):
        data, labels = cifar_batch(seed, 4, 2)
        write(folder / f"{name}.bin", b"".join(bytes([y]) + x.tobytes() for x, y in zip(data, labels, strict=True)))
    write(folder / "batches.meta.txt", "airplane\nautomobile\n\n")


def cifar100(root: Path) -> None:
    folder = root / "cifar-100-python"
    for seed, (name, count) in enumerate((("train", 20), ("test", 4))):
        data, labels = cifar_batch(seed, count, 2)
        fields = {"fine_labels": labels, "coarse_labels": [0] * count, "filenames": ["a.png"] * count}
        write(folder / name, python_2_pickle(data, fields))
    names = {"fine_label_names": ["apple", "fish"], "coarse_label_names": ["things"]}
    write(folder / "meta", python_2_pickle(NOTHING, names))


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


def fashion_pixels(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, 28, 28), dtype=np.uint8)


def fashion_mnist(root: Path, folder: str = "FashionMNIST/raw", suffix: str = "") -> None:
    pack: Callable[[bytes], bytes] = gzip.compress if suffix else bytes
    for prefix, count in (("train", 20), ("t10k", 4)):
        labels = np.arange(count, dtype=np.uint8) % 2 * 9
        write(root / folder / f"{prefix}-images-idx3-ubyte{suffix}", pack(idx(fashion_pixels(count))))
        write(root / folder / f"{prefix}-labels-idx1-ubyte{suffix}", pack(idx(labels)))
