"""A run on disk: its record (`run.json`) and one result file per job (`results/`).

`run.json` is written with the first result, so an unfinished run can be reported too. It lists the keys of all its
jobs, so results of an earlier plan in the same folder are not mixed in. A run on levels stores them beside it
(`levels.csv`).

The schema of `run.json` is given by the types of `unseen.runs.data.RunData` and `unseen.runs.setup`;
docs/run-folder.md explains it for readers of the file:

| key | meaning |
| --- | --- |
| format | the version of this schema, `FORMAT` |
| keys | the content keys of its jobs, which are the names of their results |
| title, baseline | heading of the page, and the backbone that differences are taken from by default |
| protocols | per probe: name of its protocol, and all its settings |
| backbones | name, category, description, cautions, accuracy on ImageNet, training data, features, fine-tuning |
| domains | name, title, what it measures, whether seen or shifted, similarity, concepts, classes, limit, licence |
| features | per backbone and domain: split → key of the features, or their hash |
| levels | name and content hash |
| splits | seed and numbers of images, or file and hash |
| images | per domain and split: release, whether faces are blurred, number of images, hash of a data set's list |
| seeds | seeds of the jobs |
| scored | per backbone and domain: protocol, classes, images, who drew them, variant of the levels, limit |
| told | notices: code, arguments, domain, runs (`unseen.runs.notices`) |
| flaws | damaged images that were skipped, labels that were not used, rows of zeros (`unseen.runs.flaws`) |
| steps | how the levels were built |
| studies | file of a study in the folder → the keys of its jobs; runs of before have none |
| published | name of the levels if they are published ones |
| remarks | label → text, additional lines for the page |
| written | times of the first and the last change; of the last change also versions, device and command |

A part that is added to a run (`extend_run`) is refused if it differs in a field that both parts know
(`unseen.runs.setup`). Runs of earlier formats are refused; their extracted features can be used.
"""

import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from math import inf
from pathlib import Path
from shlex import join
from typing import Any

from unseen.device import device_name
from unseen.errors import UserError, option
from unseen.features.costs import best_known
from unseen.files import write_text
from unseen.ontology.levels import Levels
from unseen.probes.job import Job
from unseen.reading.json_records import json_text, plain, read_json, typed, typed_fields
from unseen.runs.cautions import PHRASES
from unseen.runs.concept_accuracy import concept_accuracy, concept_hits
from unseen.runs.data import Backbone, Domain, RunData, Written
from unseen.runs.lock import folder_lock
from unseen.runs.notices import FAILED, NOT_LOGGED, SENTENCES, Notice, extended, failed, not_logged, unfinished
from unseen.runs.random_draws import pooled_draws
from unseen.runs.result_flaws import diverged, images_left_out, skipped_steps, zero_rows
from unseen.runs.results import RESULTS, Result, read_all, versions
from unseen.runs.score import Score
from unseen.runs.scores import RunScores
from unseen.runs.setup import Difference, FeatureKey, ProtocolUsed, Setup, differences
from unseen.text.words import counted

FORMAT = 6
"""Format of `run.json`. A new field needs a new format, since no field may be missing."""
RUN = "run.json"
LEVELS = "levels.csv"
ADVICE = "restore it from a copy, or make the run again"
MEASURED = ("scores", "concept_accuracy", "concept_hits", "parts", "folders", "packages")
"""Fields of `RunData` that are not in the file."""


def write_run(folder: Path, data: RunData, keys: Sequence[str]) -> None:
    """Write the record of a run, without its scores; an unchanged record is not written again."""
    path = folder / RUN
    with folder_lock(folder):
        before = read_json(path, ADVICE) if path.is_file() else {}
        record = {"format": FORMAT, "keys": list(keys)} | plain(data, MEASURED)
        known = data.written.versions if data.written else {}
        unchanged = record.keys() == before.keys() and all(
            record[name] == before[name] for name in record if name != "written"
        )
        unchanged &= all(known.get(name) == version for name, version in data.packages.items())
        if unchanged:
            return
        record["written"] = plain(_stamp(data.written, data.packages))
        write_text(path, json_text(record))


