"""A run on disk: what was asked (`run.json`) and a result file per job (`results/`).

`run.json` is written when a run is planned, so an unfinished run can be reported too. It lists the keys of its jobs:
results that an earlier plan left in the folder are not mixed in. A run of levels keeps them beside it (`levels.csv`).

The schema of `run.json`; the types are in `unseen.runs.data`:

| key | meaning |
| --- | --- |
| format | the version of this schema, `FORMAT` |
| study | `concepts`, `tasks`, `shifts` or `probe` |
| keys | the content keys of its jobs, which name their results |
| title, baseline | of the page: its heading, and the backbone that differences are first taken from |
| backbones | name, category, description, cautions, accuracy on ImageNet, what decided features and fine-tuning |
| features | per backbone and domain: the key of the features, or their hash |
| domains | name, title, whether it is seen, similarity, concepts, examples, number of classes, limit on images |
| scored | per backbone and domain: protocol, classes, images, who drew them, variant of the levels |
| told | notices: code, arguments, domain, runs (`unseen.runs.notices`) |
| flaws | images that were left out, and rows that are not as others (`unseen.runs.flaws`) |
| steps | how the levels were made |
| published | whose levels these are, where they are published ones |
| provenance | label → text, for the page; an extension of the run with another text under a label is refused |
"""

import json
import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.ontology.levels import Levels
from unseen.papers.comparability import ScoredData
from unseen.runs.concept_accuracy import concept_accuracy, concept_hits
from unseen.runs.data import Backbone, Domain, Example, FeatureKey, RunData, Step, Study
from unseen.runs.flaws import Flaw
from unseen.runs.format_1 import upgraded
from unseen.runs.lock import folder_lock
from unseen.runs.notices import Notice, extended, unfinished
from unseen.runs.random_draws import pooled_draws
from unseen.runs.result_flaws import images_left_out, zero_rows
from unseen.runs.results import RESULTS, Result, read_all
from unseen.runs.score import Score
from unseen.runs.scores import result_scores

FORMAT = 2
"""Of `run.json`; runs of format 1 are read too (`unseen.runs.format_1`)."""
RUN = "run.json"
LEVELS = "levels.csv"
VERSION = "unseen"
"""The label of provenance that may change while a run goes on."""


def write_run(folder: Path, data: RunData, keys: Sequence[str]) -> None:
    """Write what a run is, without its scores."""
    bare = replace(data, scores=(), concept_accuracy=(), concept_hits=())
    record = asdict(bare) | {"format": FORMAT, "keys": list(keys)}
    del record["scores"], record["concept_accuracy"], record["concept_hits"]
    for domain in record["domains"]:
        for example in domain["examples"]:
            example["png"] = b64encode(example["png"]).decode()
    with folder_lock(folder), atomic_write(folder / RUN) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False).encode())


def extend_run(folder: Path, data: RunData, keys: Sequence[str]) -> tuple[RunData, list[str]]:
    """Write a run that a folder may have a part of already, and return the whole: all its jobs, domains and backbones.

    What both parts say of their protocol, levels, backbones, images and features must be the same. If it is not, the
    folder stays as it is. A reader is told what any part had to tell.
    """
    with folder_lock(folder):
        return _extend(folder, data, keys)


def _extend(folder: Path, data: RunData, keys: Sequence[str]) -> tuple[RunData, list[str]]:
    if (folder / RUN).is_file():
        refuse_other_run(folder, data.provenance)
        old, old_keys = read_record(folder)
        if old.study != data.study:
            raise UserError(f"{folder}: the folder of a run of unseen {old.study}; give another folder (--out)")
        domains = {domain.name: domain for domain in (*old.domains, *data.domains)}
        backbones = {backbone.name: backbone for backbone in old.backbones}
        for backbone in data.backbones:
            backbones[backbone.name] = with_known(backbone, backbones.get(backbone.name))
        data = replace(
            data,
            domains=in_order(domains.values()),
            backbones=list(backbones.values()),
            baseline=old.baseline,
            told=extended(old.told, data.told, (domain.name for domain in data.domains)),
            provenance={**old.provenance, **data.provenance},
            published=data.published if data.published == old.published else "",
            scored=list({(each.backbone, each.domain): each for each in (*old.scored, *data.scored)}.values()),
            features=list({(each.backbone, each.domain): each for each in (*old.features, *data.features)}.values()),
            flaws=[*dict.fromkeys([*old.flaws, *data.flaws])],
        )
        keys = [*dict.fromkeys([*old_keys, *keys])]
    write_run(folder, data, keys)
    return data, list(keys)


def with_known(backbone: Backbone, other: Backbone | None) -> Backbone:
    """A backbone with what the other says of it, where it says nothing itself."""
    if other is None:
        return backbone
    top1 = other.imagenet_top1 if backbone.imagenet_top1 is None else backbone.imagenet_top1
    return replace(backbone, imagenet_top1=top1, made={**other.made, **backbone.made})


