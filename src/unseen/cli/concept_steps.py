"""The steps of `unseen concepts`: the plan, the features, the probes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.concept_tables import jobs_text, show_costs
from unseen.cli.domains import Chosen, ImageOptions, open_domains
from unseen.cli.extract import say_damaged
from unseen.cli.output import console, note, print_table
from unseen.cli.running import run_missing
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings
    from unseen.images.domains import DomainImages
    from unseen.papers.comparability import Draw
    from unseen.runs.data import RunData
    from unseen.runs.notices import Notice
    from unseen.studies.concepts.features import Places
    from unseen.studies.concepts.plan import Asked, Costs
    from unseen.studies.probing import FeaturePair

FEATURES = "features"


@dataclass(frozen=True)
class Study:
    """A study whose features are there.

    Attributes:
        images: what is known of the images, label → text.
        notices: what a reader must be told.
    """

    asked: "Asked"
    places: "Places"
    images: dict[str, str]
    notices: "Sequence[Notice]" = ()


def study_request(
    chosen: Chosen,
    domains: str | None,
    shots: str | None,
    seeds: int,
    protocol: str = "cog-v2",
    sequential: bool = False,
    variant: str = "plain",
    draw: "Draw" = "unknown",
    extended: tuple[str, ...] = (),
) -> "Asked":
    from unseen.probes.protocol import protocol_named
    from unseen.runs.shots import parse_shots
    from unseen.studies.concepts.plan import Asked, chosen_domains
    from unseen.studies.probing import SHOTS

    if not 1 <= seeds < 1000:
        raise UserError(f"--seeds is from 1 to 999, not {seeds}")
    names = chosen_domains(domains, chosen.names)
    known = dict(chosen.domains) | ({chosen.seen_domain: chosen.seen} if chosen.seen else {})
    return Asked(
        levels=chosen.levels,
        domains=names,
        concepts={name: known[name] for name in names if name in known},
        protocol=protocol_named(protocol, sequential=sequential),
        shots=parse_shots(shots) if shots else SHOTS,
        seeds=seeds,
        variant=variant,
        draw=draw,
        extended=extended,
        seen=chosen.seen_domain,
    )


def known_draw(features: Path | None, splits: Path | None) -> "Draw":
    """Who chose the images of the levels, as far as options tell: features are of a draw that nobody told us."""
    if splits is not None:
        return "given"
    return "ours" if features is None else "unknown"


def study_of_features(asked: "Asked", folder: Path, backbones: Sequence[str], dry_run: bool) -> Study | None:
    """A study of features that are there; None where only the plan was wanted."""
    from unseen.studies.concepts.features import class_names, find_features

    places = find_features(folder, asked.domains, backbones)
    named = class_names(next(iter(places.values())))
    study = Study(replace(asked, concepts={**named, **asked.concepts}), places, {})
    if not dry_run:
        return study
    pairs = _pairs(study)
    rows = [(pair.backbone, pair.domain, f"{pair.classes:,}", f"{pair.rows:,}", pair.dimension) for pair in pairs]
    columns = ("backbone", "domain", "concepts", "training images", "dimension")
    print_table("Features", columns, rows, columns[2:])
    console().print(f"\n{jobs_text(asked, pairs)}")
    return None


def study_of_other_levels(asked: "Asked", folder: Path, backbones: Sequence[str], out: Path) -> Study:
    """A study of features that are regrouped from those of other levels."""
    from unseen.studies.concepts.regroup import regroup
    from unseen.studies.concepts.variants import PLAIN, split_rule

    most = None if asked.variant == PLAIN else split_rule(asked.variant).max_train
    unknown = [name for name in asked.domains if name not in asked.concepts]
    if unknown:
        raise UserError(f"{unknown[0]}: its concepts are not known; leave it out (--domains)")
    places = {
        name: regroup(folder, name, asked.concepts, out / FEATURES, most=most, seen=asked.seen) for name in backbones
    }
    splits = {} if most is None else {"splits": f"regrouped, at most {most} training images a concept"}
    return Study(asked, places, splits)


def study_of_images(
    asked: "Asked",
    chosen: Chosen,
    options: ImageOptions,
    backbones: "list[Backbone]",
    settings: "Settings",
    out: Path,
    workers: int,
    dry_run: bool,
    ignore_disk: bool = False,
) -> Study | None:
    """Show the plan, then extract what is missing; None where only the plan was wanted.

    Args:
        ignore_disk: start although the disk seems too small.
    """
    from unseen.features.disk import lacking_space, refuse_full_disk
    from unseen.features.settings import checked_device
    from unseen.runs.notices import told
    from unseen.runs.record import refuse_other_run
    from unseen.studies.concepts.features import Place, extract_domains
    from unseen.studies.concepts.study import image_notices, images_text, study_provenance
    from unseen.studies.features import read_about

    checked_device(settings)
    # Before hours of extraction, not after them.
    expected = {each.label: Place(out, settings.decides(each.spec, "", "")) for each in backbones}
    refuse_other_run(out, study_provenance(asked, expected) | _draw_text(options))
    opened, said = open_domains(chosen, asked.domains, options)
    asked = replace(asked, concepts={domain.name: domain.concepts for domain in opened})
    costs, pairs = _costs(asked, opened, backbones, settings, out, workers)
    show_costs(asked, costs, pairs, workers)
    if dry_run:
        if lacking := lacking_space(out, costs.disk):
            note(lacking)
        return None
    refuse_full_disk(out, costs.disk, ignore=ignore_disk)
    found: dict[str, dict[str, dict[str, Place]]] = {backbone.label: {} for backbone in backbones}
    for name, split, stores in extract_domains(opened, backbones, out / FEATURES, settings, CommandWatch().extracting):
        for backbone, store in zip(backbones, stores, strict=True):
            found[backbone.label].setdefault(name, {})[split] = Place(store, read_about(store))
            say_damaged(f"{name}, {split}", store)
    places = {
        name: {domain: (sides["train"], sides["test"]) for domain, sides in domains.items()}
        for name, domains in found.items()
    }
    images = images_text(opened, asked.seen)
    return Study(asked, places, images | _draw_text(options), [*map(told, said), *image_notices(images)])


def _draw_text(options: ImageOptions) -> dict[str, str]:
    """How the images of the levels were drawn, for provenance."""
    from unseen.images.splits import Splits
    from unseen.studies.concepts.variants import split_rule

    if options.splits:
        return {"splits": f"{options.splits.name}, {Splits.read(options.splits).content_hash[:16]}"}
    rule = split_rule(options.variant)
    return {"splits": f"drawn with seed 0: {rule.test} test and at most {rule.max_train} training images a concept"}


def _costs(
    asked: "Asked",
    domains: "list[DomainImages]",
    backbones: "list[Backbone]",
    settings: "Settings",
    out: Path,
    workers: int,
) -> "tuple[Costs, list[FeaturePair]]":
    from unseen.features.disk import free_disk
    from unseen.studies.concepts.plan import Costs, expected_pairs, extraction_costs, probing_memory
    from unseen.studies.concepts.study import study_jobs
    from unseen.studies.probing import estimate

    pairs = expected_pairs(domains, backbones)
    each, seconds = extraction_costs(domains, backbones, out / FEATURES, settings)
    probing = estimate(study_jobs(asked, pairs), pairs, out / "results", workers)
    memory = probing_memory(pairs, asked.protocol, extended=asked.extended)
    return Costs(tuple(each), seconds, probing, memory, free_disk(out)), pairs


def _pairs(study: Study) -> "list[FeaturePair]":
    from unseen.studies.concepts.features import feature_pairs

    asked = study.asked
    return [pair for name, places in study.places.items() for pair in feature_pairs(name, places, asked.concepts)]


def probe_study(study: Study, out: Path, workers: int, *, published: bool = False) -> "RunData":
    """Write the run down, run the probes that are missing, and return it with its scores.

    Args:
        published: whether to refuse features of other data than the published numbers are of, before they are probed.
    """
    from unseen.runs.lock import folder_lock
    from unseen.runs.record import LEVELS, extend_run, with_scores
    from unseen.studies.concepts.leaderboard import refuse_other_data
    from unseen.studies.concepts.study import study_jobs, study_run
    from unseen.studies.probing import job_keys

    pairs = _pairs(study)
    jobs = study_jobs(study.asked, pairs)
    planned = study_run(study.asked, pairs, study.places, study.images, study.notices)
    if published:
        refuse_other_data(out, planned)
    with folder_lock(out):
        data, keys = extend_run(out, planned, job_keys(jobs))
        study.asked.levels.write(out / LEVELS)
    run_missing(jobs, pairs, out, workers)
    return with_scores(out, data, keys)