def _stamp(before: Written | None, packages: Mapping[str, str]) -> Written:
    """The versions of now; packages of plug-ins that earlier parts used keep theirs."""
    now = datetime.now(UTC).isoformat(timespec="seconds").removesuffix("+00:00") + "Z"
    program = Path(sys.argv[0]).name if sys.argv else ""
    command = join(["unseen", *sys.argv[1:]]) if program in {"unseen", "__main__.py"} else ""
    every = {**(before.versions if before else {}), **versions(), **packages}
    return Written(before.first if before else now, now, every, device_name(), command)


def extend_run(folder: Path, data: RunData, jobs: Sequence[Job], *, replacing: bool = False) -> str:
    """Add a part to the run in a folder; returns a sentence about what it replaced, if anything.

    Everything that both parts know about their protocols, levels, backbones, images and features must agree, and a
    folder has one job for each backbone, data set, probe, form, shots and seed. Otherwise the part is refused and the
    folder is not changed. The notices of all parts are kept.

    Args:
        replacing: let the part take the place of what differs from it: of the same jobs, of all jobs of a probe, a
            backbone or a data set that has changed, or else of the whole run.
    """
    with folder_lock(folder):
        keys, replaced = [job.key for job in jobs], ""
        if (folder / RUN).is_file():
            old, old_keys = read_record(folder)
            changed = differences(old.setup, data.setup)
            if changed and not replacing:
                raise UserError(_differ(folder, changed[0]))
            if any(not each.kind for each in changed):
                write_run(folder, replace(data, studies=old.studies), keys)
                return f"{folder}: replaces a run that differs in the {changed[0].field}"
            gone = _conflicting(folder, old_keys, jobs, changed)
            if gone and not replacing:
                raise UserError(_other_job(folder, gone[0], jobs))
            if gone or changed:
                what = changed[0].field if changed else f"way in which {gone[0].job['probe']} is computed"
                replaced = f"{folder}: replaces {counted(len(gone), 'result')}, as the {what} differs"
                old = _without(old, changed)
            lost = {each.key for each in gone}
            if replaced:  # jobs without a result may be of what is replaced, and nothing says so
                lost |= {*old_keys} - {each.key for each in read_all(folder / RESULTS, old_keys)}
            data = _together(old, data)
            keys = [*dict.fromkeys([*(key for key in old_keys if key not in lost), *keys])]
        write_run(folder, data, keys)
        return replaced


def _conflicting(folder: Path, keys: Sequence[str], jobs: Sequence[Job], changed: Sequence[Difference]) -> list[Result]:
    """The results of a run whose place other jobs take: of the same cell and form, or of what has changed."""
    new, same = {job.key for job in jobs}, {_identity(job.described) for job in jobs}
    gone = {(each.kind, each.name) for each in changed}
    return [
        result
        for result in read_all(folder / RESULTS, [key for key in keys if key not in new])
        if _identity(result.job) in same
        or gone
        & {("probe", result.job["probe"]), ("backbone", result.job["backbone"]), ("domain", result.job["dataset"])}
    ]


def _without(run: RunData, changed: Sequence[Difference]) -> RunData:
    """A run without what it says of probes, backbones and domains that have changed."""
    probes, backbones, domains = (
        {each.name for each in changed if each.kind == kind} for kind in ("probe", "backbone", "domain")
    )
    return replace(
        run,
        protocols=[each for each in run.protocols if each.probe not in probes],
        backbones=[each for each in run.backbones if each.name not in backbones],
        features=[each for each in run.features if each.backbone not in backbones and each.domain not in domains],
        scored=[each for each in run.scored if each.backbone not in backbones and each.domain not in domains],
        images=[each for each in run.images if each.domain not in domains],
        flaws=[each for each in run.flaws if each.backbone not in backbones and each.domain not in domains],
    )


