"""A run on disk: what was asked (`run.json`) and a result file per job (`results/`).

`run.json` is written when a run is planned, so an unfinished run can be reported too. It lists the keys of its jobs:
results that an earlier plan left in the folder are not mixed in.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Container, Sequence
from dataclasses import asdict, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.jobs.probe_job import result_scores
from unseen.jobs.runner import read_result
from unseen.report.run_data import Backbone, Domain, Example, RunData, Step
from unseen.results.score import Score

FORMAT = 1
RUN = "run.json"
RESULTS = "results"


def write_run(folder: Path, data: RunData, keys: Sequence[str]) -> None:
    """Write what a run is, without its scores."""
    record = asdict(replace(data, scores=())) | {"format": FORMAT, "keys": list(keys)}
    del record["scores"]
    for domain in record["domains"]:
        for example in domain["examples"]:
            example["png"] = b64encode(example["png"]).decode()
    with atomic_write(folder / RUN) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False).encode())


def read_run(folder: Path) -> RunData:
    """A run with the scores it has so far."""
    path = folder / RUN
    if not path.is_file():
        raise UserError(f"{folder}: no {RUN} in it, so it is not the folder of a run")
    try:
        record: dict[str, Any] = json.loads(path.read_text())
        if record.pop("format") != FORMAT:
            raise UserError(f"{path}: written by another version of unseen; run it again")
        keys = record.pop("keys")
        record["domains"] = [_domain(domain) for domain in record["domains"]]
        record["backbones"] = [Backbone(**backbone) for backbone in record["backbones"]]
        record["steps"] = [Step(**step) for step in record["steps"]]
        data = RunData(scores=(), **record)
        if not data.domains or not data.backbones or not all(isinstance(key, str) for key in keys):
            raise ValueError("no domains, backbones or keys")
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error})") from None
    return with_scores(folder, data, keys)


def with_scores(folder: Path, data: RunData, keys: Sequence[str]) -> RunData:
    """A run with the scores of its jobs; those without a result are counted in the notice."""
    results = [read_result(folder / RESULTS, key) for key in keys]
    scores = [score for result in results if result for score in result_scores(result)]
    left = sum(result is None for result in results)
    unfinished = f"This run is not finished: {left} of {len(keys)} jobs have no result yet." if left else ""
    return replace(data, scores=scores, notice=" ".join(filter(None, [data.notice, unfinished])))


def _domain(record: dict[str, Any]) -> Domain:
    examples = [Example(b64decode(example["png"]), example["caption"]) for example in record["examples"]]
    return Domain(**(record | {"examples": examples}))


def merge_runs(runs: Sequence[tuple[str, RunData]]) -> RunData:
    """Several runs, each with a name, as one to compare.

    Domains of the same name and concepts are the same domain, and backbones of the same name with the same scores the
    same backbone; where they differ, the later one gets the name of its run behind its own.
    """
    if len(runs) == 1:
        return runs[0][1]
    protocols = {score.protocol for _, data in runs for score in data.scores}
    if len(protocols) > 1:
        raise UserError(f"these runs follow different protocols ({', '.join(sorted(protocols))}); report them apart")
    domains: dict[str, Domain] = {}
    backbones: dict[str, Backbone] = {}
    values: dict[str, set[tuple[Any, ...]]] = {}
    scores, notices = list[Score](), list[str]()
    provenance: dict[str, str] = {}
    for name, data in runs:
        renamed = {}
        for domain in data.domains:
            same = {label for label, other in domains.items() if tuple(other.concepts) == tuple(domain.concepts)}
            label = _label(domain.name, name, domains, same)
            domains.setdefault(
                label, replace(domain, name=label, title=label if label != domain.name else domain.title)
            )
            renamed[domain.name] = label
        for backbone in data.backbones:
            own = [replace(s, domain=renamed[s.domain]) for s in data.scores if s.backbone == backbone.name]
            found = {(s.domain, s.shots, s.seed, s.metric, s.value) for s in own}
            label = _label(backbone.name, name, backbones, {key for key, other in values.items() if other == found})
            if label not in backbones:
                backbones[label], values[label] = replace(backbone, name=label), found
                scores += [replace(score, backbone=label) for score in own]
        notices += [f"{name}: {data.notice}"] if data.notice else []
        provenance |= {f"{name}: {label}": text for label, text in data.provenance.items()}
    return replace(
        runs[0][1],
        title=" and ".join(dict.fromkeys(data.title for _, data in runs)),
        notice=" ".join(dict.fromkeys(notices)),
        scores=scores,
        backbones=list(backbones.values()),
        domains=list(domains.values()),
        provenance=provenance,
    )


def _label(name: str, run: str, taken: Container[str], same: Container[str]) -> str:
    """The name itself where it is free or means the same, otherwise with the run's name, and a number if need be."""
    candidates = chain([name, f"{name} ({run})"], (f"{name} ({run} {number})" for number in count(2)))
    return next(label for label in candidates if label not in taken or label in same)
