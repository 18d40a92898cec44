"""Small test sets in their true layouts, and untrained networks to evaluate on them."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import timm
import torch
from PIL import Image

from studies import run_of, study_of
from unseen.data.core.open_dataset import OpenDataset, open_dataset
from unseen.data.formats.named_folders import imagenet_classes
from unseen.data.test_sets import get_sets
from unseen.features.progress import Progress
from unseen.ontology.class_mapping import choose_mapping
from unseen.runs.means import Means
from unseen.runs.record import read_results
from unseen.studies.shifts.columns import table_columns
from unseen.studies.shifts.plans import ModelPlan
from unseen.studies.shifts.survey import TestImages
from unseen.studies.study import Study
from unseen.studies.watch import Silent, Watch

HERE = Means(decoders=0)
"""One process, which decodes images too."""
CATS, DOGS = ("n02123045", "n02123159"), ("n02085620", "n02085782")
CLOCKS = ("n02708093", "n03196217")
SYNSETS = (*CATS, *DOGS, *CLOCKS)


def picture(path: Path, number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.random.default_rng(number).integers(0, 256, (30, 30, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path, "PNG" if path.suffix == ".png" else "JPEG")


def make_sets(root: Path) -> Path:
    """Validation images, ImageNet-R and -A of as many classes, ImageNet-V2, ObjectNet and CIFAR-10.2."""
    for place, wnid in enumerate(SYNSETS):
        for number in range(4):
            picture(
                root / f"imagenet/val/{wnid}/ILSVRC2012_val_{10 * place + number + 1:08d}.JPEG", 10 * place + number
            )
            index = imagenet_classes().index(wnid)
            picture(root / f"imagenetv2-matched-frequency-format-val/{index}/{number}.jpeg", 500 + 10 * place + number)
    for wnid in (*CATS, DOGS[0]):
        for number in range(5):
            picture(root / f"imagenet-r/{wnid}/art_{number}.jpg", 1000 + number)
    for wnid in (*CATS, DOGS[1]):
        picture(root / f"imagenet-a/{wnid}/0_cat.jpg", 2000)
    for folder in ("alarm_clock", "air_freshener"):
        picture(root / f"objectnet-1.0/images/{folder}/1.png", 7)
    mappings = root / "objectnet-1.0/mappings"
    mappings.mkdir()
    objects = {"alarm_clock": "Alarm clock", "air_freshener": "Air freshener"}
    (mappings / "folder_to_objectnet_label.json").write_text(json.dumps(objects))
    (mappings / "objectnet_to_imagenet_1k.json").write_text(json.dumps({"Alarm clock": "analog clock; digital clock"}))
    (root / "cifar-10.2").mkdir()
    images = np.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), dtype=np.uint8)
    np.savez(root / "cifar-10.2/cifar102_test.npz", images=images, labels=np.arange(20) % 10)
    return root


def opened(root: Path, *names: str) -> list[OpenDataset]:
    return [open_dataset(found, root, partial=True) for found in get_sets(names)]


def table(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO((folder / "accuracies.csv").read_text())))


@dataclass(frozen=True)
class Evaluated:
    """A model's accuracies by column, and the images that they are of."""

    model: str
    accuracy: dict[str, float]
    images: dict[str, int]


class Telling(Silent):
    """A watch that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.extracted: list[tuple[str, str]] = []

    def tell(self, sentence: str) -> None:
        self.told.append(sentence)

    def extracting(self, domain: str, split: str) -> Callable[[Progress], None]:
        self.extracted.append((domain, split))
        return super().extracting(domain, split)


class StoppedError(Exception):
    pass


class StopAt(Telling):
    """A watch that stops the study where a model comes to a test set."""

    def __init__(self, model: str, test_set: str) -> None:
        super().__init__()
        self.place = model, test_set

    def extracting(self, domain: str, split: str) -> Callable[[Progress], None]:
        if (domain, split) == self.place:
            raise StoppedError
        return super().extracting(domain, split)


def shift_study(plans: Sequence[ModelPlan], **keys: Any) -> Study:
    """The study of some models."""
    tables = {
        plan.model: {
            "id": plan.backbone, "group": plan.group or None, "head": plan.head, "outputs": plan.classes,
            "templates": plan.templates, "weights": plan.weights, "size": plan.size,
            "checkpoint": None if plan.checkpoint is None else str(plan.checkpoint),
        }
        for plan in plans
    }  # fmt: skip
    return study_of("shifts", backbones=[plan.model for plan in plans], backbone=tables, **{"batch": 16, **keys})


def evaluate(
    plans: Sequence[ModelPlan],
    sets: Sequence[OpenDataset],
    folder: Path,
    *,
    watch: Watch | None = None,
    replacing: bool = False,
    **keys: Any,
) -> list[Evaluated]:
    """Run the study with these keys, and return what was asked of it."""
    study = shift_study(plans, **keys)
    data = run_of(study, folder, datasets=sets, means=HERE, watch=watch, replacing=replacing)
    labels = {each.name: TestImages(each).labels for each in sets}
    mapping = None if study.mapping is None else choose_mapping(study.mapping).of
    wanted = {column.name for column in table_columns(labels, study.classes, mapping)}
    images = {(r.job["backbone"], r.job["dataset"]): r.details["tested"] for r in read_results(folder)}
    found = []
    for plan in plans:
        own = {s.domain: s.value for s in data.scores if s.backbone == plan.model and s.domain in wanted}
        found.append(Evaluated(plan.model, own, {name: images[plan.model, name] for name in own}))
    return found


PLAN = ModelPlan("tiny", "timm:test_vit", group="untrained", weights="random")


def seeded(folder: Path, *seeds: int) -> list[ModelPlan]:
    """Untrained networks told apart by their checkpoints."""
    plans = []
    for seed in seeds:
        torch.manual_seed(seed)
        torch.save(timm.create_model("test_vit").state_dict(), folder / f"{seed}.pth")
        plans.append(ModelPlan(f"net-{seed}", "timm:test_vit", checkpoint=folder / f"{seed}.pth"))
    return plans