def _identity(job: Mapping[str, Any]) -> str:
    """What only one job of a folder has: the rest of its description says how it is computed, or from what."""
    settings = {name: value for name, value in job.get("settings", {}).items() if name not in {"products", "half"}}
    return json.dumps(
        [job["probe"], job["backbone"], job["dataset"], job.get("shots"), job.get("seed", 0), settings], sort_keys=True
    )


def _other_job(folder: Path, result: Result, jobs: Sequence[Job]) -> str:
    """The sentence about a job that the folder has in another way."""
    job = result.job
    other = next(each.described for each in jobs if _identity(each.described) == _identity(job))
    words = {"reads": "features or images", "arithmetic": "kind of device", "revision": "version of the probe"}
    ways = [words.get(name, name) for name in ("reads", "arithmetic", "revision", "code", "metric", "settings")
            if job.get(name) != other.get(name)]  # fmt: skip
    return (
        f"{folder}: has {job['probe']} of {job['backbone']} on {job['dataset']} with other {' and '.join(ways)}; "
        f"choose another folder ({option('out')}), or let the new one take its place ({option('replace', True)})"
    )


def note_failures(folder: Path, failures: Sequence[str]) -> None:
    """Name the jobs that failed in the record of a run, instead of those of the call before."""
    _note_instead(folder, FAILED, failed(failures))


def note_not_logged(folder: Path, reasons: Mapping[str, str]) -> None:
    """Name the trackers that failed in the record of a run, instead of those of the call before."""
    _note_instead(folder, NOT_LOGGED, not_logged(reasons))


def _note_instead(folder: Path, code: str, notices: Sequence[Notice]) -> None:
    with folder_lock(folder):
        data, keys = read_record(folder)
        told = [*(each for each in data.told if each.code != code), *notices]
        if told != list(data.told):
            write_run(folder, replace(data, told=told), keys)


def _together(old: RunData, new: RunData) -> RunData:
    """Two parts of a run as one; the newer part takes precedence."""
    domains = {domain.name: domain for domain in (*old.domains, *new.domains)}
    backbones = {backbone.name: backbone for backbone in old.backbones}
    for backbone in new.backbones:
        backbones[backbone.name] = with_known(backbone, backbones.get(backbone.name))
    return replace(
        new,
        domains=in_order(domains.values(), len(old.domains)),
        backbones=list(backbones.values()),
        baseline=old.baseline,
        told=extended(old.told, new.told, (domain.name for domain in new.domains)),
        protocols=with_protocols(old.protocols, new.protocols),
        levels=old.levels or new.levels,
        splits=new.splits or old.splits,
        images=list({(each.domain, each.split): each for each in (*old.images, *new.images)}.values()),
        seeds=sorted({*old.seeds, *new.seeds}),
        remarks={**old.remarks, **new.remarks},
        studies={**old.studies, **new.studies},
        written=old.written,
        published=_published(old, new),
        scored=list({(each.backbone, each.domain): each for each in (*old.scored, *new.scored)}.values()),
        features=joined_features(old.features, new.features),
        flaws=[*dict.fromkeys([*old.flaws, *new.flaws])],
    )


def _published(old: RunData, new: RunData) -> str:
    """The published levels of both parts; a part without levels does not matter."""
    names = {each.published for each in (old, new) if "concepts" in each.axes}
    return names.pop() if len(names) == 1 else ""


def with_protocols(old: Sequence[ProtocolUsed], new: Sequence[ProtocolUsed]) -> list[ProtocolUsed]:
    """The protocols of both parts, the newer one for each probe."""
    return list({protocol.probe: protocol for protocol in (*old, *new)}.values())


