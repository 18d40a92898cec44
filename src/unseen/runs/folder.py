"""A run on disk: what was asked (`run.json`) and a result file per job (`results/`).

`run.json` is written when a run is planned, so an unfinished run can be reported too. It lists the keys of its jobs:
results that an earlier plan left in the folder are not mixed in. A run of levels keeps them beside it (`levels.csv`).
"""

import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain, count
from pathlib import Path
from typing import Any, get_args

from unseen.errors import UserError
from unseen.files import atomic_write
from unseen.jobs.runner import Result, read_result
from unseen.jobs.scores import result_scores
from unseen.jobs.zero_rows import zero_rows
from unseen.ontology.levels import Levels
from unseen.papers.comparability import ScoredData
from unseen.results.flaws import Flaw
from unseen.results.score import Score
from unseen.runs.concept_accuracy import concept_accuracy, concept_hits
from unseen.runs.data import Backbone, ConceptAccuracy, ConceptHits, Domain, Example, RunData, Step, Study
from unseen.runs.random_draws import pooled_draws

FORMAT = 1
RUN = "run.json"
RESULTS = "results"
LEVELS = "levels.csv"
VERSION = "unseen"
"""The label of provenance that may change while a run goes on."""
TOP1 = "ImageNet top-1 of "
"""How the label of provenance begins that says a backbone's accuracy on ImageNet, in percent: it may be corrected."""
MADE_BY = "backbone "
"""How the label of provenance begins that says what a backbone is: weights, layer, preprocessing."""
FEATURES_BY = "features by "
"""How the label begins that says the same of features in runs of the task study."""


def write_run(folder: Path, data: RunData, keys: Sequence[str]) -> None:
    """Write what a run is, without its scores."""
    bare = replace(data, scores=(), concept_accuracy=(), concept_hits=())
    record = asdict(bare) | {"format": FORMAT, "keys": list(keys)}
    del record["scores"], record["concept_accuracy"], record["concept_hits"]
    for domain in record["domains"]:
        for example in domain["examples"]:
            example["png"] = b64encode(example["png"]).decode()
    with atomic_write(folder / RUN) as file:
        file.write(json.dumps(record, indent=1, ensure_ascii=False).encode())


def extend_run(folder: Path, data: RunData, keys: Sequence[str]) -> tuple[RunData, list[str]]:
    """Write a run that a folder may have a part of already, and return the whole: all its jobs, domains and backbones.

    What both parts say of their protocol, levels, backbones, images and features must be the same. If it is not, the
    folder stays as it is. A reader is told what any part had to tell.
    """
    if (folder / RUN).is_file():
        refuse_other_run(folder, data.provenance)
        old, old_keys = _read(folder)
        if old.study != data.study:
            raise UserError(f"{folder}: the folder of a run of unseen {old.study}; give another folder (--out)")
        domains = {domain.name: domain for domain in (*old.domains, *data.domains)}
        backbones = {backbone.name: backbone for backbone in old.backbones}
        for backbone in data.backbones:
            backbones[backbone.name] = _with_top1(backbone, backbones.get(backbone.name))
        data = replace(
            data,
            domains=_in_order(domains.values()),
            backbones=list(backbones.values()),
            baseline=old.baseline,
            notice=_both_notices(old, data),
            provenance={**old.provenance, **data.provenance},
            published=data.published if data.published == old.published else "",
            scored=list({(each.backbone, each.domain): each for each in (*old.scored, *data.scored)}.values()),
            flaws=[*dict.fromkeys([*old.flaws, *data.flaws])],
        )
        keys = [*dict.fromkeys([*old_keys, *keys])]
    write_run(folder, data, keys)
    return data, list(keys)


def _with_top1(backbone: Backbone, other: Backbone | None) -> Backbone:
    """A backbone with the accuracy on ImageNet that the other says, where it says none itself."""
    if other is None or backbone.imagenet_top1 is not None:
        return backbone
    return replace(backbone, imagenet_top1=other.imagenet_top1)


def add_jobs(folder: Path, keys: Sequence[str], provenance: Mapping[str, str]) -> tuple[RunData, list[str]]:
    """Add jobs to a run that is there, and return all of it.

    Args:
        provenance: what decides these jobs; if the run says otherwise of it, the folder stays as it is.
    """
    refuse_other_run(folder, provenance)
    data, before = _read(folder)
    data = replace(data, provenance={**data.provenance, **provenance})
    every = [*dict.fromkeys([*before, *keys])]
    write_run(folder, data, every)
    return data, every


