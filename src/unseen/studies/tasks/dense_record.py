"""The record of dense tasks that are probed on patch features."""

from collections.abc import Mapping, Sequence

from unseen.backbones.backbone import Backbone as LoadedBackbone
from unseen.backbones.patches import PatchSpec
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.features.settings import Settings
from unseen.papers.comparability import ScoredData
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.setup import Extraction, FeatureKey, ProtocolUsed
from unseen.studies.concepts.study import random_notices, training_data
from unseen.studies.tasks.dense_work import DenseData, label_flaws, label_notices
from unseen.studies.tasks.features import STUDY
from unseen.studies.tasks.own_record import own_citations, own_images, own_notices
from unseen.studies.tasks.study import TITLE


def dense_run(
    data: Mapping[str, DenseData],
    backbones: Sequence[LoadedBackbone],
    settings: Settings,
    protocols: Sequence[ProtocolUsed],
) -> RunData:
    """The record of a study of patch probes, without its scores.

    Args:
        settings: of the extraction.
    """
    datasets = [each.opened.dataset for each in data.values()]
    records = [
        Backbone(
            each.label,
            "yours",
            f"{patch_spec(each).channels} features of each patch",
            training_data=training_data(each.spec.id, BackboneAbout.of(each.spec)),
            features=Extraction.by(each.spec, settings),
        )
        for each in backbones
    ]
    return RunData(
        title=TITLE,
        scores=(),
        domains=[Domain(each.name, each.title, classes=each.classes, licence=each.licence) for each in datasets],
        backbones=records,
        baseline=backbones[0].label,
        told=[
            *random_notices(records),
            *own_notices(datasets),
            *(each for of in data.values() for each in label_notices(of.opened)),
        ],
        protocols=protocols,
        images=own_images(datasets),
        remarks=own_citations(datasets),
        features=[
            FeatureKey(name, each.opened.dataset.name, {split: of.content_hash for split, of in sides.items()})
            for each in data.values()
            for name, sides in each.features.items()
        ],
        scored=[
            ScoredData(
                name,
                each.opened.dataset.name,
                protocol.name,
                each.opened.dataset.classes,
                {split: len(of) for split, of in sides.items()},
                "given",
            )
            for each in data.values()
            for name, sides in each.features.items()
            for protocol in protocols[:1]
        ],
        flaws=[flaw for each in data.values() for flaw in label_flaws(each.opened)],
        study=STUDY,
    )


def patch_spec(backbone: LoadedBackbone) -> PatchSpec:
    """The specification of a backbone that gives the features of patches."""
    if not isinstance(backbone.spec, PatchSpec):
        raise UserError(f"{backbone.spec.id}: returns one vector per image; load it with patches=True")
    return backbone.spec
