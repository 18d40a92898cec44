"""The search for missing labels in a run: the classifier of each domain on the test images of all others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.analyses.core.final_classifier import fit_again
from unseen.analyses.label_noise.inspection import CONFIDENT, Inspection, inspect_labels
from unseen.data.core.source import ImageSource
from unseen.errors import UserError, argument, did_you_mean, option
from unseen.features.features import align
from unseen.features.readers import read_features
from unseen.ontology.levels import spoken
from unseen.ontology.wordnet import wordnet
from unseen.probes.by_name.logistic import Logistic
from unseen.runs.data import RunData
from unseen.runs.flaws import flaw_sentences
from unseen.runs.record import read_results, read_run
from unseen.runs.results import Result
from unseen.studies.concepts.domains import test_sources as sources_of_tests
from unseen.studies.places import LEVELS, SEEN, Places
from unseen.studies.stored_features import DOMAIN_SPLITS, FEATURES, Place, find_features
from unseen.studies.watch import Silent, Watch


@dataclass(frozen=True, eq=False)
class InspectedRun:
    """The result of the search.

    Attributes:
        sources: sources of the test images of domains, for thumbnails.
        names: WordNet names of the listed concepts.
        notices: notices about the images.
    """

    inspection: Inspection
    sources: Mapping[str, ImageSource]
    names: Mapping[str, str]
    notices: list[str]


def inspect_run(
    run: Path,
    places: Places | None = None,
    *,
    features: Path | None = None,
    backbone: str | None = None,
    datasets: Sequence[str] | None = None,
    threshold: float = CONFIDENT,
    seed: int = 0,
    watch: Watch | None = None,
) -> InspectedRun:
    """Search for images of one domain about which the classifier of another is almost certain.

    Such an image may show that other concept too (ImageNet-CoG, supplementary A.3). The classifiers are those of the
    run on all samples, fitted again with the hyper-parameters that were found.

    Args:
        places: the images, for thumbnails.
        features: folder of the run's features, if they are not in its folder.
        backbone: the backbone whose classifiers are used, if the run has several.
        datasets: names of domains of the run; None for all.
        threshold: the probability above which predictions are listed.
        seed: seed of the classifiers.
    """
    shown, given = watch or Silent(), places or Places()
    if not 0 <= threshold < 1:
        raise UserError(f"the threshold must be a probability of at least 0 and below 1, not {threshold}")
    data = read_run(run)
    name = _backbone(data, backbone, run)
    results = _results(run, data, name, datasets, seed)
    stores = {domain: _stores(run, features, domain, name) for domain in results}
    seen = next((domain.name for domain in data.domains if domain.seen), None)
    sources = sources_of_tests(list(results), seen, given, shown)
    without = [domain for domain in results if domain not in sources]
    if sources and without:
        needed = [option("data", f"{place}=PLACE") for place in _places_of(without, seen)]
        shown.tell(f"No thumbnails of {', '.join(without)}: give their images too ({', '.join(needed)})")
    inspection = _inspect(results, stores, threshold, shown)
    notices = flaw_sentences([flaw for flaw in data.flaws if flaw.backbone == name and flaw.domain in results])
    return InspectedRun(inspection, sources, _names(inspection), list(notices))


def _places_of(domains: Sequence[str], seen: str | None) -> list[str]:
    """The names of the places of the images of domains."""
    return [*dict.fromkeys(SEEN if domain == seen else LEVELS for domain in domains)]


def _backbone(data: RunData, name: str | None, run: Path) -> str:
    names = [backbone.name for backbone in data.backbones]
    if name is None and len(names) > 1:
        raise UserError(f"{run}: has several backbones ({', '.join(names)}); choose one ({option('backbone')})")
    if name is not None and name not in names:
        hint = did_you_mean(name, names) or f"; it has {', '.join(names)}"
        raise UserError(f"{run}: no backbone '{name}'{hint}")
    return name or names[0]


def _results(run: Path, data: RunData, backbone: str, datasets: Sequence[str] | None, seed: int) -> dict[str, Result]:
    """The regression on all samples with a seed, by domain, in order."""
    by_name = {
        result.job["dataset"]: result
        for result in read_results(run)
        if result.is_of(Logistic.name) and (result.job["backbone"], *result.setting) == (backbone, None, seed)
    }
    known = [each.name for each in data.domains if each.axis == "concepts" and each.name in by_name]
    words = None if datasets is None else {word.lower() for word in datasets}
    wrong = next((word for word in datasets or () if word.lower() not in {name.lower() for name in known}), None)
    if known and wrong is not None:
        hint = did_you_mean(wrong, known)
        raise UserError(f"{argument('datasets')} must be among {', '.join(known)}, not '{wrong}'{hint}")
    chosen = [name for name in known if words is None or name.lower() in words]
    if len(chosen) < 2:
        there = f"there is {chosen[0]}" if chosen else "there are none"
        raise UserError(
            f"{run}: classifiers of one domain are applied to images of another, so two domains with regressions on "
            f"all samples are needed (seed {seed}); {there}"
        )
    return {name: by_name[name] for name in chosen}


def _stores(run: Path, features: Path | None, domain: str, backbone: str) -> dict[str, Place]:
    """The features of a domain: those in the folder of the run, or else in the folder that was given."""
    own = run / FEATURES
    folder = own if features is None or (own / domain).is_dir() else features
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give the folder of the features of this run ({option('features')})")
    [found] = find_features(folder, domain, DOMAIN_SPLITS, [backbone]).values()
    return found


def _inspect(
    results: Mapping[str, Result], stores: Mapping[str, Mapping[str, Place]], threshold: float, watch: Watch
) -> Inspection:
    """Fit the classifiers again, with one domain in memory at a time, and apply them."""
    classifiers, tests = [], {}
    for domain, result in watch.track(results.items(), "classifiers fitted again", len(results)):
        paths = {split: place.path for split, place in stores[domain].items()}
        parts = {split: read_features(path) for split, path in paths.items()}
        train, tests[domain] = align(parts["train"], parts["test"], f"{paths['train']} and {paths['test']}")
        val = align(parts["train"], parts["val"], f"{paths['train']} and {paths['val']}")[1] if "val" in parts else None
        classifiers.append(fit_again(result, train, val))
    return inspect_labels(classifiers, tests, threshold=threshold)


def _names(found: Inspection) -> dict[str, str]:
    """WordNet names of the listed concepts."""
    ids = {*found.table["concept"], *found.table["predicted"]} & wordnet().taxonomy.position.keys()
    return {wnid: spoken(wordnet().synset(wnid).name) for wnid in ids}