def _both_notices(old: RunData, new: RunData) -> str:
    """What either part of a run says, each sentence once, without what the older says on a domain the newer has."""
    known = tuple(f"{domain.name}: " for domain in new.domains)
    kept = [sentence for sentence in _sentences(old.notice) if not sentence.startswith(known)]
    return " ".join(dict.fromkeys([*kept, *_sentences(new.notice)]))


def _sentences(notice: str) -> list[str]:
    return re.split(r"(?<=\.) ", notice) if notice else []


def refuse_other_run(folder: Path, provenance: Mapping[str, str]) -> None:
    """Refuse to go on in the folder of a run that says otherwise of what both say something of."""
    before = _read(folder)[0].provenance if (folder / RUN).is_file() else {}
    for label, text in provenance.items():
        if label != VERSION and not label.startswith(TOP1) and before.get(label, text) != text:
            differ = f"'{before[label]}', not '{text}'"
            raise UserError(f"{folder}: a run with other {label} ({differ}); give another folder (--out)")


def read_run(folder: Path) -> RunData:
    """A run with the scores it has so far."""
    data, keys = _read(folder)
    return with_scores(folder, data, keys)


def read_results(folder: Path) -> list[Result]:
    """The results that the jobs of a run have so far."""
    _, keys = _read(folder)
    return [result for key in keys if (result := read_result(folder / RESULTS, key))]


def _read(folder: Path) -> tuple[RunData, list[str]]:
    """A run without its scores, and the keys of its jobs."""
    path = folder / RUN
    if not path.is_file():
        raise UserError(f"{folder}: no {RUN} in it, so it is not the folder of a run")
    try:
        record: dict[str, Any] = json.loads(path.read_text())
        if record.pop("format") != FORMAT:
            raise UserError(f"{path}: written by another version of unseen; run it again")
        keys = record.pop("keys")
        record["domains"] = [_domain(domain) for domain in record["domains"]]
        record["backbones"] = [_backbone(backbone, record["provenance"]) for backbone in record["backbones"]]
        record.setdefault("study", _study_of_results(folder, keys))
        record["steps"] = [Step(**step) for step in record["steps"]]
        record["scored"] = [ScoredData(**each) for each in record.get("scored", ())]
        record["flaws"] = [_flaw(flaw) for flaw in record.get("flaws", ())]
        data = RunData(scores=(), **record)
        if not data.domains or not data.backbones or not all(isinstance(key, str) for key in keys):
            raise ValueError("no domains, backbones or keys")
        if data.study not in get_args(Study):
            raise ValueError(f"no such study: '{data.study}'")
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: damaged ({error})") from None
    return data, keys


def _backbone(record: dict[str, Any], provenance: Mapping[str, str]) -> Backbone:
    """A backbone as it was written; earlier versions had its accuracy on ImageNet in the provenance alone."""
    said = provenance.get(f"{TOP1}{record['name']}")
    known = {"imagenet_top1": float(said) / 100} if said is not None and "imagenet_top1" not in record else {}
    return Backbone(**(record | known))


def _study_of_results(folder: Path, keys: Sequence[str]) -> str:
    """Which study a run of an earlier version is of, whose `run.json` does not say: the one of its jobs."""
    found = next((result for key in keys if (result := read_result(folder / RESULTS, key))), None)
    return str(found.job["study"]) if found else "concepts"


def with_scores(folder: Path, data: RunData, keys: Sequence[str]) -> RunData:
    """A run with the scores of its jobs, and its accuracy on each concept where that is known.

    Jobs without a result are counted in the notice.
    """
    found = [read_result(folder / RESULTS, key) for key in keys]
    results = [result for result in found if result]
    scores = [*pooled_draws(score for result in results for score in result_scores(result))]
    left = len(keys) - len(results)
    unfinished = f"This run is not finished: {left} of {len(keys)} jobs have no result yet." if left else ""
    levels = Levels.read(folder / LEVELS) if (folder / LEVELS).is_file() else None
    hits = concept_hits(folder / RESULTS, results)
    return replace(
        data,
        scores=_sorted(scores, data.backbones, data.domains),
        notice=" ".join(filter(None, [data.notice, unfinished])),
        concept_accuracy=concept_accuracy(hits, levels) if levels else (),
        concept_hits=hits,
        flaws=[*data.flaws, *zero_rows(results)],
    )


