"""Probes of a user's own features, from files on the command line or arrays in Python."""

from collections.abc import Sequence
from pathlib import Path

from unseen.errors import UserError
from unseen.probes.probe import FeatureJob
from unseen.probes.protocol import LogisticProtocol
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.notices import notice
from unseen.runs.own_metric import metric_jobs
from unseen.runs.setup import FeatureKey, ProtocolUsed
from unseen.runs.shots import seed_count
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.prepared import prepared_probes
from unseen.studies.probing import FeaturePair, plan, possible_shots, search_notices
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
    possible = possible_shots(shots, pair.samples, protocol.validation)
    said = search_notices(protocol, "short-search")
    if set(possible) != set(shots):
        short = ", ".join(str(number) for number in shots if number not in possible)
        said.append(notice("few-samples", samples=pair.samples, shots=short))
    fitted: list[FeatureJob] = [*plan("probe", [pair], protocol, shots, range(seed_count(seeds)))]
    jobs = [*fitted, *metric_jobs(own.metrics, fitted)]
    data = RunData(
        title=features_title(pair.backbone, pair.domain),
        scores=(),
        domains=[Domain(pair.domain, "your data" if pair.domain == "yours" else pair.domain, concepts=concepts)],
        backbones=[Backbone(pair.backbone, "yours")],
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
        remarks={"features": f"{pair.classes} classes, {pair.dimension} dimensions"},
        flaws=pair.flaws,
        study="probe",
    )
    return prepared_probes(data, jobs, [pair], replaces=True)


def features_title(backbone: str, domain: str) -> str:
    """A title from the names that the user gave; `yours` is the default of both."""
    features = "Your features" if backbone == "yours" else backbone
    return features if domain == "yours" else f"{features} on {domain}"
