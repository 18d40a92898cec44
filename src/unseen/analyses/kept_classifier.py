"""The classifier of a logistic regression of a run, as a file for the head of a backbone."""

from collections.abc import Sequence
from pathlib import Path

from unseen.analyses.core.final_classifier import fit_again
from unseen.errors import UserError, argument, look_up, option
from unseen.features.features import Features, align
from unseen.features.readers import read_features
from unseen.probes.by_name.logistic import Logistic
from unseen.runs.record import read_results
from unseen.runs.results import Result
from unseen.studies.stored_features import DOMAIN_SPLITS, FEATURES, find_features


def write_classifier(
    run: Path,
    file: Path,
    *,
    backbones: Sequence[str] = (),
    dataset: str | None = None,
    features: Path | None = None,
) -> str:
    """Write the classifier of a logistic regression on all samples, of the first seed; fitted again as it was.

    Args:
        backbones: the backbone, if the run has several.
        dataset: the data set, if the run has several.
        features: the training features, if they are not in the folder of the run: a file, a store, or a folder with one
            folder per data set.

    Returns:
        What it classifies: the backbone and the data set.
    """
    from unseen.backbones.classifier import write_probe

    result = _result(run, backbones, dataset)
    train, val = _features(run, result, features)
    found = fit_again(result, train, val)
    write_probe(file, found.weights, found.bias, found.classes)
    return f"{result.job['backbone']} on {result.job['dataset']}"


def _result(run: Path, backbones: Sequence[str], dataset: str | None) -> Result:
    """The result on all samples with the first seed."""
    fits = [each for each in read_results(run) if each.is_of(Logistic.name) and each.setting[0] is None]
    if not fits:
        raise UserError(f"{run}: has no logistic regression on all samples, whose classifier could be written")
    backbone = _one({each.job["backbone"] for each in fits}, backbones, "backbone", option("backbone"))
    fits = [each for each in fits if each.job["backbone"] == backbone]
    given = [dataset] if dataset else []
    name = _one({each.job["dataset"] for each in fits}, given, "data set", option("classifier", "DATASET=FILE"))
    return min((each for each in fits if each.job["dataset"] == name), key=lambda each: each.setting[1])


def _one(known: set[str], given: Sequence[str], what: str, how: str) -> str:
    for name in given:
        look_up(dict.fromkeys(sorted(known)), name, what, " with a logistic regression in this run")
    names = [*given] or sorted(known)
    if len(names) > 1:
        raise UserError(f"there are several {what}s ({', '.join(names)}); choose one ({how})")
    return names[0]


def _features(run: Path, result: Result, features: Path | None) -> tuple[Features, Features | None]:
    """The training features of a result, and its validation features, if there are any."""
    backbone, dataset = result.job["backbone"], result.job["dataset"]
    if features is not None and not features.exists():
        raise UserError(f"{features}: no such file or folder; {argument('features')} names the training features")
    own = run / FEATURES
    folder = own if features is None or (own / dataset).is_dir() else features
    if features is not None and not (folder / dataset).is_dir():
        return read_features(features), None
    if not folder.is_dir():
        raise UserError(f"{run}: does not contain its features; give them ({option('features')})")
    [stores] = find_features(folder, dataset, DOMAIN_SPLITS, [backbone]).values()
    train = read_features(stores["train"].path)
    if "val" not in stores:
        return train, None
    return align(train, read_features(stores["val"].path), f"{stores['train'].path} and {stores['val'].path}")
