"""Concept generalization of a user's backbones, trained on ImageNet-1K, on the drawings.

This uses the ordinary code: drawings are images in memory, features come from the same sharded extraction as in `unseen
extract`, and the raw pixels are a backbone like the others.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.load import load_backbone
from unseen.demo.drawings import data_hash, drawings
from unseen.demo.form import Form
from unseen.demo.imagenet_levels import CLASSES, imagenet_domains, imagenet_levels, seen_concepts, under_seen
from unseen.demo.page_data import on_paper, remarks, shown_domains, shown_steps
from unseen.device import default_device, on_gpu
from unseen.errors import UserError
from unseen.features.extract import extract, store_name
from unseen.features.forward import features
from unseen.features.readers import read_features
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST, read_store
from unseen.images.arrays import array_images
from unseen.images.drawings import TRAINING_DRAWINGS, concepts
from unseen.images.manifest import whole
from unseen.images.transform import Transform
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.probes.samples import SamplesPerClass
from unseen.runs.data import Backbone as ShownBackbone
from unseen.runs.data import RunData, Step
from unseen.runs.executors.processes import each
from unseen.runs.means import Means
from unseen.runs.notices import told
from unseen.runs.setup import Extraction, ProtocolUsed
from unseen.studies.probed_features import ProbedFeatures, probed_features
from unseen.studies.probing import estimate, plan

DRAWINGS = {"train": TRAINING_DRAWINGS, "test": 100 - TRAINING_DRAWINGS}
"""Drawings per concept, by split."""
PIXELS = "pixels"
SHARD_ROWS = 300  # takes some seconds
TIMED = 32  # images
NOTICE = (
    "The scores are about drawings: they are not to be set beside those of ImageNet-CoG. Seen are concepts of "
    "ImageNet-1K, which a backbone trained on it knows from photographs; of another backbone the levels say little."
)

Part = tuple[str, str, str]
"""Backbone, domain, split."""


class Ink(nn.Module):
    """The first channel of images (n, 3, s, s) in 0…1 as (n, s²), with 1 for ink and 0 for paper."""

    def forward(self, images: Tensor) -> Tensor:
        return 1 - images[:, 0].flatten(1)


@lru_cache(maxsize=1)
def find_backbone(name: str) -> Backbone:
    """The backbone with this id, on the device where features are computed; the last one is cached."""
    if name != PIXELS:
        return load_backbone(name, device=_settings().device)
    transform = Transform(28, resize=None, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0))
    spec = Spec(PIXELS, "none", "output", "none", dimension=28 * 28, parameters=0, transform=transform)
    return Backbone(spec, Ink())


def with_pixels(names: Sequence[str]) -> list[str]:
    """The backbones of a run: those given, and the pixels for comparison."""
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise UserError(f"{twice}: this backbone is given twice")
    return [*names, PIXELS]


def _settings() -> Settings:
    """Single precision on every device, so that a GPU only changes the time."""
    return Settings(device=default_device().type, workers=0, shard_rows=SHARD_ROWS)


def missing_features(folder: Path, specs: Sequence[Spec]) -> list[Part]:
    """The features that `folder` lacks, or has only for other weights."""
    parts = [(spec, domain, split) for spec in specs for domain in imagenet_domains() for split in DRAWINGS]
    return [
        (spec.id, domain, split)
        for spec, domain, split in parts
        if not _is_there(folder / domain, store_name(spec, split, ""), json.loads(json.dumps(asdict(spec))))
    ]


def _is_there(folder: Path, beginning: str, described: dict[str, Any]) -> bool:
    """Whether one of the stores with this name prefix belongs to the given backbone."""
    places = (manifest.parent for manifest in folder.glob(f"{beginning}*/{MANIFEST}"))
    return any(read_store(place).provenance.get("backbone") == described for place in places)


def extract_missing(folder: Path, parts: Sequence[Part], *, workers: int) -> Iterator[Part]:
    """Extract features, one process each, and yield each set when it is done."""
    yield from each(partial(_extract, folder), parts, workers=1 if on_gpu() else workers)


def _extract(folder: Path, part: Part) -> None:
    _store(folder, part)


def _store(folder: Path, part: Part) -> Path:
    """The folder of the features, which are extracted if missing."""
    name, domain, split = part
    wnids = imagenet_domains()[domain]
    images, labels = drawings(wnids, split)
    # Extraction fingerprints only 16 images of a split, so the contents of all of them must be in their names.
    ids = [f"{data_hash()[:16]}/{wnids[label]}/{split}-{i:04d}" for i, label in enumerate(labels)]
    source = array_images(on_paper(images), [wnids[label] for label in labels], ids)
    [place] = extract(source, whole(source, split), split, [find_backbone(name)], folder / domain, _settings())
    return place


def plan_imagenet(form: Form, folder: Path, specs: Sequence[Spec]) -> tuple[list[Job], list[ProbedFeatures]]:
    """The jobs of a run and the features they need, read from where `extract_missing` wrote them."""
    pairs = []
    for spec in specs:
        for domain in imagenet_domains():
            places = {split: _store(folder, (spec.id, domain, split)) for split in DRAWINGS}
            parts = {split: read_features(place) for split, place in places.items()}
            pairs.append(probed_features(spec.id, domain, parts, places))
    return plan(Logistic(form.protocol), pairs, form.shots, form.seeds), pairs


def estimate_imagenet(form: Form, folder: Path, specs: Sequence[Spec], parts: Sequence[Part], workers: int) -> float:
    """Estimated seconds for the missing features and all probes, from timing a batch and a short probe here."""
    extraction, pairs = 0.0, list[ProbedFeatures]()
    for spec in specs:
        images = sum(CLASSES * DRAWINGS[split] for name, _, split in parts if name == spec.id)
        extraction += images * _seconds_an_image(find_backbone(spec.id)) if images else 0.0
        rows = {split: each * CLASSES for split, each in DRAWINGS.items()}
        samples = SamplesPerClass.same(DRAWINGS["train"])
        pairs += [
            ProbedFeatures(spec.id, domain, rows, CLASSES, spec.dimension, samples=samples)
            for domain in imagenet_domains()
        ]
    jobs = plan(Logistic(form.protocol), pairs, form.shots, form.seeds)
    return extraction / (1 if on_gpu() else workers) + estimate(jobs, pairs, folder, Means(workers))


def _seconds_an_image(backbone: Backbone) -> float:
    """Seconds per image on one thread, or on the GPU."""
    size, device = backbone.spec.transform.size, _settings().device
    backbone.module.to(memory_format=torch.channels_last)
    pixels = torch.zeros(TIMED, size, size, 3, dtype=torch.uint8, device=device)
    threads, seconds = torch.get_num_threads(), 0.0
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            for _ in range(2):  # the first batch is slow
                start = time.perf_counter()
                features(backbone, pixels, "single").cpu()
                seconds = time.perf_counter() - start
    finally:
        torch.set_num_threads(threads)
    return seconds / TIMED


def imagenet_run_data(form: Form, specs: Sequence[Spec]) -> RunData:
    """Everything the report shows besides the scores."""
    built = imagenet_levels()
    left = len(concepts()) - len(under_seen())
    below = Step("drop what lies under seen concepts", len(under_seen()), left)
    seen = f"{len(seen_concepts())} drawn concepts are in ImageNet-1K, {CLASSES} of them probed"
    return RunData(
        title="Concept generalization from ImageNet-1K on human drawings",
        scores=(),
        domains=shown_domains(imagenet_domains(), built),
        backbones=[_shown(spec) for spec in specs],
        baseline=PIXELS,
        told=[told(form.notice), told(NOTICE)],
        steps=shown_steps(built, [below]),
        protocols=[ProtocolUsed.of("logistic", form.protocol)],
        seeds=form.seeds,
        remarks=remarks(seen),
    )


def _shown(spec: Spec) -> ShownBackbone:
    if spec.id == PIXELS:
        return ShownBackbone(PIXELS, "baseline", "the 784 grey values themselves")
    size = spec.transform.size
    return ShownBackbone(
        spec.id,
        "given",
        f"{spec.parameters / 1e6:.1f} million parameters, {spec.dimension} features of {size} × {size} pixels",
        features=Extraction.by(spec, _settings()),
    )
