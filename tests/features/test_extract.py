"""Extraction: the plain pipeline's numbers, rows that stay with their images, resuming, sharing of the work."""

import gc
import io
import json
import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from alone import start_telling
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.data.core.folder import FileImages, folder_images
from unseen.data.core.manifest import Manifest, whole
from unseen.data.core.source import Entry
from unseen.errors import UserError
from unseen.features import one_pass
from unseen.features.batches import Decoder, Piece, decoded, geometry
from unseen.features.costs import COST
from unseen.features.disk import remaining_rows
from unseen.features.extract import extract
from unseen.features.forward import features
from unseen.features.logits import logit_settings
from unseen.features.progress import Progress
from unseen.features.readers import read_features
from unseen.features.settings import Precision, Settings
from unseen.features.store import MANIFEST, read_store

SMALL = Transform(size=16, resize=18, interpolation="bilinear")
SETTINGS = Settings(batch=3, workers=0, shard_rows=4)


class Means(nn.Module):
    """Features from which the image can be told: means of the channels, and of the left half."""

    def forward(self, images: Tensor) -> Tensor:
        return torch.cat([images.mean((2, 3)), images[..., : images.shape[-1] // 2].mean((2, 3))], dim=1)


def means(name: str = "file.py:means", transform: Transform = SMALL, **facts: Any) -> Backbone:
    spec = Spec(id=name, weights="none", layer="output", pool="none", dimension=6, parameters=0, transform=transform)
    return Backbone(replace(spec, **facts), Means())


def write_images(root: Path, count: int, damaged: Sequence[int] = (), seed: int = 0) -> FileImages:
    """JPEGs of different sizes in three classes, in the order of their numbers; some cut off in the middle."""
    from PIL import Image

    rng = np.random.default_rng(seed)
    for number in range(count):
        height, width = rng.integers(20, 60, 2)
        coarse = Image.fromarray(rng.integers(0, 256, (5, 5, 3), dtype=np.uint8))
        file = io.BytesIO()
        coarse.resize((int(width), int(height))).save(file, "JPEG", quality=90)
        content = file.getvalue()
        path = root / f"class{3 * number // count}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[: len(content) // 2] if number in damaged else content)
    return folder_images(root)


def plain_features(source: FileImages, numbers: Sequence[int], backbone: Backbone, batch: int = 5) -> np.ndarray:
    """PIL, torchvision's transforms, the model: as everybody writes it."""
    from PIL import Image

    transforms = pytest.importorskip("torchvision.transforms", reason="the reference is torchvision's")
    t = backbone.spec.transform
    sides = (t.resize, t.resize) if t.squash else t.resize
    steps = transforms.Compose([
        transforms.Resize(sides, transforms.InterpolationMode(t.interpolation)),
        transforms.CenterCrop(t.size),
        transforms.ToTensor(),
        transforms.Lambda(lambda image: image.flip(0) if t.channels == "BGR" else image),
        transforms.Normalize(t.mean, t.std),
    ])  # fmt: skip
    images = [steps(Image.open(source.root / source.entries[number].id).convert("RGB")) for number in numbers]
    with torch.no_grad():
        return torch.cat([backbone(part) for part in torch.stack(images).split(batch)]).numpy()


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a store but the speed that was measured."""
    kept = (path for path in folder.iterdir() if not path.name.startswith(".") and path.name != COST)
    return {path.name: path.read_bytes() for path in kept}


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> FileImages:
    return write_images(tmp_path_factory.mktemp("ten"), 10)


@pytest.mark.parametrize("workers", [0, 2])
def test_equal_to_the_plain_pipeline(ten: FileImages, tmp_path: Path, workers: int) -> None:
    timm = pytest.importorskip("timm", reason="a real network")
    torch.manual_seed(0)
    module = timm.create_model("resnet10t", pretrained=False, num_classes=0).eval()
    transform = Transform(size=64, resize=72)
    spec = Spec("timm:resnet10t", "random", "penultimate", "avg", module.num_features, 0, transform)
    backbone = Backbone(spec, module)
    expected = plain_features(ten, range(10), backbone)
    (store,) = extract(ten, whole(ten, "train"), "train", [backbone], tmp_path, replace(SETTINGS, workers=workers))
    found = np.asarray(read_store(store, verify=True).X)
    assert found.dtype == np.float32
    assert np.linalg.norm(found - expected, axis=1).max() <= 1e-5 * np.linalg.norm(expected, axis=1).min()


@pytest.mark.gpu
@pytest.mark.parametrize(("precision", "tolerance"), [("half", 1e-3), ("single", 1e-5)])
def test_equal_to_the_plain_pipeline_on_a_gpu(
    ten: FileImages, tmp_path: Path, precision: Any, tolerance: float
) -> None:
    timm = pytest.importorskip("timm", reason="a real network")
    torch.manual_seed(0)
    module = timm.create_model("resnet10t", pretrained=False, num_classes=0).eval()
    spec = Spec("timm:resnet10t", "random", "penultimate", "avg", module.num_features, 0, Transform(size=64, resize=72))
    expected = plain_features(ten, range(10), Backbone(spec, module))
    seen: list[Progress] = []
    settings = replace(SETTINGS, device="cuda", precision=precision, workers=2)
    (store,) = extract(
        ten, whole(ten, "train"), "train", [Backbone(spec, module)], tmp_path, settings, watch=seen.append
    )
    found = np.asarray(read_store(store, verify=True).X).astype(np.float32)
    assert np.linalg.norm(found - expected) <= tolerance * np.linalg.norm(expected)
    assert 0 <= seen[-1].idle <= seen[-1].seconds


def test_one_pass_serves_backbones_of_several_geometries(ten: FileImages, tmp_path: Path) -> None:
    transforms = [
        SMALL,
        replace(SMALL, mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7), channels="BGR"),
        replace(SMALL, size=12, resize=12, interpolation="bicubic", squash=True),
    ]
    backbones = [means(f"file.py:means{number}", transform) for number, transform in enumerate(transforms)]
    stores = extract(ten, whole(ten, "train"), "train", backbones, tmp_path, SETTINGS)
    for backbone, store in zip(backbones, stores, strict=True):
        found = read_store(store, verify=True)
        assert np.allclose(np.asarray(found.X), plain_features(ten, range(10), backbone), rtol=1e-5, atol=1e-6)
        (alone,) = extract(ten, whole(ten, "train"), "train", [backbone], tmp_path / "alone", SETTINGS)
        assert contents(alone) == contents(store)


def test_a_store_says_what_it_is(ten: FileImages, tmp_path: Path) -> None:
    (store,) = extract(ten, whole(ten, "held out"), "held out", [means("dir/file.py:means")], tmp_path, SETTINGS)
    found = read_features(store)
    assert store.name.startswith("file.py-means-held-out-")
    assert found.provenance["key"].startswith(store.name[-12:])
    assert found.provenance["backbone"]["transform"]["resize"] == 18
    assert found.provenance["source"]["kind"] == "folder per class"
    assert found.provenance["versions"]["torch"] == torch.__version__
    assert found.provenance["damaged_count"] == 0
    assert found.classes == ("class0", "class1", "class2")


DAMAGED = {
    "first": (0,),
    "last": (9,),
    "middle": (5,),
    "several": (0, 5, 9),
    "a whole shard": (4, 5, 6, 7),
    "first and last shard": (0, 1, 2, 3, 8, 9),
    "all but one": (0, 1, 2, 3, 4, 5, 6, 7, 9),
}


@pytest.mark.parametrize(("where", "workers"), [*((where, 0) for where in DAMAGED), ("first and last shard", 2)])
def test_damaged_images_never_shift_the_others(tmp_path: Path, where: str, workers: int) -> None:
    damaged = DAMAGED[where]
    source = write_images(tmp_path / "images", 10, damaged)
    settings = replace(SETTINGS, on_error="report", workers=workers)
    (store,) = extract(source, whole(source, "train"), "train", [means()], tmp_path / "out", settings)
    found = read_features(store)
    good = [number for number in range(10) if number not in damaged]
    assert found.ids == [source.entries[number].id for number in good]
    assert [found.classes[label] for label in found.y] == [source.entries[number].label for number in good]
    assert np.allclose(np.asarray(found.X), plain_features(source, good, means()), rtol=1e-5, atol=1e-6)
    assert found.provenance["damaged_count"] == len(damaged)
    assert [image["id"] for image in found.provenance["damaged"]] == [source.entries[n].id for n in damaged]
    assert all("damaged image" in image["reason"] for image in found.provenance["damaged"])
    assert [image["label"] for image in found.provenance["damaged"]] == [source.entries[n].label for n in damaged]


def test_all_damaged(tmp_path: Path) -> None:
    source = write_images(tmp_path / "images", 5, range(5))
    with pytest.raises(UserError, match="all 5 images are damaged; the first is class0/000.jpg: damaged image"):
        extract(source, whole(source, "a"), "a", [means()], tmp_path / "out", replace(SETTINGS, on_error="report"))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_damaged_image_ends_the_extraction_and_what_is_done_stays(tmp_path: Path, workers: int) -> None:
    source = write_images(tmp_path / "images", 10, [6, 7])
    settings = replace(SETTINGS, workers=workers, batch=10)
    with pytest.raises(UserError) as error:
        extract(source, whole(source, "train"), "train", [means()], tmp_path / "out", settings)
    assert str(error.value).startswith("class1/006.jpg: damaged image (")
    assert "1 more of the same batch" in str(error.value)
    assert "on_error='skip'" in str(error.value)
    (store,) = (tmp_path / "out").iterdir()
    assert sorted(contents(store)) == ["X-00000.json", "X-00000.npy"]
    with pytest.raises(UserError, match="is unfinished"):
        read_store(store)


def test_what_was_reported_earlier_is_still_an_error(tmp_path: Path) -> None:
    source = write_images(tmp_path / "images", 10, [6])
    arguments = source, whole(source, "train"), "train", [means()], tmp_path / "out"
    extract(*arguments, replace(SETTINGS, on_error="report"))
    with pytest.raises(
        UserError, match="class1/006.jpg: damaged image .* left it out .*; if it is repaired, delete that folder"
    ):
        extract(*arguments, SETTINGS)


@pytest.mark.parametrize("workers", [0, 1])
def test_a_file_that_is_gone_is_an_error_even_where_damage_is_reported(tmp_path: Path, workers: int) -> None:
    source = write_images(tmp_path / "images", 6)
    (tmp_path / "images/class1/003.jpg").unlink()
    settings = replace(SETTINGS, on_error="report", workers=workers)
    with pytest.raises(UserError, match=r"^\S+class1/003.jpg: cannot be read \(No such file or directory\)$"):
        extract(source, whole(source, "train"), "train", [means()], tmp_path / "out", settings)


def test_a_second_run_does_nothing(ten: FileImages, tmp_path: Path) -> None:
    arguments = ten, whole(ten, "train"), "train"
    (store,) = extract(*arguments, [means()], tmp_path, SETTINGS)
    before = {path: path.stat().st_mtime_ns for path in store.iterdir()}
    seen: list[Progress] = []
    broken = replace(means(), module=nn.Identity())  # would be noticed if it were called
    assert extract(*arguments, [broken], tmp_path, SETTINGS, watch=seen.append) == [store]
    assert {path: path.stat().st_mtime_ns for path in store.iterdir()} == before
    assert seen == []


def test_batch_workers_and_part_do_not_make_other_stores(ten: FileImages, tmp_path: Path) -> None:
    arguments = ten, whole(ten, "train"), "train", [means()], tmp_path
    (store,) = extract(*arguments, SETTINGS)
    assert extract(*arguments, replace(SETTINGS, batch=2, workers=1, part=(1, 2))) == [store]


def test_whatever_changes_features_makes_another_store(ten: FileImages, tmp_path: Path) -> None:
    manifest = whole(ten, "train")
    other = Manifest(manifest.entries, ["test", *manifest.splits[1:]])
    settings = [replace(SETTINGS, fast=True), replace(SETTINGS, exif=True), replace(SETTINGS, shard_rows=5)]
    backbones = [
        means("other"), means(weights="sha256:1"), means(layer="x"), means(pool="avg"), means(digest="1"),
        means(transform=replace(SMALL, mean=(0.5, 0.5, 0.5))), means(transform=replace(SMALL, resize=17)),
    ]  # fmt: skip
    stores = [
        extract(ten, manifest, "train", [means()], tmp_path, SETTINGS),
        extract(ten, other, "train", [means()], tmp_path, SETTINGS),
        extract(ten, other, "test", [means()], tmp_path, SETTINGS),
        *(extract(ten, manifest, "train", [means()], tmp_path, setting) for setting in settings),
        *(extract(ten, manifest, "train", [backbone], tmp_path, SETTINGS) for backbone in backbones),
    ]
    assert len({store for (store,) in stores}) == len(stores)


def test_bfloat_computes_with_16_bits_and_keeps_32(ten: FileImages, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 6)).requires_grad_(False)
    backbone = replace(means(), module=module)
    precisions: list[Precision] = ["bfloat", "single"]
    stores = [
        extract(ten, whole(ten, "a"), "a", [backbone], tmp_path, replace(SETTINGS, precision=precision))[0]
        for precision in precisions
    ]
    bfloat, single = (np.array(read_store(store, verify=True).X) for store in stores)
    assert bfloat.dtype == single.dtype == np.float32
    assert np.array_equal(torch.from_numpy(bfloat).bfloat16().float().numpy(), bfloat)  # as the layer gave them
    assert 0 < np.abs(bfloat - single).max() < 2**-5 * np.abs(single).max()
    assert np.allclose(single, plain_features(ten, range(10), backbone), rtol=1e-5, atol=1e-6)


def test_parts_share_a_folder_and_the_last_one_finishes_it(ten: FileImages, tmp_path: Path) -> None:
    arguments = ten, whole(ten, "train"), "train", [means()]
    (together,) = extract(*arguments, tmp_path / "one", SETTINGS)
    for part in (3, 1, 2):
        (store,) = extract(*arguments, tmp_path / "three", replace(SETTINGS, part=(part, 3)))
        assert (store / MANIFEST).exists() == (part == 2)
    assert contents(store) == contents(together)


def test_a_shard_whose_record_is_damaged_is_made_again(ten: FileImages, tmp_path: Path) -> None:
    arguments = ten, whole(ten, "train"), "train", [means()], tmp_path
    (store,) = extract(*arguments, SETTINGS)
    before = contents(store)
    (store / MANIFEST).unlink()
    (store / "X-00000.json").write_bytes(before["X-00000.json"][:20])
    (store / "X-00002.npy").unlink()
    seen: list[Progress] = []
    extract(*arguments, SETTINGS, watch=seen.append)
    assert contents(store) == before
    assert seen[-1].total == 4 + 2


def test_only_what_a_backbone_lacks_is_extracted(ten: FileImages, tmp_path: Path) -> None:
    arguments = ten, whole(ten, "train"), "train"
    one, two = means("one"), means("two", replace(SMALL, size=8))
    (first,) = extract(*arguments, [one], tmp_path, SETTINGS)
    before = contents(first)
    (first / MANIFEST).unlink()
    (first / "X-00001.json").unlink()
    again, second = extract(*arguments, [one, two], tmp_path, SETTINGS)
    assert contents(again) == before
    assert np.allclose(np.asarray(read_store(second).X), plain_features(ten, range(10), two), rtol=1e-5, atol=1e-6)


def test_a_shard_that_was_begun_is_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pass, "SECONDS_BETWEEN_PARTS", 0.0)
    source = write_images(tmp_path / "images", 20, damaged=[1, 7])
    settings = replace(SETTINGS, shard_rows=10_000, on_error="report")
    arguments = source, whole(source, "train"), "train"
    (undisturbed,) = extract(*arguments, [means()], tmp_path / "undisturbed", settings)

    def stop_after(images: int) -> Callable[[Progress], None]:
        def watch(progress: Progress) -> None:
            if progress.done >= images:
                raise KeyboardInterrupt

        return watch

    out = tmp_path / "stopped"
    with pytest.raises(KeyboardInterrupt):
        extract(*arguments, [means()], out, settings, watch=stop_after(6))
    assert remaining_rows(*arguments, [means().spec, means("other").spec], out, settings) == [14, 20]
    # A backbone that joins begins at the beginning; the first goes on from where it was if it is alone.
    seen: list[Progress] = []
    with pytest.raises(KeyboardInterrupt):
        extract(*arguments, [means(), means("other")], out, settings, watch=stop_after(9))
    (store,) = extract(*arguments, [means()], out, settings, watch=seen.append)
    assert seen[-1].total < 14
    assert contents(store) == contents(undisturbed)
    _, other = extract(*arguments, [means(), means("other")], out, settings)
    assert np.array_equal(np.asarray(read_store(other).X), np.asarray(read_store(store).X))
    assert remaining_rows(*arguments, [means().spec, means("other").spec], out, settings) == [0, 0]
    # Images that were left out of the part are still an error for an extraction that must not leave out any.
    with pytest.raises(KeyboardInterrupt):
        extract(*arguments, [means()], tmp_path / "third", settings, watch=stop_after(6))
    with pytest.raises(UserError, match=r"class0/001.jpg"):
        extract(*arguments, [means()], tmp_path / "third", replace(settings, on_error="fail"))


def extract_slowly(source: FileImages, out: Path, tell: Connection) -> None:
    def watch(progress: Progress) -> None:
        tell.send(progress.done)
        time.sleep(0.2)

    extract(source, whole(source, "train"), "train", [means()], out, SETTINGS, watch=watch)


def test_killed_and_resumed_is_byte_for_byte_the_same(tmp_path: Path) -> None:
    source = write_images(tmp_path / "images", 20)
    arguments = source, whole(source, "train"), "train", [means()]
    (undisturbed,) = extract(*arguments, tmp_path / "undisturbed", SETTINGS)
    process, told = start_telling(extract_slowly, source, tmp_path / "killed")
    while told.recv() < 11:  # within the third shard of five
        pass
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    (killed,) = (tmp_path / "killed").iterdir()
    records = {name for name in contents(killed) if name.endswith(".json")}
    assert "X-00000.json" in records
    assert len(records) < 5
    seen: list[Progress] = []
    assert extract(*arguments, tmp_path / "killed", SETTINGS, watch=seen.append) == [killed]
    assert contents(killed) == contents(undisturbed)
    assert seen[-1].total == 20 - 4 * len(records)


def test_batches_larger_than_a_cpu_takes_at_once() -> None:
    pixels = torch.randint(0, 256, (70, 16, 16, 3), dtype=torch.uint8)
    each = torch.cat([features(means(), pixels[row : row + 1], "single") for row in range(70)])
    assert torch.allclose(features(means(), pixels, "single"), each, rtol=1e-6, atol=1e-6)


def test_decoding_can_be_sent_to_processes_that_share_nothing(ten: FileImages) -> None:
    pieces = [Piece(0, 2, 5, (geometry(SMALL),))]
    decoder = Decoder(ten, np.arange(10), pieces, fast=False, exif=False)
    sent = pickle.loads(pickle.dumps(decoder))
    assert torch.equal(sent[0].pixels[geometry(SMALL)], decoder[0].pixels[geometry(SMALL)])
    assert decoder[0].pixels[geometry(SMALL)].shape == (3, 16, 16, 3)


def test_progress(ten: FileImages, tmp_path: Path) -> None:
    seen: list[Progress] = []
    extract(ten, whole(ten, "train"), "train", [means()], tmp_path, SETTINGS, watch=seen.append)
    assert [progress.done for progress in seen] == [3, 4, 7, 8, 10]
    assert {progress.total for progress in seen} == {10}
    assert all(0 < progress.idle <= progress.seconds for progress in seen)  # nothing is decoded ahead without workers
    halfway = Progress(done=50, total=200, seconds=10.0, idle=2.5)
    assert (halfway.rate, halfway.left) == (5.0, 30.0)
    assert Progress(0, 200, 0.0, 0.0).left == float("inf")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(precision="half"), "half precision needs a GPU"),
        (Settings(device="gpu"), "unknown device gpu"),
        (Settings(part=(3, 2)), "part 3 of 2"),
        (Settings(part=(0, 2)), "part 0 of 2"),
        (Settings(batch=0), "at least one image"),
        (Settings(shard_rows=0), "at least one image"),
        (Settings(workers=-1), "workers must not be negative"),
    ],
)
def test_settings_that_cannot_be(ten: FileImages, tmp_path: Path, settings: Settings, message: str) -> None:
    with pytest.raises(UserError, match=message):
        extract(ten, whole(ten, "train"), "train", [means()], tmp_path, settings)
    assert list(tmp_path.iterdir()) == []


def test_mistakes(ten: FileImages, tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match="no images of split 'trian' in the manifest, only of train; did you mean train"
    ):
        extract(ten, whole(ten, "train"), "trian", [means()], tmp_path, SETTINGS)
    with pytest.raises(UserError, match="given twice"):
        extract(ten, whole(ten, "train"), "train", [means(), means()], tmp_path, SETTINGS)
    with pytest.raises(UserError, match="other: gave 3 × 6 numbers, not 3 × 7"):
        extract(ten, whole(ten, "train"), "train", [means("other", dimension=7)], tmp_path, SETTINGS)
    infinite = replace(means("infinite", replace(SMALL, std=(0.0, 1.0, 1.0))))
    with pytest.raises(UserError, match="infinite: features of class0/000.jpg and of 3 more .* are not finite"):
        extract(ten, whole(ten, "train"), "train", [infinite], tmp_path, SETTINGS)


def test_features_beyond_16_bits_are_refused_and_not_made_infinite(ten: FileImages, tmp_path: Path) -> None:
    large = means("large", replace(SMALL, std=(1e-6, 1.0, 1.0)))
    arguments = ten, whole(ten, "train"), "train", [large], tmp_path
    # Patch features and logits have 16 bits in every precision.
    for settings in (replace(SETTINGS, compact=True), logit_settings(SETTINGS)):
        with pytest.raises(UserError, match=r"large: features of class0/000.jpg .*65,504.*layers="):
            extract(*arguments, settings)
    assert not list(tmp_path.rglob("X-*")) + list(tmp_path.rglob("manifest.json"))
    (store,) = extract(*arguments, SETTINGS)
    assert np.abs(np.asarray(read_store(store).X)).max() > 65_504


def test_parts_of_shards_beyond_16_bits_are_refused(
    ten: FileImages, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_pass, "SECONDS_BETWEEN_PARTS", 0.0)
    large = means("large", replace(SMALL, std=(1e-6, 1.0, 1.0)))
    with pytest.raises(UserError, match="65,504"):
        extract(ten, whole(ten, "train"), "train", [large], tmp_path, replace(SETTINGS, compact=True, batch=1))
    assert not list(tmp_path.rglob("X-*"))


def test_another_store_is_never_taken_for_this_one(ten: FileImages, tmp_path: Path) -> None:
    arguments = ten, whole(ten, "train"), "train", [means()], tmp_path
    (store,) = extract(*arguments, SETTINGS)
    manifest = json.loads((store / MANIFEST).read_text())
    manifest["provenance"]["key"] = "0" * 64
    (store / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(UserError, match="another extraction"):
        extract(*arguments, SETTINGS)


def test_a_manifest_in_another_order_and_with_a_part_of_the_images(ten: FileImages, tmp_path: Path) -> None:
    numbers = [7, 2, 9, 0]
    manifest = Manifest([ten.entries[n] for n in numbers], ["a", "b", "a", "a"])
    (store,) = extract(ten, manifest, "a", [means()], tmp_path, SETTINGS)
    found = read_features(store)
    assert found.ids == [ten.entries[n].id for n in (7, 9, 0)]
    assert np.allclose(np.asarray(found.X), plain_features(ten, [7, 9, 0], means()), rtol=1e-5, atol=1e-6)


def test_a_line_end_in_a_name(ten: FileImages, tmp_path: Path) -> None:
    for name in ("a\nb.jpg", "a\rb.jpg"):
        manifest = Manifest([Entry(name, "a")], ["train"])
        with pytest.raises(UserError, match="line end"):
            extract(ten, manifest, "train", [means()], tmp_path, SETTINGS)


def test_the_fast_way_is_another_store_with_almost_the_same_features(tmp_path: Path) -> None:
    source = write_images(tmp_path / "images", 10, [3])
    manifest = whole(source, "train")
    stores = [
        extract(source, manifest, "train", [means()], tmp_path / "out", replace(SETTINGS, on_error="report", fast=fast))
        for fast in (False, True)
    ]
    exact, fast = (read_features(store) for (store,) in stores)
    assert stores[0] != stores[1]
    assert exact.ids == fast.ids
    assert exact.provenance["damaged"] == fast.provenance["damaged"]
    gap = np.abs(np.asarray(exact.X) - np.asarray(fast.X)).max()
    assert 0 < gap < 1 / 255 / min(SMALL.std)  # of a mean of pixels, one grey level


def test_decoders_are_forked_where_other_processes_are_spawned(ten: FileImages) -> None:
    """Spawned, each would import PyTorch again; what cannot be pickled shows that nothing was sent to one."""

    class Local(FileImages):
        pass

    source = Local(ten.root, ten.entries, ten.about)
    decoder = Decoder(source, np.arange(10), [Piece(0, 0, 3, (SMALL,))], fast=False, exif=False)
    usual = multiprocessing.get_start_method(allow_none=True)
    multiprocessing.set_start_method("spawn", force=True)
    try:
        (batch,) = decoded(decoder, workers=1, device=torch.device("cpu"))
    finally:
        multiprocessing.set_start_method(usual, force=True)
    assert batch.pixels[SMALL].shape == (3, 16, 16, 3)


@dataclass(frozen=True, eq=False)
class Collecting(FileImages):
    """Images whose every reading collects garbage."""

    def read(self, number: int) -> bytes:
        gc.collect()
        return super().read(number)


def test_decoders_leave_the_garbage_of_their_parent_alone(ten: FileImages, tmp_path: Path) -> None:
    """An event of a GPU among it would end them."""

    class Event:
        def __init__(self) -> None:
            self.circle = self

        def __del__(self) -> None:
            (tmp_path / str(os.getpid())).touch()

    source = Collecting(ten.root, ten.entries, ten.about)
    decoder = Decoder(source, np.arange(10), [Piece(0, 0, 3, (SMALL,))], fast=False, exif=False)
    gc.disable()
    try:
        Event()
        list(decoded(decoder, workers=2, device=torch.device("cpu")))
    finally:
        gc.enable()
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == [str(os.getpid())]
