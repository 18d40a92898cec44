"""`unseen extract`: what it says of what it did, and options that reach where they should."""

import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image

from unseen.features.store import MANIFEST, read_store

pytestmark = pytest.mark.gpu_too
Unseen = Callable[..., Any]
SPLITS = ("train", "val", "test")
CODE = """
from torch import nn
from unseen.data.core.decoding.transform import Transform

def make():
    return nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten()), Transform(size=16, resize=16)
"""


def png(grey: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (20, 20), (grey, grey, grey)).save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def backbone(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(CODE)
    return f"{tmp_path / 'mine.py'}:make"


def photographs(root: Path, count: int, damaged: tuple[int, ...] = (), *, start: int = 0) -> Path:
    for number in range(start, start + count):
        path = root / f"class{number % 2}" / f"{number}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(png(number)[: 30 if number in damaged else None])
    return root


def options(backbone: str, tmp_path: Path, images: Path) -> tuple[object, ...]:
    return "extract", "--backbone", backbone, "--datasets", images, "--out", tmp_path / "features", "--workers", 0


def stores_in(folder: Path) -> list[Path]:
    """The stores of all data sets."""
    return sorted(path.parent for path in folder.glob(f"*/*/{MANIFEST}"))


def test_damaged_images_that_were_left_out_are_told(unseen: Unseen, backbone: str, tmp_path: Path) -> None:
    images = photographs(tmp_path / "photos", 6, damaged=(2, 3))
    words = options(backbone, tmp_path, images)
    for _ in range(2):  # a second run, which does nothing, too
        code, said, notes = unseen(*words, "--set", "on-error=skip")
        assert code == 0
        [store] = stores_in(tmp_path / "features")
        assert said.strip() == f"photos, all: {store}"
        expected = "photos, all: 2 damaged images were left out, first class0/2.png: "
        [line] = [line for line in notes.splitlines() if "damaged images" in line]
        assert line.startswith(expected)
        assert line.endswith(f"; all are listed in {store / MANIFEST}")
    listed = json.loads((store / MANIFEST).read_text())["provenance"]["damaged"]
    assert [image["id"] for image in listed] == ["class0/2.png", "class1/3.png"]
    assert listed[0]["reason"] in line


def test_progress_is_told_once_and_a_part_is_not_called_finished(
    unseen: Unseen, backbone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unseen.features import settings

    monkeypatch.setattr(settings.Settings.__init__, "__defaults__", _smaller(settings.Settings, shard_rows=2))
    words = options(backbone, tmp_path, photographs(tmp_path / "photos", 6))
    code, said, notes = unseen(*words, "--part", "1/2")
    assert code == 0
    assert said.strip().endswith(" (unfinished: other parts are missing)")
    assert notes.count("4 of 4 images") == 1
    assert "damaged" not in notes
    code, said, notes = unseen(*words, "--part", "2/2")
    assert notes.count("2 of 2 images") == 1
    [store] = stores_in(tmp_path / "features")
    assert said.strip() == f"photos, all: {store}"
    assert len(read_store(store, verify=True)) == 6


def _smaller(kind: Any, **values: Any) -> tuple[Any, ...]:
    from dataclasses import fields

    return tuple(values.get(field.name, field.default) for field in fields(kind))


def hugging_face(root: Path) -> Path:
    """Two columns of images, and classes of two kinds, as `save_to_disk` writes them."""
    root.mkdir()
    columns = {
        "photo": [{"bytes": png(grey), "path": None} for grey in (10, 20, 30)],
        "mask": [{"bytes": png(grey), "path": None} for grey in (0, 0, 0)],
        "fine": [0, 1, 2],
        "coarse": [0, 0, 1],
    }
    table = pa.table(columns)
    with pa.OSFile(str(root / "data.arrow"), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    kinds = {name: {"_type": "Image"} for name in ("photo", "mask")} | {
        "fine": {"_type": "ClassLabel", "names": ["oak", "elm", "cat"]},
        "coarse": {"_type": "ClassLabel", "names": ["tree", "animal"]},
    }
    (root / "dataset_info.json").write_text(json.dumps({"features": kinds}))
    (root / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return root


def test_columns_are_named_by_keys(unseen: Unseen, backbone: str, tmp_path: Path) -> None:
    place = hugging_face(tmp_path / "set")
    words = options(backbone, tmp_path, place)
    assert "several columns of type Image (photo, mask); name the column to use" in unseen(*words).err
    named = [*options(backbone, tmp_path, Path("mine")), "--set", f"data.mine.images={place}"]
    wrong = unseen(*named, "--set", "data.mine.image=photo")
    assert "several columns of type ClassLabel (fine, coarse); name the column to use (label)" in wrong.err
    code, _, notes = unseen(*named, "--set", "data.mine.image=photo", "--set", "data.mine.label=coarse")
    assert code == 0, notes
    [store] = stores_in(tmp_path / "features")
    assert store.parent.name == "mine"
    features = read_store(store)
    assert [features.classes[label] for label in features.y] == ["tree", "tree", "animal"]
    assert len({float(row[0]) for row in features.X[:]}) == 3  # the photographs, not the masks


def test_a_data_set_with_splits_has_a_folder_with_all_of_them(unseen: Unseen, backbone: str, tmp_path: Path) -> None:
    photographs(tmp_path / "plants/train", 10)
    photographs(tmp_path / "plants/test", 4, start=20)
    code, said, notes = unseen(*options(backbone, tmp_path, tmp_path / "plants"))
    assert code == 0, notes
    assert [store.parent.name for store in stores_in(tmp_path / "features")] == ["plants"] * 3
    assert [line.partition(":")[0] for line in said.splitlines()] == [f"plants, {each}" for each in SPLITS]
    features = ("run", "ericsson-2021", "--features", tmp_path / "features", "--datasets", "plants", "--probes", "knn")
    code, said, notes = unseen(*features, "--set", "knn.k=1", "--out", tmp_path / "run", "--workers", 1)
    assert code == 0, notes
    assert "knn-1" in said


def test_a_plan_of_an_extraction_writes_nothing(unseen: Unseen, backbone: str, tmp_path: Path) -> None:
    words = options(backbone, tmp_path, photographs(tmp_path / "photos", 6))
    code, said, _ = unseen(*words, "--dry-run")
    assert (code, (tmp_path / "features").exists()) == (0, False)
    assert "photos" in said
    assert "0%" in said


def test_a_core_each_decodes_unless_said_otherwise(
    unseen: Unseen, backbone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unseen.runs import extraction

    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("cores are counted otherwise here")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1, 2})
    used: list[int] = []
    monkeypatch.setattr(extraction, "extract", lambda *arguments, **_: used.append(arguments[5].workers) or [])
    words = options(backbone, tmp_path, photographs(tmp_path / "photos", 2))
    without = [word for word in words if word not in ("--workers", 0)]
    for given in ([], ["--workers", 0], ["--workers", 5]):
        assert unseen(*without, *given).code == 0
    assert used == [3, 0, 5]
    assert "--workers must be at least 0, not -1" in unseen(*without, "--workers", -1).err


def test_precisions(unseen: Unseen, backbone: str, tmp_path: Path) -> None:
    words = options(backbone, tmp_path, photographs(tmp_path / "photos", 2))
    assert unseen(*words, "--set", "precision=bfloat").code == 0
    [store] = stores_in(tmp_path / "features")
    found = read_store(store)
    assert found.provenance["precision"] == "bfloat"
    assert found.X.dtype == "float32"
    wrong = unseen(*words, "--set", "precision=double")
    assert wrong.code == 2
    assert all(word in wrong.err for word in ("precision must be", "half", "bfloat", "single"))


def test_the_catalogue_says_how_to_load_each_model(unseen: Unseen) -> None:
    rows = {
        (row["paper"], row["model"]): row for row in json.loads(unseen("ls", "backbones", "--catalogue", "--json").out)
    }
    moco = rows["ericsson-2021", "MoCo-v2"]
    assert moco["weights"] == (
        "torchvision:resnet50@moco_v2_800ep_pretrain.pth.tar (facebookresearch/moco, keys under module.encoder_q.)"
    )
    # Table 10 of Ericsson et al. 2021.
    assert moco["training"].startswith("800 epochs, batch 256, ")
    assert "momentum encoder" in moco["training"]
    assert rows["ericsson-2021", "SimCLR-v1"]["normalisation"] == "none"
    assert rows["cog-v2", "a-T2T-ViT-t-14"]["weights"] == "81.7_T2T_ViTt_14.pth.tar (yitu-opensource/T2T-ViT)"
    assert all(row["training"] == "" for (paper, _), row in rows.items() if paper == "cog-v2")
    for name in ("a-DeiT-S-distilled", "a-DeiT-B-distilled"):
        assert "backbone.pool=cls" in rows["cog-v2", name]["note"]
    assert all(
        row["weights"].split(":")[0] in ("timm", "torchvision", "openclip") or "(" in row["weights"]
        for row in rows.values()
    )


def test_an_extraction_that_the_disk_is_too_small_for_is_refused(
    unseen: Unseen, backbone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unseen.features.disk import IGNORE_DISK

    # 6 images of 12 dimensions in 16 bits at least, with label and name: 6 × (24 + 38) bytes.
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: usage._replace(free=300))
    words = options(backbone, tmp_path, photographs(tmp_path / "photos", 6))
    code, _, error = unseen(*words)
    assert code == 2
    assert "kB are missing" in error
    assert IGNORE_DISK in error
    assert not (tmp_path / "features").exists()
    monkeypatch.setenv(IGNORE_DISK, "1")
    assert unseen(*words).code == 0
    monkeypatch.delenv(IGNORE_DISK)
    assert unseen(*words).code == 0  # nothing is left to write


def test_a_folder_that_cannot_be_written_to_is_noticed_before_a_backbone_is_loaded(
    unseen: Unseen, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    for command in (["extract"], ["run", "ericsson-2021"], ["run", "cog-v2"], ["run", "finetune"]):
        words = ("--backbone", "timm:no_such_model", "--datasets", "digits", "--out", tmp_path / "file/run")
        code, _, error = unseen(*command, *words)
        assert code == 2
        assert f"{tmp_path / 'file/run'}: cannot be written to" in error


def test_a_name_is_in_the_store_but_not_in_its_key(unseen: Unseen, backbone: str, tmp_path: Path) -> None:
    images = photographs(tmp_path / "photos", 4)
    keys = {}
    for name, more in (("mine", ()), ("other", ()), ("plain", ("--set", "backbone.normalize=none"))):
        words = [*options(f"{name}={backbone}", tmp_path / name, images), *more]
        assert unseen(*words).code == 0
        [path] = (tmp_path / name / "features").glob("*/*/manifest.json")
        about = json.loads(path.read_text())["provenance"]
        assert about["name"] == name
        keys[name] = about["key"]
    assert keys["mine"] == keys["other"] != keys["plain"]


def test_numbers_of_patches(unseen: Unseen, tmp_path: Path) -> None:
    images = photographs(tmp_path / "photos", 3)
    words = options("timm:test_vit", tmp_path, images), ("--set", "backbone.weights=random")
    widths = {}
    for text in ("all", "5"):
        code, _, notes = unseen(*words[0], *words[1], "--set", f"backbone.patches={text}")
        assert code == 0, notes
    for store in stores_in(tmp_path / "features"):
        widths[read_store(store).provenance["backbone"]["drawn"]] = read_store(store).X.shape[1]
    assert {*widths} == {0, 5}
    assert widths[0] % (widths[5] // 5) == 0
    for wrong in ("0", "-3", "some"):
        answer = unseen(*words[0], *words[1], "--set", f"backbone.patches={wrong}")
        assert (answer.code, "patches must be" in answer.err) == (2, True)
    used = ("run", "ericsson-2021", "--backbone", "timm:test_vit", *words[1], "--datasets", "digits")
    refused = unseen(*used, "--set", "backbone.patches=5", "--out", tmp_path / "run")
    assert (refused.code, "only for unseen extract" in refused.err) == (2, True)
    assert not (tmp_path / "run").exists()