def _flaw(record: dict[str, Any]) -> Flaw:
    return Flaw(**(record | {"examples": tuple(record["examples"])}))


def _domain(record: dict[str, Any]) -> Domain:
    examples = [Example(b64decode(example["png"]), example["caption"]) for example in record["examples"]]
    return Domain(**(record | {"examples": examples}))


def merge_runs(runs: Sequence[tuple[str, RunData]]) -> RunData:
    """Several runs, each with a name, as one to compare.

    Domains of the same name and concepts are the same domain. Backbones of the same name are the same if the scores are
    that both have, or if the runs say that they have the same weights and made their features alike: then the runs are
    parts of one, as from several machines, and each adds what the ones before it lack. Where they differ, the later one
    gets the name of its run behind its own.
    """
    return merge_with_names(runs)[0]


def merge_with_names(runs: Sequence[tuple[str, RunData]]) -> tuple[RunData, list[dict[str, str]]]:
    """`merge_runs`, and for each run what its backbones are called in the merged one."""
    if len(runs) == 1:
        data = runs[0][1]
        return data, [{backbone.name: backbone.name for backbone in data.backbones}]
    _refuse_other_studies(runs)
    _refuse_other_protocols([score for _, data in runs for score in data.scores])
    domains: dict[str, Domain] = {}
    merged: dict[str, _Merged] = {}
    provenance: dict[str, str] = {}
    called: list[dict[str, str]] = []
    for name, data in runs:
        renamed, names = {}, {}
        for domain in data.domains:
            same = {label for label, other in domains.items() if tuple(other.concepts) == tuple(domain.concepts)}
            label = _label(domain.name, name, domains, same)
            domains.setdefault(
                label, replace(domain, name=label, title=label if label != domain.name else domain.title)
            )
            renamed[domain.name] = label
        for backbone in data.backbones:
            part = _part(data, backbone, renamed)
            label = _label(backbone.name, name, merged, {key for key, other in merged.items() if part.is_of(other)})
            merged[label] = merged[label].with_more(part) if label in merged else part.called(label)
            names[backbone.name] = label
        called.append(names)
        provenance |= {f"{name}: {label}": text for label, text in data.provenance.items()}
    backbones, ordered = [part.backbone for part in merged.values()], _in_order(domains.values())
    together = replace(
        runs[0][1],
        title=" and ".join(dict.fromkeys(data.title for _, data in runs)),
        notice=_joint_notice(runs),
        scores=_sorted([score for part in merged.values() for score in part.scores.values()], backbones, ordered),
        concept_accuracy=[item for part in merged.values() for item in part.concepts.values()],
        concept_hits=[hits for part in merged.values() for hits in part.hits.values()],
        backbones=backbones,
        domains=ordered,
        provenance=provenance,
        scored=[each for part in merged.values() for each in part.scored.values()],
        published=runs[0][1].published if len({data.published for _, data in runs}) == 1 else "",
        flaws=[*dict.fromkeys(flaw for part in merged.values() for flaw in part.flaws)],
    )
    return together, called


@dataclass(frozen=True)
class _Merged:
    """What runs say of one backbone: scores and accuracies by what they are of, and how its features were made."""

    backbone: Backbone
    scores: Mapping[tuple[Any, ...], Score]
    concepts: Mapping[tuple[str, str], ConceptAccuracy]
    hits: Mapping[tuple[str, str, int], ConceptHits]
    made: Mapping[str, str]
    scored: Mapping[str, ScoredData]
    flaws: Sequence[Flaw]

    def is_of(self, other: "_Merged") -> bool:
        """Whether this is the same backbone as another of the same name."""
        shared = self.made.keys() & other.made.keys()
        known = any(label.startswith((MADE_BY, FEATURES_BY)) for label in shared)
        if known and all(self.made[label] == other.made[label] for label in shared):
            return True
        both = self.scores.keys() & other.scores.keys()
        alike = all(self.scores[key].value == other.scores[key].value for key in both)
        return alike and (bool(both) or not (self.scores or other.scores))

    def with_more(self, part: "_Merged") -> "_Merged":
        own = part.called(self.backbone.name)
        return replace(
            self,
            backbone=replace(
                _with_top1(self.backbone, part.backbone),
                cautions=[*dict.fromkeys([*self.backbone.cautions, *part.backbone.cautions])],
            ),
            scores={**own.scores, **self.scores},
            concepts={**own.concepts, **self.concepts},
            hits={**own.hits, **self.hits},
            made={**own.made, **self.made},
            scored={**own.scored, **self.scored},
            flaws=[*self.flaws, *own.flaws],
        )

    def called(self, name: str) -> "_Merged":
        return replace(
            self,
            backbone=replace(self.backbone, name=name),
            scores={key: replace(score, backbone=name) for key, score in self.scores.items()},
            concepts={key: replace(item, backbone=name) for key, item in self.concepts.items()},
            hits={key: replace(hits, backbone=name) for key, hits in self.hits.items()},
            scored={domain: replace(each, backbone=name) for domain, each in self.scored.items()},
            flaws=[replace(flaw, backbone=name) for flaw in self.flaws],
        )


