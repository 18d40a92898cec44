"""A run on disk: what was asked (`run.json`) and a result file per job (`results/`).

`run.json` is written when a run is planned, so an unfinished run can be reported too. It lists the keys of its jobs:
results that an earlier plan left in the folder are not mixed in.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.jobs.probe_job import result_scores
from unseen.jobs.runner import read_result
from unseen.report.run_data import Backbone, Domain, Example, RunData, Step

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
    """A run with the scores it has so far; jobs without a result are counted in the notice."""
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
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error})") from None
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

    Domains and backbones of the same name are the same; but where two runs have scores for the same backbone that
    differ, both are kept, with the run's name behind the backbone's.
    """
    if len(runs) == 1:
        return runs[0][1]
    protocols = {score.protocol for _, data in runs for score in data.scores}
    if len(protocols) > 1:
        raise UserError(f"these runs follow different protocols ({', '.join(sorted(protocols))}); report them apart")
    taken: dict[str, set[tuple[Any, ...]]] = {}
    scores, backbones = [], {}
    for name, data in runs:
        for backbone in data.backbones:
            own = [score for score in data.scores if score.backbone == backbone.name]
            values = {(s.domain, s.shots, s.seed, s.metric, s.value) for s in own}
            label = backbone.name
            if label in taken and taken[label] != values:
                label = f"{backbone.name} ({name})"
            if label not in taken:
                taken[label] = values
                backbones[label] = replace(backbone, name=label)
                scores += [replace(score, backbone=label) for score in own]
    first = runs[0][1]
    domains = {domain.name: domain for _, data in reversed(runs) for domain in data.domains}
    order = dict.fromkeys(domain.name for _, data in runs for domain in data.domains)
    return replace(
        first,
        title=" and ".join(dict.fromkeys(data.title for _, data in runs)),
        notice=" ".join(dict.fromkeys(data.notice for _, data in runs if data.notice)),
        scores=scores,
        backbones=list(backbones.values()),
        domains=[domains[name] for name in order],
    )
