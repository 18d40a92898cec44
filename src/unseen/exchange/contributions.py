"""Models that others contribute: results files put together, each model once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from unseen.exchange.check import sound_results
from unseen.exchange.export import run_records
from unseen.exchange.plausible import verdict
from unseen.exchange.record import BackboneFacts, ResultRecord
from unseen.runs.comparability_words import refusal

RESULTS = ".json"


@dataclass(frozen=True)
class Contribution:
    """A model and all records of it.

    Attributes:
        name: what it is called among all contributed models; its records have that name too.
        places: names of the files, or of the folders of runs, that it is from.
    """

    name: str
    places: tuple[str, ...]
    records: tuple[ResultRecord, ...]

    @property
    def backbone(self) -> BackboneFacts:
        return self.records[0].backbone


def is_results(path: Path) -> bool:
    """Whether a path is of a results file, not of a run's folder."""
    return path.suffix == RESULTS and not path.is_dir()


def read_contributions(paths: Iterable[Path]) -> list[Contribution]:
    """The models of results files and of runs, in order.

    Records of one name are of one model if they say the same of the backbone and are of different data. Otherwise the
    later one gets the name of its file behind its own. A record that was there before, as in a file that is given
    twice, counts once.
    """
    found: dict[str, Contribution] = {}
    before_it: dict[tuple[str, ...], list[ResultRecord]] = {}
    for path in paths:
        by_name: dict[str, list[ResultRecord]] = {}
        for record in _records(path):
            same = before_it.setdefault((record.backbone.name, *_of(record)), [])
            if record in same:
                continue
            same.append(record)
            by_name.setdefault(record.backbone.name, []).append(record)
        for name, records in by_name.items():
            label = _label(name, records, found, path)
            renamed = tuple(replace(each, backbone=replace(each.backbone, name=label)) for each in records)
            before = found.get(label)
            found[label] = (
                replace(before, places=(*before.places, path.name), records=(*before.records, *renamed))
                if before
                else Contribution(label, (path.name,), renamed)
            )
    return list(found.values())


def _records(path: Path) -> Sequence[ResultRecord]:
    if is_results(path):
        return sound_results(path).records
    from unseen.runs.record import read_run

    return run_records(read_run(path), path)


def _label(name: str, records: Sequence[ResultRecord], taken: dict[str, Contribution], path: Path) -> str:
    tries = [name, f"{name} ({path.stem})", *(f"{name} ({path.stem} {number})" for number in range(2, 1000))]
    return next(each for each in tries if each not in taken or _adds_to(taken[each], records))


def _adds_to(before: Contribution, records: Sequence[ResultRecord]) -> bool:
    """Whether records are more of a model that is known: the same weights, as far as both say it, and other data."""
    pairs = [
        (getattr(own.backbone, name), getattr(records[0].backbone, name))
        for own in before.records
        for name in ("digest", "weights", "preprocessing")
    ]
    known = [(own, other) for own, other in pairs if own is not None and other is not None]
    taken = {_of(each) for each in before.records}
    same = bool(known) and all(own == other for own, other in known)
    return same and not any(_of(each) in taken for each in records)


def _of(record: ResultRecord) -> tuple[str, str, str]:
    return record.study, record.protocol, record.data.name


def beside_published(records: Sequence[ResultRecord], domains: Sequence[str]) -> tuple[list[ResultRecord], str]:
    """The records that may stand beside published ones, one for each domain; none and the reason where one may not."""
    found: dict[str, ResultRecord] = {}
    why: dict[str, str] = {}
    for record in records:
        judged = verdict(record)
        if judged is None:
            continue
        if judged[1].allowed:
            found[record.data.name] = record
        else:
            why.setdefault(record.data.name, refusal(judged[1], record.data.title))
    lacking = [name for name in domains if name not in found]
    if not lacking:
        return [found[name] for name in domains], ""
    return [], why.get(lacking[0], f"no results on {', '.join(lacking)}")
