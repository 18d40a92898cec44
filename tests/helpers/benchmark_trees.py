"""Tiny copies of the data sets of benchmarks, in the files and formats that their authors distribute."""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from dataset_trees import write, write_images

KITTI_CAR = "Car 0.00 0 1.85 387.63 181.54 423.81 203.12 1.67 1.87 3.69 -16.53 2.39 58.49 1.57"
KITTI_OTHERS = (
    "DontCare -1 -1 -10 503.89 169.71 590.61 190.13 -1 -1 -1 -1000 -1000 -1000 -10",
    "Pedestrian 0.00 0 -0.20 712.40 143.00 810.73 307.92 1.89 0.48 1.20 1.84 1.47 8.41 0.01",
)


def svhn(root: Path) -> None:
    from scipy.io import savemat

    (root / "svhn").mkdir()
    for part, count in (("train", 20), ("test", 4)):
        digits = np.where(np.arange(count) % 2, 10, 1).astype(np.uint8)[:, None]
        savemat(root / f"svhn/{part}_32x32.mat", {"X": svhn_pixels(count), "y": digits}, do_compression=True)


def svhn_pixels(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (32, 32, 3, count), dtype=np.uint8)


def patch_camelyon(root: Path) -> None:
    import h5py

    (root / "pcam").mkdir()
    for part, count in (("train", 4), ("valid", 2), ("test", 2)):
        with h5py.File(root / f"pcam/camelyonpatch_level_2_split_{part}_x.h5", "w") as file:
            file.create_dataset("x", data=patches(count), chunks=(1, 96, 96, 3), compression="gzip")
        with h5py.File(root / f"pcam/camelyonpatch_level_2_split_{part}_y.h5", "w") as file:
            file["y"] = (np.arange(count) % 2).astype(np.uint8).reshape(count, 1, 1, 1)


def patches(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, 96, 96, 3), dtype=np.uint8)


def resisc45(root: Path, images: int = 40) -> None:
    for name in ("airplane", "wetland"):
        write_images(root / "NWPU-RESISC45" / name, [f"{name}_{number:03d}.jpg" for number in range(1, images + 1)])


def diabetic_retinopathy(root: Path) -> None:
    folder = root / "diabetic-retinopathy-detection"
    train = [(f"{number}_{side}", number % 2 * 4) for number in (10, 13) for side in ("left", "right")]
    test = [(f"{number}_left", number % 2 * 4, use) for number in (1, 2) for use in ("Public", "Private")]
    test = [(f"{number}_{image}", level, use) for number, (image, level, use) in enumerate(test)]
    write(folder / "trainLabels.csv", "image,level\n" + "".join(f"{name},{level}\n" for name, level in train))
    lines = "".join(f"{name},{level},{use}\n" for name, level, use in test)
    write(folder / "retinopathy_solution.csv", f"image,level,Usage\n{lines}")
    write_images(folder / "train", [f"{name}.jpeg" for name, _ in train])
    write_images(folder / "test", [f"{name}.jpeg" for name, *_ in test])


def clevr(root: Path, scenes: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Scenes of some parts, each the distances of its objects."""
    folder = root / "CLEVR_v1.0"
    for part, every in scenes.items():
        names = [f"CLEVR_{part}_{number:06d}.png" for number in range(len(every))]
        records = [
            {
                "image_index": number,
                "image_filename": names[number],
                "split": part,
                "objects": [{"shape": "cube", "pixel_coords": [93, 41, distance]} for distance in distances],
            }
            for number, distances in enumerate(every)
        ]
        write(folder / f"scenes/CLEVR_{part}_scenes.json", json.dumps({"info": {}, "scenes": records}))
        write_images(folder / f"images/{part}", names)


def example(image: bytes, name: str, label: int) -> bytes:
    """A `tf.train.Example`, field by field as in its definition."""

    def message(number: int, content: bytes) -> bytes:
        return varint(number << 3 | 2) + varint(len(content)) + content

    def varint(value: int) -> bytes:
        low, rest = value & 0x7F, value >> 7
        return bytes([low | 0x80]) + varint(rest) if rest else bytes([low])

    def feature(key: str, value: bytes) -> bytes:
        return message(1, message(1, key.encode()) + message(2, value))

    texts = [("image", image), ("filename", name.encode())]
    features = [feature(key, message(1, message(1, value))) for key, value in texts]
    features.append(feature("label", message(3, message(1, varint(label)))))
    return message(1, b"".join(features))


def slow_crc32c(data: bytes) -> int:
    """CRC-32C bit by bit, from its polynomial."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def record(data: bytes) -> bytes:
    def masked(content: bytes) -> bytes:
        crc = slow_crc32c(content)
        return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)

    size = struct.pack("<Q", len(data))
    return size + masked(size) + data + masked(data)


