"""The task study: a backbone on classification tasks it was not trained for (Ericsson et al. 2021).

This module writes its record; `unseen.studies.tasks.results` makes a page of the results.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from unseen.backbones.backbone import Backbone as LoadedBackbone
from unseen.features.about import StoreAbout
from unseen.features.settings import Settings
from unseen.features.store import MANIFEST
from unseen.images.dataset import Dataset
from unseen.images.open_dataset import OpenDataset
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.notices import Notice, notice
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed, Setup
from unseen.studies.concepts.features import Place
from unseen.studies.concepts.study import extraction_of, random_notices, training_data
from unseen.studies.features import read_about
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.tasks.comparisons import dataset_title, is_of_dataset
from unseen.studies.tasks.features import STUDY
from unseen.studies.tasks.own_record import own_citations, own_images, own_notices
from unseen.studies.tasks.plan import TaskProbes

TITLE = "Transfer to other tasks"
PROBE = "many-shot"
PUBLISHED_SIZE = 224
"""Side of the images in pixels in the paper."""


def task_run(
    features: Sequence[ProbedFeatures],
    datasets: Mapping[str, Dataset],
    probes: TaskProbes,
    *,
    top1: Mapping[str, float],
    missing: Sequence[Notice] = (),
) -> RunData:
    """The record of a study, without its scores.

    Args:
        datasets: those of the features, by name.
        top1: known ImageNet accuracies of backbones, between 0 and 1.
        missing: notices about missing data sets, and about settings for which data sets have too few images.
    """
    scored = [each.scored(probes.protocol.name) for each in features]
    titles = {each.domain: dataset_title(each, datasets[each.domain]) for each in scored}
    licences = {each.domain: datasets[each.domain].licence for each in scored if is_of_dataset(each)}
    limits = {each.domain: each.limit for each in scored}
    backbones = {each.backbone: each for each in features}
    records = [_backbone(each, top1.get(name)) for name, each in backbones.items()]
    said = random_notices(records)
    said += [notice("temperature-on-test-data")] if probes.protocol.temperature == "test-folds" else []
    said += [
        notice("other-size", backbone=name, size=each.pixels, published=PUBLISHED_SIZE)
        for name, each in backbones.items()
        if each.pixels is not None and each.pixels != PUBLISHED_SIZE
    ]
    return RunData(
        title=TITLE,
        scores=(),
        domains=[
            Domain(name, title, limit=limits[name], licence=licences.get(name, "")) for name, title in titles.items()
        ],
        backbones=records,
        baseline=next(iter(backbones)),
        told=[*said, *missing, *own_notices(datasets[name] for name in titles)],
        protocols=protocols_used(probes),
        images=own_images(datasets[name] for name in titles),
        remarks=own_citations(datasets[name] for name in titles),
        features=[FeatureKey(each.backbone, each.dataset, each.keys) for each in features],
        scored=scored,
        flaws=[flaw for each in features for flaw in each.flaws],
        study=STUDY,
    )


def task_setup(
    backbones: Sequence[LoadedBackbone],
    opened: Sequence[OpenDataset],
    settings: Settings,
    probes: TaskProbes,
) -> Setup:
    """Everything that determines a study, known before its features, to compare with the run in a folder."""
    return Setup(
        protocols=protocols_used(probes),
        extractions={each.label: Extraction.by(each.spec, settings) for each in backbones},
        limits={each.dataset.name: each.manifest.limit for each in opened},
        images=own_images(each.dataset for each in opened),
    )


def protocols_used(probes: TaskProbes) -> list[ProtocolUsed]:
    """How the probes of a study are fitted."""
    further = [ProtocolUsed.by(each) for each in probes.more]
    return [ProtocolUsed.of(PROBE, probes.protocol), *further, *probes.own.protocols()]


def _backbone(features: ProbedFeatures, top1: float | None) -> Backbone:
    path = Path(next(iter(features.places.values()), ""))
    known = Place(path, read_about(path)).known if (path / MANIFEST).is_file() else StoreAbout()
    return Backbone(
        features.backbone,
        "yours",
        f"{features.dimension} features",
        imagenet_top1=top1,
        training_data=training_data(known.backbone.id or features.backbone, known.backbone) if known.backbone else None,
        features=extraction_of(known),
    )