def _part(data: RunData, backbone: Backbone, renamed: Mapping[str, str]) -> _Merged:
    """What one run says of a backbone, with the names that domains have in the merged run."""
    own = [replace(s, domain=renamed[s.domain]) for s in data.scores if s.backbone == backbone.name]
    items = [replace(i, domain=renamed[i.domain]) for i in data.concept_accuracy if i.backbone == backbone.name]
    hits = [replace(h, domain=renamed[h.domain]) for h in data.concept_hits if h.backbone == backbone.name]
    labels = (f"{MADE_BY}{backbone.name}", f" by {backbone.name}")
    # Features of other levels of the same name are of other domains, and do not tell backbones apart.
    called = {
        f"features of {name} by {backbone.name}": f"features of {label} by {backbone.name}"
        for name, label in renamed.items()
    }
    return _Merged(
        backbone,
        {(s.protocol, s.domain, s.probe, s.shots, s.seed, s.metric): s for s in own},
        {(item.domain, item.concept): item for item in items},
        {(h.domain, h.shots, h.seed): h for h in hits},
        {called.get(label, label): text for label, text in data.provenance.items() if label.endswith(labels)},
        {
            renamed[each.domain]: replace(each, domain=renamed[each.domain])
            for each in data.scored
            if each.backbone == backbone.name and each.domain in renamed
        },
        [replace(f, domain=renamed.get(f.domain, f.domain)) for f in data.flaws if f.backbone == backbone.name],
    )


def _joint_notice(runs: Sequence[tuple[str, RunData]]) -> str:
    """What all runs say once; what some say with their names before it."""
    notices: dict[str, list[str]] = {}
    for name, data in runs:
        notices.setdefault(data.notice, []).append(name)
    said = [(names, text) for text, names in notices.items() if text]
    return " ".join(text if len(names) == len(runs) else f"{', '.join(names)}: {text}" for names, text in said)


def _refuse_other_studies(runs: Sequence[tuple[str, RunData]]) -> None:
    """Refuse runs of tasks together with others, whose pages have nothing in common."""
    by_study = {data.study: name for name, data in runs}
    if "tasks" in by_study and len(by_study) > 1:
        each = " and ".join(f"{name} is of unseen {study}" for study, name in by_study.items())
        raise UserError(f"{each}: a page is of one study; report them apart, or put them together with unseen report")


def _refuse_other_protocols(scores: Sequence[Score]) -> None:
    """Refuse runs that trained the same kind of probe in different ways."""
    for probe in {score.probe for score in scores}:
        protocols = sorted({score.protocol for score in scores if score.probe == probe})
        if len(protocols) > 1:
            raise UserError(f"these runs follow different protocols ({', '.join(protocols)}); report them apart")


def _in_order(domains: Iterable[Domain]) -> list[Domain]:
    """The seen domain, then levels from the most similar on, then the others as they came."""
    return sorted(
        domains, key=lambda domain: (not domain.seen, -domain.similarity if domain.similarity is not None else 1)
    )


def _sorted(scores: Iterable[Score], backbones: Sequence[Backbone], domains: Sequence[Domain]) -> list[Score]:
    """Scores in the order that pages and tables show them in, whatever order they were measured in."""
    backbone = {item.name: number for number, item in enumerate(backbones)}
    domain = {item.name: number for number, item in enumerate(domains)}
    return sorted(scores, key=lambda s: (backbone[s.backbone], domain[s.domain], s.shots or math.inf, s.seed))


def _label(name: str, run: str, taken: Container[str], same: Container[str]) -> str:
    """The name itself where it is free or means the same, otherwise with the run's name, and a number if need be."""
    candidates = chain([name, f"{name} ({run})"], (f"{name} ({run} {number})" for number in count(2)))
    return next(label for label in candidates if label not in taken or label in same)
