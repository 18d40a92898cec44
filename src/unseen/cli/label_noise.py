"""`unseen concepts --label-noise`: images of one domain that the classifier of another is almost certain about."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.concept_steps import FEATURES
from unseen.cli.domains import ImageOptions
from unseen.cli.output import console, note, print_table, track
from unseen.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from unseen.images.source import ImageSource
    from unseen.runs.data import RunData
    from unseen.runs.results import Result
    from unseen.studies.concepts.features import Place
    from unseen.studies.concepts.label_noise import Inspection


def look_for_noise(
    run: Path,
    options: ImageOptions,
    features: Path | None,
    backbones: Sequence[str],
    *,
    domains: str | None,
    threshold: float,
    seed: int,
    page: Path,
    table: Path | None,
) -> None:
    """Look for labels that are missing: apply the classifier of each domain to the test images of all others.

    An image of one domain that the classifier of another is almost certain about may show that other concept too
    (ImageNet-CoG, supplementary A.3). Classifiers are those of the run on all samples, fitted again with the
    hyper-parameters that were found.

    Args:
        options: where images are, for thumbnails.
        features: where the run's features are, if not in its folder.
        backbones: the one whose classifiers to take, where the run has several.
        page: a page, or a table of all rows.
    """
    from unseen.report.concepts.label_noise_page import write_inspection
    from unseen.runs.flaws import flaw_sentences
    from unseen.runs.record import read_run
    from unseen.runs.tables import write_table
    from unseen.studies.concepts.features import find_features

    if not 0 <= threshold < 1:
        raise UserError(f"--threshold is a probability from 0 to below 1, not {threshold}")
    data = read_run(run)
    if len(backbones) > 1:
        raise UserError(f"--label-noise is of one backbone, not {len(backbones)}; give --backbone once")
    name = _backbone(data, backbones[0] if backbones else None, run)
    results = _results(run, data, name, domains, seed)
    folder = features or run / FEATURES
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder; say where the features of this run are (--features)")
    [places] = find_features(folder, list(results), [name]).values()
    seen = next((domain.name for domain in data.domains if domain.seen), None)
    sources = _sources(list(results), seen, options.images, options.imagenet_1k, options.truth)
    found = _inspect(results, places, threshold)
    notices = flaw_sentences([flaw for flaw in data.flaws if flaw.backbone == name and flaw.domain in results])
    write_inspection(found, page, sources=sources, names=_names(found), notices=notices)
    if table:
        write_table(found.table, table)
    _show(found, threshold)
    for sentence in notices:
        console().print(sentence)
    console().print(f"\nPage: {page}" + (f"\nTable: {table}" if table else ""))


def _backbone(data: "RunData", asked: str | None, run: Path) -> str:
    names = [backbone.name for backbone in data.backbones]
    if asked is None and len(names) > 1:
        raise UserError(f"{run}: it has several backbones ({', '.join(names)}); say which with --backbone")
    if asked is not None and asked not in names:
        hint = did_you_mean(asked, names) or f"; it has {', '.join(names)}"
        raise UserError(f"{run}: no backbone '{asked}'{hint}")
    return asked or names[0]


def _results(run: Path, data: "RunData", backbone: str, domains: str | None, seed: int) -> "dict[str, Result]":
    """By domain, in order, the regression on all samples with a seed."""
    from unseen.runs.record import read_results
    from unseen.studies.concepts.plan import chosen_domains

    found = {
        result.job["domain"]: result
        for result in read_results(run)
        if result.job["job"] == "LogisticJob"
        and (result.job["backbone"], result.job["shots"], result.job["seed"]) == (backbone, None, seed)
    }
    known = [domain.name for domain in data.domains if domain.name in found]
    chosen = chosen_domains(domains, known) if known else ()
    if len(chosen) < 2:
        there = f"there is {known[0]}" if known else "there are none"
        raise UserError(
            f"{run}: classifiers of one domain go over images of another, so two with regressions on all samples are "
            f"needed (seed {seed}); {there}"
        )
    return {name: found[name] for name in chosen}


def _inspect(results: "dict[str, Result]", places: "dict[str, tuple[Place, Place]]", threshold: float) -> "Inspection":
    """Fit the classifiers again, one domain in memory at a time, and apply them."""
    from unseen.features.features import align
    from unseen.features.readers import read_features
    from unseen.studies.concepts.label_noise import inspect_labels
    from unseen.studies.final_classifier import fit_again

    classifiers, tests = [], {}
    for domain, result in track(results.items(), "classifiers fitted again", len(results)):
        train, test = (read_features(place.path) for place in places[domain])
        train, tests[domain] = align(train, test, f"{places[domain][0].path} and {places[domain][1].path}")
        classifiers.append(fit_again(result, train))
    return inspect_labels(classifiers, tests, threshold=threshold)


def _sources(
    domains: Sequence[str], seen: str | None, images: str | None, imagenet_1k: Path | None, truth: Path | None
) -> "dict[str, ImageSource]":
    """Where the test images of domains are, as far as that was said.

    Args:
        seen: the domain of seen concepts.
    """
    from unseen.images.imagenet_1k import imagenet_1k as open_imagenet_1k
    from unseen.images.open_source import open_images

    found: dict[str, ImageSource] = {}
    if images is not None:
        source = open_images(images, watch=lambda classes: track(classes, "classes indexed"))
        found |= {name: source for name in domains if name != seen}
    if imagenet_1k is not None and seen is not None and seen in domains:
        found[seen] = open_imagenet_1k(
            imagenet_1k, split="val", truth=truth, watch=lambda classes: track(classes, "classes indexed")
        )
    without = [name for name in domains if name not in found]
    if found and without:
        note(f"No thumbnails of {', '.join(without)}: give their images too (--images, --imagenet-1k)")
    return found


def _names(found: "Inspection") -> dict[str, str]:
    """What WordNet calls the concepts that are listed."""
    from unseen.ontology.levels import spoken
    from unseen.ontology.wordnet import wordnet

    ids = {*found.table["concept"], *found.table["predicted"]} & wordnet().taxonomy.position.keys()
    return {wnid: spoken(wordnet().synset(wnid).name) for wnid in ids}


def _show(found: "Inspection", threshold: float) -> None:
    rows = [
        (classifier, domain, f"{images:,}", f"{found.share(classifier, domain):.1%}")
        for (classifier, domain), images in found.applied.items()
    ]
    columns = ("classifier of", "on test images of", "images", f"above {threshold:g}")
    print_table("Predictions of classifiers on other domains", columns, rows, columns[2:])
    share = len(found.table) / max(sum(found.applied.values()), 1)
    console().print(f"\n{len(found.table):,} predictions above {threshold:g}: {share:.1%} of all.")