def dmlab(root: Path, counts: Mapping[str, int] | None = None) -> None:
    from dataset_trees import jpeg

    for part, count in (counts or {"train": 4, "validation": 2, "test": 2}).items():
        records = [record(example(jpeg(number), f"{part}{number}.jpg", number % 2 * 5)) for number in range(count)]
        half = len(records) // 2
        write(root / f"dmlab/dmlab-{part}.tfrecord-00000-of-00002", b"".join(records[:half]))
        write(root / f"dmlab/dmlab-{part}.tfrecord-00001-of-00002", b"".join(records[half:]))


def kitti(root: Path, videos: int = 10, frames: int = 4) -> None:
    """Images of all videos in a mixed order; the closest vehicle of image n is far, near, absent, or in between."""
    folder, images = root / "kitti", videos * frames
    order = np.random.default_rng(0).permutation(images)
    lines = [f"2011_09_26 2011_09_26_drive_{n // frames:04d}_sync {n % frames:010d}" for n in range(images)]
    write(folder / "mapping/train_mapping.txt", "\n".join(lines) + "\n")
    write(folder / "mapping/train_rand.txt", ",".join(str(place + 1) for place in order))
    for number in range(images):
        closest = {1: "7.95", 3: "20.00"}.get(number % 4, "58.49")
        cars = [KITTI_CAR.replace("58.49", closest), KITTI_CAR] if number % 4 != 2 else []
        write(folder / f"training/label_2/{number:06d}.txt", "\n".join([*KITTI_OTHERS, *cars]) + "\n")
    write_images(folder / "training/image_2", [f"{number:06d}.png" for number in range(images)])


def dsprites(root: Path, images: int = 160) -> None:
    factors = np.stack([np.arange(images) % count for count in (1, 3, 6, 40, 32, 32)], axis=1)
    arrays = {"imgs": sprites(images), "latents_classes": factors, "latents_values": factors.astype(float)}
    (root / "dsprites").mkdir()
    place = root / "dsprites/dsprites_ndarray_co1sh3sc6or40x32y32_64x64.npz"
    np.savez_compressed(place, metadata=np.array({"title": "dSprites"}, dtype=object), **arrays)


def sprites(images: int) -> np.ndarray:
    return np.random.default_rng(images).integers(0, 2, (images, 64, 64), dtype=np.uint8)


def smallnorb(root: Path, train: int = 36, test: int = 72) -> None:
    for name, count in (("5x46789x9x18x6x2x96x96-training", train), ("5x01235x9x18x6x2x96x96-testing", test)):
        info = np.stack([number_of(count, most, step) for most, step in ((10, 1), (9, 1), (18, 2), (6, 1))], axis=1)
        for kind, array in (("dat", toys(count)), ("cat", info[:, 0]), ("info", info)):
            write(root / f"smallnorb/smallnorb-{name}-{kind}.mat", norb(array))


def number_of(count: int, most: int, step: int) -> np.ndarray:
    return (np.arange(count) % most * step).astype("<i4")


def toys(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, 2, 96, 96), dtype=np.uint8)


def norb(array: np.ndarray) -> bytes:
    """The binary matrix of the small NORB pages: at least three sizes, whatever the number of dimensions."""
    magic = 0x1E3D4C55 if array.dtype == np.uint8 else 0x1E3D4C54
    sizes = [*array.shape, *[1] * (3 - array.ndim)]
    return struct.pack(f"<{2 + len(sizes)}i", magic, array.ndim, *sizes) + array.tobytes()


