"""The search for missing labels in a run: the classifier of each domain on the test images of all others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from unseen.errors import UserError, did_you_mean
from unseen.features.features import align
from unseen.features.readers import read_features
from unseen.images.source import ImageSource
from unseen.ontology.levels import spoken
from unseen.ontology.wordnet import wordnet
from unseen.probes.by_name.logistic import Logistic
from unseen.runs.data import RunData
from unseen.runs.flaws import flaw_sentences
from unseen.runs.record import read_results, read_run
from unseen.runs.results import Result
from unseen.studies.concepts.chosen import Names, chosen_domains
from unseen.studies.concepts.features import Place, find_features
from unseen.studies.concepts.images import ImagePlaces, sources_of_tests
from unseen.studies.concepts.label_noise import Inspection, inspect_labels
from unseen.studies.features import FEATURES
from unseen.studies.final_classifier import fit_again
from unseen.studies.study import Silent, Watch


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
    places: ImagePlaces | None = None,
    *,
    features: Path | None = None,
    backbone: str | None = None,
    domains: Names = None,
    threshold: float = 0.99,
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
        threshold: the probability above which predictions are listed.
        seed: seed of the classifiers.
    """
    told, given = watch or Silent(), places or ImagePlaces()
    if not 0 <= threshold < 1:
        raise UserError(f"the threshold must be a probability of at least 0 and below 1, not {threshold}")
    data = read_run(run)
    name = _backbone(data, backbone, run)
    results = _results(run, data, name, domains, seed)
    folder = features or run / FEATURES
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; give the folder of the features of this run (--features)")
    [found] = find_features(folder, list(results), [name]).values()
    seen = next((domain.name for domain in data.domains if domain.seen), None)
    sources = sources_of_tests(list(results), seen, given, told)
    without = [domain for domain in results if domain not in sources]
    if sources and without:
        told.tell(f"No thumbnails of {', '.join(without)}: give their images too (--images, --imagenet-1k)")
    inspection = _inspect(results, found, threshold, told)
    notices = flaw_sentences([flaw for flaw in data.flaws if flaw.backbone == name and flaw.domain in results])
    return InspectedRun(inspection, sources, _names(inspection), list(notices))


def _backbone(data: RunData, asked: str | None, run: Path) -> str:
    names = [backbone.name for backbone in data.backbones]
    if asked is None and len(names) > 1:
        raise UserError(f"{run}: has several backbones ({', '.join(names)}); choose one with --backbone")
    if asked is not None and asked not in names:
        hint = did_you_mean(asked, names) or f"; it has {', '.join(names)}"
        raise UserError(f"{run}: no backbone '{asked}'{hint}")
    return asked or names[0]


def _results(run: Path, data: RunData, backbone: str, domains: Names, seed: int) -> dict[str, Result]:
    """The regression on all samples with a seed, by domain, in order."""
    found = {
        result.job["dataset"]: result
        for result in read_results(run)
        if result.is_of(Logistic.name) and (result.job["backbone"], *result.setting) == (backbone, None, seed)
    }
    known = [domain.name for domain in data.domains if domain.name in found]
    chosen = chosen_domains(domains, known) if known else ()
    if len(chosen) < 2:
        there = f"there is {known[0]}" if known else "there are none"
        raise UserError(
            f"{run}: classifiers of one domain are applied to images of another, so two domains with regressions on "
            f"all samples are needed (seed {seed}); {there}"
        )
    return {name: found[name] for name in chosen}


def _inspect(
    results: Mapping[str, Result], places: Mapping[str, tuple[Place, Place]], threshold: float, watch: Watch
) -> Inspection:
    """Fit the classifiers again, with one domain in memory at a time, and apply them."""
    classifiers, tests = [], {}
    for domain, result in watch.track(results.items(), "classifiers fitted again", len(results)):
        train, test = (read_features(place.path) for place in places[domain])
        train, tests[domain] = align(train, test, f"{places[domain][0].path} and {places[domain][1].path}")
        classifiers.append(fit_again(result, train))
    return inspect_labels(classifiers, tests, threshold=threshold)


def _names(found: Inspection) -> dict[str, str]:
    """WordNet names of the listed concepts."""
    ids = {*found.table["concept"], *found.table["predicted"]} & wordnet().taxonomy.position.keys()
    return {wnid: spoken(wordnet().synset(wnid).name) for wnid in ids}
