"""Contributed models: several results files combined, each model once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from unseen.errors import UserError
from unseen.exchange.check import sound_results
from unseen.exchange.export import run_records
from unseen.exchange.plausible import verdict
from unseen.exchange.record import BackboneFacts, ResultRecord
from unseen.runs.comparability_words import refusal

RESULTS = ".json"
MOST_OF_A_NAME = 1_000
"""Models of one name, in files of one name, that are told apart by numbers; each is compared with all before."""
SHOWN = 60


@dataclass(frozen=True)
class Contribution:
    """A model and all its records.

    Attributes:
        name: unique among all contributed models; its records have that name too.
        places: names of the files or run folders that the records come from.
        own: whether all of them are run folders, not results files of others.
    """

    name: str
    places: tuple[str, ...]
    records: tuple[ResultRecord, ...]
    own: bool = False

    @property
    def origin(self) -> str:
        """The word that tables have for where a model comes from."""
        return "own run" if self.own else "contributed"

    @property
    def backbone(self) -> BackboneFacts:
        return self.records[0].backbone


def is_results(path: Path) -> bool:
    """Whether a path is a results file, not the folder of a run."""
    return path.suffix == RESULTS and not path.is_dir()


def read_contributions(paths: Iterable[Path]) -> list[Contribution]:
    """The models of results files and of runs, in order.

    Records with the same backbone name belong to one model if their weights agree and their data differ. Otherwise the
    name of the file is appended to the name of the later one. Identical records, for instance from a file given twice,
    count once.
    """
    models: dict[str, Contribution] = {}
    read_before: dict[tuple[str, ...], list[ResultRecord]] = {}
    for path in paths:
        by_name: dict[str, list[ResultRecord]] = {}
        for record in _records(path):
            same = read_before.setdefault((record.backbone.name, *_measurement(record)), [])
            if record in same:
                continue
            same.append(record)
            by_name.setdefault(record.backbone.name, []).append(record)
        for name, records in by_name.items():
            label = _label(name, records, models, path)
            renamed = tuple(replace(each, backbone=replace(each.backbone, name=label)) for each in records)
            before = models.get(label)
            models[label] = (
                replace(
                    before,
                    places=(*before.places, path.name),
                    records=(*before.records, *renamed),
                    own=before.own and not is_results(path),
                )
                if before
                else Contribution(label, (path.name,), renamed, own=not is_results(path))
            )
    return list(models.values())


def _records(path: Path) -> Sequence[ResultRecord]:
    if is_results(path):
        return sound_results(path).records
    from unseen.runs.record import read_run

    return run_records(read_run(path), path)


def _label(name: str, records: Sequence[ResultRecord], taken: dict[str, Contribution], path: Path) -> str:
    """The first name that is free, or of a model that the records add to; each model of the same name is compared."""
    numbered = (f"{name} ({path.stem} {number})" for number in range(2, MOST_OF_A_NAME))
    for label in chain((name, f"{name} ({path.stem})"), numbered):
        if label not in taken or _adds_to(taken[label], records):
            return label
    raise UserError(
        f"{path}: there are {MOST_OF_A_NAME:,} other models called '{name[:SHOWN]}', the most that are told apart; "
        "give models names of their own, or make several leaderboards"
    )


def _adds_to(before: Contribution, records: Sequence[ResultRecord]) -> bool:
    """Whether records add other data to a known model: everything that both say about the weights agrees."""
    pairs = [
        (getattr(own.backbone, name), getattr(records[0].backbone, name))
        for own in before.records
        for name in ("digest", "weights", "preprocessing")
    ]
    known = [(own, other) for own, other in pairs if own is not None and other is not None]
    taken = {_measurement(each) for each in before.records}
    same = bool(known) and all(own == other for own, other in known)
    return same and not any(_measurement(each) in taken for each in records)


def _measurement(record: ResultRecord) -> tuple[str, str, str]:
    return record.study, record.protocol, record.data.name


def beside_published(records: Sequence[ResultRecord], domains: Sequence[str]) -> tuple[list[ResultRecord], str]:
    """The records of one protocol that may be compared with published ones, one per domain; or none and the reason.

    If a model has results on all domains under several protocols, those with the fewest reservations are used: `cog-v2`
    before `cog-v2-pruned`.
    """
    by_protocol: dict[str, dict[str, ResultRecord]] = {}
    reservations: Counter[str] = Counter()
    refusals: dict[str, str] = {}
    for record in records:
        judged = verdict(record)
        if judged is None:
            continue
        if judged[1].allowed:
            by_protocol.setdefault(record.protocol, {})[record.data.name] = record
            reservations[record.protocol] += len(judged[1].reasons)
        else:
            refusals.setdefault(record.data.name, refusal(judged[1], record.data.title))
    complete = [name for name, by_domain in by_protocol.items() if {*domains} <= {*by_domain}]
    if complete:
        chosen = by_protocol[min(complete, key=lambda name: reservations[name])]
        return [chosen[name] for name in domains], ""
    most = max(by_protocol.values(), key=len, default={})
    missing = [name for name in domains if name not in most]
    return [], refusals.get(missing[0], f"no results on {', '.join(missing)}")