def inaturalist(root: Path, year: int = 2018, few: int = 2) -> None:
    """Two classes: one with eight training images, one with `few`."""
    folder, number = root / f"inaturalist-{year}", 0
    for part, counts in (("train", (8, few)), ("val", (3, 3))):
        images, annotations = [], []
        for category, count in enumerate(counts):
            for _ in range(count):
                number += 1
                images.append({"id": number, "file_name": f"train_val{year}/Plantae/{category}/{number}.jpg"})
                annotations.append({"id": number, "image_id": number, "category_id": category})
        categories = [{"id": category, "name": f"species {category}"} for category in range(2)]
        record = {"images": images, "annotations": annotations, "categories": categories}
        write(folder / f"{part}{year}.json", json.dumps(record))
        write_images(folder, [image["file_name"] for image in images])


def inaturalist_2019(root: Path) -> None:
    inaturalist(root, 2019)


def cub(root: Path) -> None:
    folder, names = root / "CUB_200_2011", ("001.Black_footed_Albatross", "002.Laysan_Albatross")
    files = [f"{name}/{name[4:]}_{number:04d}_1.jpg" for name in names for number in range(8)]
    write(folder / "classes.txt", "".join(f"{number} {name}\n" for number, name in enumerate(names, 1)))
    write(folder / "images.txt", "".join(f"{number} {file}\n" for number, file in enumerate(files, 1)))
    lines = [f"{number} {1 + (number > 8)}\n" for number in range(1, 17)]
    write(folder / "image_class_labels.txt", "".join(lines))
    write(folder / "train_test_split.txt", "".join(f"{number} {int(number % 4 > 0)}\n" for number in range(1, 17)))
    write_images(folder / "images", files)


def stl10(root: Path) -> None:
    folder = root / "stl10_binary"
    write(folder / "class_names.txt", "airplane\nbird\n")
    for part, count in (("train", 20), ("test", 4)):
        write(folder / f"{part}_X.bin", stl10_pixels(count).tobytes())
        write(folder / f"{part}_y.bin", bytes(1 + number % 2 for number in range(count)))


def stl10_pixels(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 256, (count, 3, 96, 96), dtype=np.uint8)


def country211(root: Path) -> None:
    for part, count in (("train", 3), ("valid", 1), ("test", 2)):
        for country in ("AD", "ZW"):
            write_images(root / "country211" / part / country, [f"{number}.jpg" for number in range(count)])


def gtsrb(root: Path) -> None:
    header = "Filename;Width;Height;Roi.X1;Roi.Y1;Roi.X2;Roi.Y2;ClassId\n"
    for number in (0, 42):
        folder = root / f"GTSRB/Final_Training/Images/{number:05d}"
        names = [f"{track:05d}_{frame:05d}.ppm" for track in range(2) for frame in range(3)]
        write(folder / f"GT-{number:05d}.csv", header + "".join(f"{n};29;30;5;6;24;25;{number}\n" for n in names))
        write_images(folder, names)
    lines = [f"{number:05d}.ppm;53;54;6;5;48;49;{number % 2 * 42}\n" for number in range(4)]
    write(root / "GTSRB/GT-final_test.csv", header + "".join(lines))
    write_images(root / "GTSRB/Final_Test/Images", [f"{number:05d}.ppm" for number in range(4)])


def vtab_lists(root: Path, folder: str, labels: dict[str, Sequence[int]]) -> Path:
    """The lists of a task with such labels, and its images."""
    place, together = root / "vtab-1k" / folder, ""
    for part, file in (("train", "train800"), ("val", "val200"), ("test", "test")):
        images = [f"images/{part}/{number:06d}.jpg" for number in range(len(labels[part]))]
        text = "".join(f"{image} {label}\n" for image, label in zip(images, labels[part], strict=True))
        write(place / f"{file}.txt", text)
        write_images(place, images)
        together += text if part != "test" else ""
    write(place / "train800val200.txt", together)
    return place
