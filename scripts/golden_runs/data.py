"""Tiny data of every kind: images, archives, features, labels. Made without the package, from fixed seeds."""

import io
import json
import shutil
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SEEN = {"n01440764": "tench", "n01443537": "goldfish", "n02123045": "tabby"}
LEVELS = {
    1: {"n02121808": "domestic_cat.n.01", "n02124623": "serval.n.01", "n02125081": "lynx.n.02"},
    2: {"n03930630": "pickup.n.01", "n04037443": "racer.n.02", "n04285008": "sports_car.n.01"},
}
TEST, TRAIN, IMAGES = 10, 10, 22


def picture(kind: int, rng: np.random.Generator, side: int = 16, noise: float = 60.0) -> NDArray[np.uint8]:
    """A colour and a stripe that depend on the class, under so much noise that probes make mistakes."""
    of_class = np.random.default_rng([7, kind])
    colour, stripe = of_class.integers(60, 196, 3), of_class.integers(0, side)
    pixels = colour + rng.normal(0, 20, 3) + rng.normal(0, noise, (side, side + 2, 3))
    pixels[:, stripe % side] += 50
    return pixels.clip(0, 255).astype(np.uint8)


def encoded(pixels: NDArray[Any], format_: str) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format_)
    return file.getvalue()


def save(path: Path, pixels: NDArray[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(pixels, "PNG"))


def class_folders(folder: Path, classes: Sequence[str], images: int, *, seed: int, first: int = 0) -> Path:
    """One folder per class; `first` is the number of the first class, so that other classes look different."""
    for place, name in enumerate(classes):
        rng = np.random.default_rng([seed, place])
        for number in range(images):
            save(folder / name / f"{number:02d}.png", picture(first + place, rng))
    return folder


def splits(folder: Path, classes: Sequence[str], images: Mapping[str, int], *, seed: int) -> Path:
    """A data set as a folder with `train`, `test` and possibly `val`."""
    for number, (split, count) in enumerate(images.items()):
        class_folders(folder / split, classes, count, seed=10 * seed + number)
    return folder


def levels(path: Path, concepts: Mapping[int, Iterable[str]]) -> Path:
    """A file of levels; `concepts` are the ids of each."""
    names = {wnid: name for each in LEVELS.values() for wnid, name in each.items()}
    rows = [
        f"{level},{10 * level + place},{wnid},{names.get(wnid, wnid)},{0.9 - 0.3 * level - 0.01 * place},n02123045,22"
        for level, each in concepts.items()
        for place, wnid in enumerate(each)
    ]
    return write(path, "\n".join(["level,rank,wnid,name,similarity,nearest,images", *rows, ""]))


def features(path: Path, classes: Sequence[str], rows: int, *, seed: int, dimension: int = 16) -> Path:
    """Features in a file, so many of each class in no order; labels are places among the classes, as they are given."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(rows * len(classes)) % len(classes))
    places = np.random.default_rng(1).normal(size=(len(classes), dimension))
    of_class = places[np.argsort(np.argsort(np.array(classes)))]  # a class is where it is in any order
    X = of_class[y] + 1.6 * rng.normal(size=(len(y), dimension))
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, X=X.astype(np.float32), y=y, classes=np.array(classes))
    return path


def imagenet(folder: Path) -> None:
    """ImageNet-21K as one tar file of tar files, ImageNet-1K as its official files, and levels."""
    levels(folder / "levels.csv", LEVELS)
    unseen = [wnid for concepts in LEVELS.values() for wnid in concepts]
    tar_of_tars(folder / "fall11_whole.tar", unseen, IMAGES)
    seen, place = list(SEEN), folder / "imagenet-1k"
    tar_of_tars(place / "ILSVRC2012_img_train.tar", seen, IMAGES, first=20)
    kit = place / "ILSVRC2012_devkit_t12/data"
    order = [2, 0, 1]  # the kit's numbers do not follow the ids
    write(kit / "map_clsloc.txt", "".join(f"{seen[c]} {n} {SEEN[seen[c]]}\n" for n, c in enumerate(order, 1)))
    labels = [i % len(seen) for i in range(TEST * len(seen))]
    truth = "".join(f"{order.index(label) + 1}\n" for label in labels)
    write(kit / "ILSVRC2012_validation_ground_truth.txt", truth)
    rng = np.random.default_rng(21)
    with tarfile.open(place / "ILSVRC2012_img_val.tar", "w") as archive:
        for i, label in enumerate(labels, start=1):
            _add(archive, f"ILSVRC2012_val_{i:08d}.JPEG", encoded(picture(20 + label, rng), "JPEG"))


def tar_of_tars(path: Path, wnids: Sequence[str], images: int, *, first: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as outer:
        for number, wnid in enumerate(wnids, start=first):
            inner, rng = io.BytesIO(), np.random.default_rng([3, number])
            with tarfile.open(fileobj=inner, mode="w") as archive:
                for i in range(images):
                    _add(archive, f"{wnid}_{i}.JPEG", encoded(picture(number, rng), "JPEG"))
            _add(outer, f"{wnid}.tar", inner.getvalue())


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    archive.addfile(member, io.BytesIO(content))


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def scenes(folder: Path, images: Mapping[str, int], *, side: int = 48, seed: int = 5) -> Path:
    """Scenes of two rectangles with their masks, depths and boxes, and a TOML file for each kind of label."""
    classes = ("wall", "box", "lamp")
    colours = np.array([(120, 120, 120), (190, 90, 60), (70, 100, 190)])
    for number, (split, count) in enumerate(images.items()):
        rng, listed = np.random.default_rng([seed, number]), list[dict[str, Any]]()
        boxes = list[dict[str, Any]]()
        for image in range(count):
            mask = np.zeros((side, side), np.uint8)
            for kind in (1, 2):
                (x, y), (w, h) = rng.integers(0, side // 2, 2).tolist(), rng.integers(side // 4, side // 2, 2).tolist()
                mask[y : y + h, x : x + w] = kind
                boxes.append(_box(len(boxes), image, kind, (x, y, w, h)))
            name = f"{image:02d}.png"
            pixels = colours[mask] + rng.normal(0, 45, (side, side, 3))
            save(folder / f"images/{split}/{name}", pixels.clip(0, 255).astype(np.uint8))
            save(folder / f"masks/{split}/{name}", mask)
            depth = 3000 - 900 * mask.astype(np.int64) + rng.integers(0, 200, (side, side))
            save(folder / f"depths/{split}/{name}", depth.astype(np.uint16))
            listed.append({"id": image, "file_name": name, "width": side, "height": side})
        categories = [{"id": kind, "name": classes[kind]} for kind in (1, 2)]
        about = {"images": listed, "annotations": boxes, "categories": categories}
        write(folder / f"{split}.json", json.dumps(about))
    for name, task, labels in (
        ("masks", "segmentation", "masks"),
        ("depths", "depth", "depths"),
        ("boxes", "detection", ""),
    ):
        lines = [f'name = "{name}"', f'task = "{task}"']
        lines += [f"classes = {json.dumps(classes)}"] if task == "segmentation" else []
        for split in images:
            annotations = f"{labels}/{split}" if labels else f"{split}.json"
            lines += [f"[{split}]", f'images = "images/{split}"', f'annotations = "{annotations}"']
        write(folder / f"{name}.toml", "\n".join([*lines, ""]))
    return folder


def _box(number: int, image: int, kind: int, box: tuple[int, int, int, int]) -> dict[str, Any]:
    area = box[2] * box[3]
    return {"id": number, "image_id": image, "category_id": kind, "bbox": list(box), "area": area, "iscrowd": 0}


def several_classes(folder: Path, classes: Sequence[str], images: Mapping[str, int]) -> Path:
    """Images that show one to three classes, some of them unclear; described by `animals.toml`."""
    described = ['name = "animals"', 'metric = "map-11-point"', f"classes = {json.dumps(classes)}"]
    for number, (split, count) in enumerate(images.items()):
        rng, lines = np.random.default_rng([9, number]), ["path,label"]
        for image in range(count):
            alone = image < len(classes)  # so that every split has every class
            number_shown = 1 if alone else rng.integers(1, 4)
            shown = [image] if alone else sorted(rng.choice(len(classes), size=number_shown, replace=False).tolist())
            pixels = np.mean([picture(kind, rng) for kind in shown], axis=0).astype(np.uint8)
            save(folder / f"{split}/{image:02d}.png", pixels)
            unclear = len(shown) > 1 and image % 5 == 0
            labels = [f"{classes[kind]}{'?' if unclear and kind == shown[-1] else ''}" for kind in shown]
            lines.append(f"{image:02d}.png,{'+'.join(labels)}")
        write(folder / f"{split}.csv", "\n".join([*lines, ""]))
        described += [f"[{split}]", f'images = "{split}.csv"', f'root = "{split}"']
    return write(folder / "animals.toml", "\n".join([*described, ""]))


def lists(folder: Path, images: str, labels: Mapping[str, Callable[[str], str]]) -> None:
    """Data sets of the images in the folders of a class, by name; each gives an image the label of its class."""
    for name, label in labels.items():
        described = [f'name = "{name}"']
        for split in ("train", "val", "test"):
            files = sorted((folder / images / split).glob("*/*.png"))
            rows = [f"{path.parent.name}/{path.name},{label(path.parent.name)}" for path in files]
            write(folder / f"{name}-{split}.csv", "\n".join(["path,label", *rows, ""]))
            described += [f"[{split}]", f'images = "{name}-{split}.csv"', f'root = "{images}/{split}"']
        write(folder / f"{name}.toml", "\n".join([*described, ""]))


def perceptual_weights(folder: Path) -> None:
    """Random weights of the smallest network of LPIPS, under the name of torchvision's file."""
    import torch
    from torchvision.models import squeezenet1_1

    torch.manual_seed(0)
    folder.mkdir(parents=True)
    torch.save(squeezenet1_1(weights=None).state_dict(), folder / "squeezenet1_1-random.pth")


def classifiers(folder: Path, classes: Sequence[str], count: int) -> None:
    """Random classifiers and a table of them."""
    import timm
    import torch

    write(folder / "classes.csv", "".join(f"{line}\n" for line in ("class,name", *(f"{c},{c}" for c in classes))))
    rows = ["model,backbone,group,checkpoint,classes,size"]
    for number in range(count):
        torch.manual_seed(number)
        network = timm.create_model("test_vit", img_size=32, num_classes=len(classes))
        torch.save(network.state_dict(), folder / f"{number}.pth")
        rows.append(f"net-{number},timm:test_vit,{'ab'[number % 2]},{number}.pth,classes.csv,32")
    write(folder / "models.csv", "\n".join([*rows, ""]))


def image_and_text(folder: Path) -> None:
    """A model of images and text of two layers in all, with random weights."""
    import open_clip
    import torch

    config: dict[str, Any] = {
        "embed_dim": 16,
        "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16},
        "text_cfg": {"context_length": 16, "vocab_size": 49408, "width": 8, "heads": 1, "layers": 1},
    }
    write(folder / "open_clip_config.json", json.dumps({"model_cfg": config, "preprocess_cfg": {}}))
    torch.manual_seed(0)
    torch.save(open_clip.CLIP(**config).state_dict(), folder / "open_clip_pytorch_model.bin")


def own_code(folder: Path) -> None:
    """Copies of the examples of a network, a probe and a metric of one's own."""
    for path in (Path(__file__).parent / "own").glob("[!_]*.py"):
        shutil.copy(path, folder)