def joined_features(old: Iterable[FeatureKey], new: Iterable[FeatureKey]) -> list[FeatureKey]:
    """The features of both parts, the newer ones for each split."""
    found: dict[tuple[str, str], FeatureKey] = {}
    for each in (*old, *new):
        before = found.get((each.backbone, each.domain), each)
        keys, files = {**before.keys, **each.keys}, {**before.files, **each.files}
        found[each.backbone, each.domain] = replace(each, keys=keys, files=files)
    return list(found.values())


def with_known(backbone: Backbone, other: Backbone | None) -> Backbone:
    """A backbone whose unknown fields are taken from the other."""
    if other is None:
        return backbone
    unknown = ("imagenet_top1", "training_data", "features", "patches", "finetuning", "classifier")
    less = [name for name in unknown if getattr(backbone, name) is None]
    less += [] if backbone.category else ["category"]
    if other.features and backbone.features and backbone.features.backbone.transform is None:
        less.append("features")  # probes of single images know only the weights
    cost = best_known([backbone.cost, other.cost])
    return replace(backbone, **{name: getattr(other, name) for name in less}, cost=cost)


def refuse_other_run(folder: Path, planned: Setup, jobs: Sequence[Job] = ()) -> None:
    """Refuse to continue in the folder of a run that differs in a field known to both; the first is named.

    Args:
        jobs: jobs that are to be added, of which the run may have some in another way.
    """
    if (folder / RUN).is_file():
        old, keys = read_record(folder)
        for each in differences(old.setup, planned):
            raise UserError(_differ(folder, each))
        for result in _conflicting(folder, keys, jobs, ()):
            raise UserError(_other_job(folder, result, jobs))


def _differ(folder: Path, each: Difference) -> str:
    return (
        f"{folder}: contains a run that differs in the {each.field} ({each.first}, not {each.second}); choose another "
        f"folder ({option('out')}), or let the new one take its place ({option('replace', True)})"
    )


def read_run(folder: Path) -> RunData:
    """Read a run with the scores it has so far."""
    data, keys = read_record(folder)
    return with_scores(folder, data, keys)


def read_with_results(folder: Path) -> tuple[RunData, list[Result]]:
    """Read a run with its scores, and its results."""
    data, keys = read_record(folder)
    results = read_all(folder / RESULTS, keys)
    return _scored(folder, data, keys, results), results


def read_runs(folders: Sequence[Path]) -> list[RunData]:
    """Read several runs. A job without a result in one folder is not missing if another of the folders has it."""
    done = {path.stem for folder in folders for path in (folder / RESULTS).glob("*.json")}
    return [with_scores(folder, *read_record(folder), elsewhere=done) for folder in folders]


def read_results(folder: Path) -> list[Result]:
    """Read the results that a run has so far."""
    _, keys = read_record(folder)
    return read_all(folder / RESULTS, keys)


def read_record(folder: Path) -> tuple[RunData, list[str]]:
    """Read a run without its scores, and the keys of its jobs."""
    path = folder / RUN
    if not path.is_file():
        raise UserError(f"{folder}: no {RUN} in it, so it is not the folder of a run")
    record = read_json(path, ADVICE)
    _check_format(record.pop("format", None), path)
    keys = typed(record.pop("keys", None), list[str], f"{path}, keys")
    record.setdefault("studies", {})
    backbones = record.get("backbones")
    for backbone in backbones if isinstance(backbones, list) else ():
        if isinstance(backbone, dict):
            cost = backbone.setdefault("cost", None)  # runs from before costs were recorded
            if isinstance(cost, dict) and isinstance(cost.get("speed"), dict):
                cost["speed"].setdefault("quartiles", None)  # and from before their spread was
    data = RunData(scores=(), **typed_fields(record, RunData, str(path), without=MEASURED))
    _check(data, path)
    return data, keys