def add_jobs(folder: Path, keys: Sequence[str], provenance: Mapping[str, str]) -> tuple[RunData, list[str]]:
    """Add jobs to a run that is there, and return all of it.

    Args:
        provenance: what decides these jobs; if the run says otherwise of it, the folder stays as it is.
    """
    with folder_lock(folder):
        refuse_other_run(folder, provenance)
        data, before = read_record(folder)
        data = replace(data, provenance={**data.provenance, **provenance})
        every = [*dict.fromkeys([*before, *keys])]
        write_run(folder, data, every)
    return data, every


def refuse_other_run(folder: Path, provenance: Mapping[str, str]) -> None:
    """Refuse to go on in the folder of a run that says otherwise of what both say something of."""
    before = read_record(folder)[0].provenance if (folder / RUN).is_file() else {}
    for label, text in provenance.items():
        if label != VERSION and before.get(label, text) != text:
            differ = f"'{before[label]}', not '{text}'"
            raise UserError(f"{folder}: a run with other {label} ({differ}); give another folder (--out)")


def read_run(folder: Path) -> RunData:
    """A run with the scores it has so far."""
    data, keys = read_record(folder)
    return with_scores(folder, data, keys)


def read_again(folder: Path, data: RunData) -> RunData:
    """The run as its folder has it now, since other processes may have added to it.

    Args:
        data: what is returned where the folder is of another plan by now, without the jobs of these scores.
    """
    now, keys = read_record(folder)
    return with_scores(folder, now, keys) if {score.key for score in data.scores} <= set(keys) else data


def read_results(folder: Path) -> list[Result]:
    """The results that the jobs of a run have so far."""
    _, keys = read_record(folder)
    return read_all(folder / RESULTS, keys)


def read_record(folder: Path) -> tuple[RunData, list[str]]:
    """A run without its scores, and the keys of its jobs."""
    path = folder / RUN
    if not path.is_file():
        raise UserError(f"{folder}: no {RUN} in it, so it is not the folder of a run")
    try:
        record: dict[str, Any] = json.loads(path.read_text())
        found = record.pop("format")
        if found not in (1, FORMAT):
            raise UserError(f"{path}: of format {found}, which this version of unseen does not know; update unseen")
        if found == 1:
            record = upgraded(record, folder)
        keys = record.pop("keys")
        record["domains"] = [_domain(domain) for domain in record["domains"]]
        record["backbones"] = [Backbone(**backbone) for backbone in record["backbones"]]
        record["told"] = [Notice.from_dict(each, str(path)) for each in record["told"]]
        record["steps"] = [Step(**step) for step in record["steps"]]
        record["features"] = [FeatureKey(**each) for each in record["features"]]
        record["scored"] = [ScoredData(**each) for each in record.get("scored", ())]
        record["flaws"] = [_flaw(flaw) for flaw in record.get("flaws", ())]
        data = RunData(scores=(), **record)
        if not data.domains or not data.backbones or not all(isinstance(key, str) for key in keys):
            raise ValueError("no domains, backbones or keys")
        if record["study"] not in get_args(Study):
            raise ValueError(f"no such study: '{data.study}'")
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error})") from None
    return data, keys


def with_scores(folder: Path, data: RunData, keys: Sequence[str]) -> RunData:
    """A run with the scores of its jobs, and its accuracy on each concept where that is known.

    Jobs without a result are counted in the notice.
    """
    results = read_all(folder / RESULTS, keys)
    scores = [*pooled_draws(score for result in results for score in result_scores(result))]
    left = len(keys) - len(results)
    levels = Levels.read(folder / LEVELS) if (folder / LEVELS).is_file() else None
    hits = concept_hits(folder / RESULTS, results)
    return replace(
        data,
        scores=sorted_scores(scores, data.backbones, data.domains),
        told=[*data.told, *unfinished(left, len(keys))],
        concept_accuracy=concept_accuracy(hits, levels) if levels else (),
        concept_hits=hits,
        flaws=[*data.flaws, *zero_rows(results), *images_left_out(results)],
    )


def _flaw(record: dict[str, Any]) -> Flaw:
    return Flaw(**(record | {"examples": tuple(record["examples"])}))


def _domain(record: dict[str, Any]) -> Domain:
    examples = [Example(b64decode(example["png"]), example["caption"]) for example in record["examples"]]
    return Domain(**(record | {"examples": examples}))


def in_order(domains: Iterable[Domain]) -> list[Domain]:
    """The seen domain, then levels from the most similar on, then the others as they came."""
    return sorted(
        domains, key=lambda domain: (not domain.seen, -domain.similarity if domain.similarity is not None else 1)
    )


def sorted_scores(scores: Iterable[Score], backbones: Sequence[Backbone], domains: Sequence[Domain]) -> list[Score]:
    """Scores in the order that pages and tables show them in, whatever order they were measured in."""
    backbone = {item.name: number for number, item in enumerate(backbones)}
    domain = {item.name: number for number, item in enumerate(domains)}
    return sorted(scores, key=lambda s: (backbone[s.backbone], domain[s.domain], s.shots or math.inf, s.seed))
