"""Probes of a user's own features, from files on the command line or arrays in Python."""

from collections.abc import Sequence
from pathlib import Path

from unseen.errors import UserError
from unseen.probes.own import OwnProbe
from unseen.probes.probe import Probe
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.own_metric import metric_jobs
from unseen.runs.setup import FeatureKey, ProtocolUsed
from unseen.runs.shots import seed_count
from unseen.studies.own_code import NO_CODE, OwnCode
from unseen.studies.prepared import prepared_probes
from unseen.studies.probed_features import UNNAMED, ProbedFeatures
from unseen.studies.probing import plan, search_notices, short_shots, skipped_shots
from unseen.studies.study import Prepared


def plan_own(
    features: ProbedFeatures,
    concepts: Sequence[str],
    probe: Probe | OwnProbe,
    shots: Sequence[int | None],
    seeds: int,
    own: OwnCode = NO_CODE,
) -> Prepared:
    """A run of a probe on training and test features, which replaces the run in its folder.

    Args:
        own: metrics of the user's own, and the probe if it is one.
    """
    if features.classes < 2:
        raise UserError("the features are of a single class: a classifier needs at least two")
    if features.hashes["train"] == features.hashes["test"]:
        raise UserError("training and test features are the same; give a test set that was not trained on")
    fitted, data = probe.probe if isinstance(probe, OwnProbe) else probe, [features]
    if own.metrics and not fitted.scored:
        raise UserError(f"the probe {fitted.name} returns no class scores, which metrics of your own need")
    jobs = plan(probe, data, shots, range(seed_count(seeds)))
    backbone, dataset, regression = features.backbone, features.dataset, fitted.regression
    run = RunData(
        title=features_title(backbone, dataset),
        scores=(),
        domains=[Domain(dataset, "your data" if dataset == UNNAMED else dataset, concepts=concepts)],
        backbones=[Backbone(backbone, UNNAMED)],
        baseline=backbone,
        told=[
            *(search_notices(regression, "short-search") if regression else ()),
            *skipped_shots(shots, data, fitted),
            *short_shots(shots, data, fitted),
        ],
        protocols=[*([] if isinstance(probe, OwnProbe) else [ProtocolUsed.by(fitted)]), *own.protocols()],
        seeds=range(seeds),
        features=[
            FeatureKey(
                backbone,
                dataset,
                features.hashes,
                {split: Path(place).name for split, place in features.places.items()},
            )
        ],
        scored=[features.scored(fitted.protocol_name, "unknown")],
        remarks={"features": f"{features.classes} classes, {features.dimension} dimensions"},
        flaws=features.flaws,
        study="probe",
    )
    return prepared_probes(run, [*jobs, *metric_jobs(own.metrics, jobs)], data, replaces=True)


def features_title(backbone: str, domain: str) -> str:
    """A title from the names that the user gave; `yours` is the default of both."""
    features = "Your features" if backbone == UNNAMED else backbone
    return features if domain == UNNAMED else f"{features} on {domain}"