def _check_format(format_: object, path: Path) -> None:
    if format_ in range(1, FORMAT) and format_ is not True:
        raise UserError(
            f"{path}: has format {format_}, which this version of unseen no longer reads; run it again in another "
            f"folder ({option('out')}), where its extracted features can still be used "
            f"({option('features', path.parent / 'features')})"
        )
    if format_ != FORMAT:
        raise UserError(f"{path}: has format {format_}, which this version of unseen does not know; update unseen")


def _check(data: RunData, path: Path) -> None:
    """Refuse records with correct types but impossible values."""
    if not data.domains or not data.backbones:
        raise UserError(f"{path}: damaged (no domains or no backbones)")
    known = [("notice", each.code, SENTENCES) for each in data.told]
    known += [("caution", each.code, PHRASES) for backbone in data.backbones for each in backbone.cautions]
    for what, code, codes in known:
        if code not in codes:
            raise UserError(f"{path}: has a {what} unknown to this version ({code}); update unseen")
    try:
        [each.sentence for each in data.told], [c.text for backbone in data.backbones for c in backbone.cautions]
    except (LookupError, ValueError) as error:
        raise UserError(f"{path}: damaged (a notice or a caution lacks {error})") from None


def with_scores(folder: Path, data: RunData, keys: Sequence[str], *, elsewhere: Collection[str] = ()) -> RunData:
    """A run with the scores of its jobs, and the accuracy on each concept if known.

    A notice gives the number of jobs without a result.

    Args:
        elsewhere: keys of jobs with results in other folders of the same page.
    """
    return _scored(folder, data, keys, read_all(folder / RESULTS, keys), elsewhere)


def _scored(
    folder: Path, data: RunData, keys: Sequence[str], results: Sequence[Result], elsewhere: Collection[str] = ()
) -> RunData:
    read = RunScores(data)
    scores = [*pooled_draws(score for result in results for score in read.of(result))]
    left = len({*keys} - {result.key for result in results} - {*elsewhere})
    levels = _levels(folder / LEVELS)
    hits = concept_hits(folder / RESULTS, results)
    return replace(
        data,
        scores=sorted_scores(scores, data.backbones, data.domains),
        told=[*data.told, *unfinished(left, len(keys))],
        concept_accuracy=concept_accuracy(hits, levels) if levels else (),
        concept_hits=hits,
        flaws=[
            *data.flaws,
            *zero_rows(results),
            *images_left_out(results),
            *skipped_steps(results),
            *diverged(results),
        ],
        folders=(folder,),
    )


def _levels(path: Path) -> Levels | None:
    """The levels of a run, if it has any. They are cached, since a command that ends with a page reads them twice."""
    try:
        about = path.stat()
    except FileNotFoundError:
        return None
    return _read_levels(path, about.st_mtime_ns, about.st_size)


@lru_cache(maxsize=8)
def _read_levels(path: Path, changed: int, size: int) -> Levels:
    return Levels.read(path)


def in_order(domains: Iterable[Domain], first: int) -> list[Domain]:
    """The seen domain, then levels by decreasing similarity, then the others in their order.

    Args:
        first: number of domains, at the start, that are in the order of the first run. If this is another order, as for
            domains that the user named, it is kept, and the other domains follow.
    """
    given = list(domains)
    by_similarity = sorted(given, key=lambda each: -each.similarity if each.similarity is not None else 1)
    kept = [each.name for each in given[:first] if not each.seen]
    if [each.name for each in by_similarity if each.name in kept] != kept:
        by_similarity = [*given[:first], *(each for each in by_similarity if each not in given[:first])]
    return sorted(by_similarity, key=lambda each: not each.seen)


def sorted_scores(scores: Iterable[Score], backbones: Sequence[Backbone], domains: Sequence[Domain]) -> list[Score]:
    """Scores in the order of pages and tables, independent of the order in which they were measured."""
    backbone = {item.name: number for number, item in enumerate(backbones)}
    domain = {item.name: number for number, item in enumerate(domains)}
    return sorted(scores, key=lambda s: (backbone[s.backbone], domain[s.domain], s.shots or inf, s.seed))
