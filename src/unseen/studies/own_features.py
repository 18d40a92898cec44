"""Probes of a user's own features, from files on the command line or arrays in Python."""

from collections.abc import Sequence
from pathlib import Path

from unseen.errors import UserError
from unseen.probes.probe import FeatureJob
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.own_metric import metric_jobs
from unseen.runs.setup import FeatureKey, ProtocolUsed
from unseen.runs.shots import seed_count
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.prepared import prepared_probes
from unseen.studies.probing import UNNAMED, FeaturePair, plan, search_notices, short_shots, skipped_shots
from unseen.studies.study import Prepared


def plan_own(
    pair: FeaturePair,
    concepts: Sequence[str],
    protocol: LogisticProtocol,
    shots: Sequence[int | None],
    seeds: int,
    own: OwnCode = NO_CODE,
) -> Prepared[FeatureJob]:
    """A run on one pair of features, which replaces the run in its folder.

    Args:
        own: metrics of the user's own.
    """
    if pair.classes < 2:
        raise UserError("the features are of a single class: a classifier needs at least two")
    if pair.train == pair.test:
        raise UserError("training and test features are the same; give a test set that was not trained on")
    said = [
        *search_notices(protocol, "short-search"),
        *skipped_shots(shots, [pair]),
        *short_shots(shots, [pair], protocol),
    ]
    fitted: list[FeatureJob] = [*plan("probe", [pair], protocol, shots, range(seed_count(seeds)))]
    jobs = [*fitted, *metric_jobs(own.metrics, fitted)]
    data = RunData(
        title=features_title(pair.backbone, pair.domain),
        scores=(),
        domains=[Domain(pair.domain, "your data" if pair.domain == UNNAMED else pair.domain, concepts=concepts)],
        backbones=[Backbone(pair.backbone, UNNAMED)],
        baseline=pair.backbone,
        told=said,
        protocols=[ProtocolUsed.of("logistic", protocol), *own.protocols()],
        seeds=range(seeds),
        features=[
            FeatureKey(
                pair.backbone,
                pair.domain,
                {"train": pair.train, "test": pair.test},
                {"train": Path(pair.train_place).name, "test": Path(pair.test_place).name},
            )
        ],
        scored=[pair.scored(protocol.name)],
        remarks={"features": f"{pair.classes} classes, {pair.dimension} dimensions"},
        flaws=pair.flaws,
        study="probe",
    )
    return prepared_probes(data, jobs, [pair], replaces=True)


def features_title(backbone: str, domain: str) -> str:
    """A title from the names that the user gave; `yours` is the default of both."""
    features = "Your features" if backbone == UNNAMED else backbone
    return features if domain == UNNAMED else f"{features} on {domain}"
