"""The demo's run: features of every backbone on every domain, probes, and the data of the report."""

import json
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from unseen.demo.backbones import BACKBONES, BATCH, DemoBackbone, extract
from unseen.demo.drawings import CLASSES, data_hash, demo_levels, domains, drawings
from unseen.demo.form import Form
from unseen.demo.page_data import remarks, shown_domains, shown_steps
from unseen.errors import UserError
from unseen.features.about import StoreAbout
from unseen.features.readers import read_features
from unseen.features.store import read_manifest, write_store
from unseen.images.drawings import seen_concepts
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.probes.samples import SamplesPerClass
from unseen.runs.data import Backbone, RunData
from unseen.runs.executors.processes import each
from unseen.runs.means import Means
from unseen.runs.notices import told
from unseen.runs.setup import Extraction, ProtocolUsed
from unseen.studies.probed_features import ProbedFeatures, probed_features
from unseen.studies.probing import estimate, plan

NOT_IMAGENET = "The scores are about drawings and tiny networks: they are not to be set beside those of ImageNet-CoG."


def missing_features(folder: Path) -> list[tuple[str, str, str]]:
    """(backbone, domain, split) of the features that `folder` lacks, or has only for other weights or data."""
    wanted = [
        (backbone, domain, split) for backbone in BACKBONES for domain in domains() for split in ("train", "test")
    ]
    return [
        (backbone.name, domain, split)
        for backbone, domain, split in wanted
        if not _is_current(feature_place(folder, backbone.name, domain, split), backbone, domain, split)
    ]


def extract_missing(folder: Path, *, workers: int) -> Iterator[tuple[str, str, str]]:
    """Extract those features and yield each set when it is done."""
    yield from each(partial(_extract_one, folder), missing_features(folder), workers=workers)


def feature_place(folder: Path, backbone: str, domain: str, split: str) -> Path:
    return folder / backbone / domain / split


def _provenance(backbone: DemoBackbone, domain: str, split: str) -> dict[str, object]:
    source = {"data": "drawings", "data_sha256": data_hash(), "domain": domain, "split": split}
    return {"backbone": backbone.about(), "source": source, "concepts": list(domains()[domain])}


def _is_current(place: Path, backbone: DemoBackbone, domain: str, split: str) -> bool:
    try:
        return bool(read_manifest(place).provenance == json.loads(json.dumps(_provenance(backbone, domain, split))))
    except UserError:
        return False


def _extract_one(folder: Path, which: tuple[str, str, str]) -> None:
    name, domain, split = which
    backbone = next(backbone for backbone in BACKBONES if backbone.name == name)
    wnids = domains()[domain]
    images, labels = drawings(wnids, split)
    batches = zip(extract(backbone, images), np.split(labels, range(BATCH, len(labels), BATCH)), strict=True)
    place = feature_place(folder, name, domain, split)
    write_store(place, batches, wnids, provenance=_provenance(backbone, domain, split))


def feature_pairs(folder: Path) -> list[ProbedFeatures]:
    """The pairs of features of all backbones and domains, read from where `extract_missing` wrote them."""
    pairs = []
    for backbone in BACKBONES:
        for domain in domains():
            places = {split: feature_place(folder, backbone.name, domain, split) for split in ("train", "test")}
            parts = {split: read_features(place) for split, place in places.items()}
            pairs.append(probed_features(backbone.name, domain, parts, places))
    return pairs


def plan_demo(form: Form, folder: Path) -> tuple[list[Job], list[ProbedFeatures]]:
    """The jobs of the demo and the features they need."""
    pairs = feature_pairs(folder)
    return plan(Logistic(form.protocol), pairs, form.shots, form.seeds), pairs


def estimate_demo(form: Form, folder: Path, workers: int) -> float:
    """Estimated seconds for a fresh run, from timing a batch and a short probe on this machine."""
    images, _ = drawings(domains()["seen"], "test")
    network, batch = BACKBONES[0], images[:100]
    list(extract(network, batch))
    start = time.perf_counter()
    list(extract(network, batch))
    each_image = (time.perf_counter() - start) / len(batch)
    count = sum(backbone.weights is not None for backbone in BACKBONES) * len(domains()) * CLASSES * 100
    pairs = [
        ProbedFeatures(
            backbone.name,
            domain,
            {"train": 80 * CLASSES, "test": 20 * CLASSES},
            CLASSES,
            backbone.dimension,
            samples=SamplesPerClass.same(80),
        )
        for backbone in BACKBONES
        for domain in domains()
    ]
    jobs = plan(Logistic(form.protocol), pairs, form.shots, form.seeds)
    # Extraction is timed with all cores at work, so it is not divided among workers like the probes.
    return count * each_image + estimate(jobs, pairs, folder, Means(workers))


def demo_run_data(form: Form) -> RunData:
    """Everything the report shows besides the scores."""
    built = demo_levels()
    seen = f"{len(seen_concepts())} for training the backbones, {CLASSES} of them probed"
    return RunData(
        title="Concept generalization on human drawings",
        scores=(),
        domains=shown_domains(domains(), built),
        backbones=[_shown(backbone) for backbone in BACKBONES],
        baseline="supervised",
        told=[told(form.notice), told(NOT_IMAGENET)],
        steps=shown_steps(built),
        protocols=[ProtocolUsed.of("logistic", form.protocol)],
        seeds=form.seeds,
        remarks=remarks(seen),
    )


def _shown(backbone: DemoBackbone) -> Backbone:
    known = StoreAbout.of({"backbone": backbone.about()}).backbone
    made = Extraction(known) if known and known.digest else None
    return Backbone(backbone.name, backbone.category, backbone.description, features=made)
