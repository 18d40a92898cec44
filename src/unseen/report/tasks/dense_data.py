"""Dense tasks on a page of the task study: scores by data set and probe, by class, and pictures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from unseen.analyses.tasks.data import is_dense, own_title
from unseen.analyses.tasks.scores import dense_verdict
from unseen.data.core.dense.labels import Kind
from unseen.data.core.dense.pictures import KeptPicture
from unseen.data.registry import dense_sets
from unseen.errors import UserError
from unseen.papers.dense_settings import PATCH_PROBES, PROBE_TITLES, TRAINED
from unseen.probes.dense.protocols import SHORT
from unseen.probes.patches.patch_probe import kind_of_metric
from unseen.reading.json_records import typed
from unseen.runs.comparability_words import ERICSSON, verdict_sentences
from unseen.runs.data import RunData
from unseen.runs.results import Result
from unseen.runs.score import Score
from unseen.runs.scores import result_scores
from unseen.runs.seed_means import over_seeds, seeds_text

EARLIER_SCORE = 0.5
"""Least score of the detections in pictures of earlier versions."""


@dataclass(frozen=True)
class DenseResult:
    """A backbone on a data set with boxes or maps.

    Attributes:
        scores: the main metric first; means if there are several seeds (`unseen.runs.seed_means`).
        by_class: IoU or AP of each class, None for classes without test images; empty if there are no classes. Means
            if there are several seeds, of which pictures show the first.
        pictures: files with three panels each: image, ground truth, prediction.
        known: what the result says about pictures, by file; results of earlier versions say nothing.
        drawn_from: least score of the detections in the pictures.
    """

    backbone: str
    scores: Sequence[Score]
    by_class: Sequence[float | None]
    pictures: Sequence[Path]
    known: Mapping[str, KeptPicture]
    drawn_from: float


@dataclass(frozen=True)
class DenseProbe:
    """The results of one probe and protocol on a data set.

    Attributes:
        beside: whether published scores are comparable with those of a backbone.
        said: why they are not, or what differs.
    """

    probe: str
    protocol: str
    results: Sequence[DenseResult]
    beside: bool
    said: Sequence[str]

    @property
    def title(self) -> str:
        return f"{PROBE_TITLES[self.probe]}{' (short form)' if self.protocol.endswith(SHORT) else ''}"


@dataclass(frozen=True)
class DenseTask:
    """A data set with boxes or maps; `classes` are names, in the order of `DenseResult.by_class`."""

    name: str
    title: str
    kind: Kind
    classes: Sequence[str]
    probes: Sequence[DenseProbe]


def dense_tasks(data: RunData, results: Sequence[Result], pictures: Mapping[str, Path]) -> list[DenseTask]:
    """The dense tasks by data set, then by probe and protocol, then by backbone.

    Args:
        pictures: key of a result → the folder of its pictures.
    """
    titles = {domain.name: domain.title for domain in data.domains}
    groups: dict[str, dict[tuple[str, str], list[Result]]] = {}
    for result in filter(is_dense, results):
        first = next(result_scores(result, data))
        groups.setdefault(first.domain, {}).setdefault((first.probe, first.protocol), []).append(result)
    return [
        DenseTask(
            name,
            titles.get(name, name) if name in dense_sets() else own_title(titles.get(name, name)),
            kind_of_metric((some := next(iter(probes.values()))[0]).job["metric"]),
            _classes(some),
            [_probe(data, *key, found, titles, pictures) for key, found in probes.items()],
        )
        for name, probes in groups.items()
    ]


def _probe(
    data: RunData,
    probe: str,
    protocol: str,
    results: Sequence[Result],
    titles: Mapping[str, str],
    pictures: Mapping[str, Path],
) -> DenseProbe:
    verdicts = {
        (str(result.job["backbone"]), str(result.job["dataset"])): verdict
        for result in results
        if (verdict := dense_verdict(data, result)) is not None
    }
    if probe in PATCH_PROBES:
        said = [*_drawn(results), "No published numbers: the paper does not probe patches."]
    elif probe not in TRAINED:
        said = ["No published numbers: this goes beyond the paper, which has only ResNets."]
    elif not verdicts:
        said = ["No published numbers: the data set is not in the paper."]
    else:
        said = verdict_sentences(verdicts, titles, ERICSSON)
    beside = any(verdict.allowed for verdict in verdicts.values())
    by_backbone: dict[str, list[DenseResult]] = {}
    for result in sorted(results, key=lambda result: result.setting[1]):
        by_backbone.setdefault(str(result.job["backbone"]), []).append(_result(data, result, pictures))
    names = dict.fromkeys(str(result.job["backbone"]) for result in results)
    means = [_mean_result(by_backbone[name]) for name in names]
    seeds = seeds_text(score for each in means for score in each.scores)
    if seeds:
        said = [*said, f"Mean ± standard deviation over {seeds}; pictures are of the first seed."]
    return DenseProbe(probe, protocol, means, beside, said)


def _mean_result(seeds: Sequence[DenseResult]) -> DenseResult:
    """One result of a backbone from those of its seeds."""
    first = seeds[0]
    if len(seeds) == 1:
        return first
    classes = zip(*(each.by_class for each in seeds), strict=True)
    known = [[value for value in of if value is not None] for of in classes]
    means = [fmean(of) if len(of) == len(seeds) else None for of in known]
    return replace(first, scores=over_seeds(score for each in seeds for score in each.scores), by_class=means)


def _drawn(results: Sequence[Result]) -> list[str]:
    """How many patches of each training image were used, if not all."""
    numbers = sorted({result.job["settings"]["protocol"].get("patches", "all") for result in results} - {"all"})
    return [f"With {number} patches of each training image, at the same positions in all." for number in numbers]


def _result(data: RunData, result: Result, pictures: Mapping[str, Path]) -> DenseResult:
    folder = pictures.get(result.key)
    files = sorted(folder.glob("*.png"), key=lambda path: (len(path.stem), path.stem)) if folder else []
    by_class = result.details.get("by_class", [])
    count = len(_classes(result))
    if not isinstance(by_class, list) or (by_class and count and len(by_class) != count):
        raise UserError(f"the result {result.key}.json is damaged; delete the file and run again")
    where = f"{result.key}.json"
    known = {each.file: each for each in typed(result.details.get("pictures", []), list[KeptPicture], where)}
    drawn_from = typed(result.details.get("drawn_from", EARLIER_SCORE), float, where)
    scores = list(result_scores(result, data))
    return DenseResult(str(result.job["backbone"]), scores, by_class, files, known, drawn_from)


def _classes(result: Result) -> list[str]:
    """Names of the classes: from the result, or from the data set with that name, or numbers."""
    known = dense_sets().get(str(result.job["dataset"]))
    count = len(result.details.get("by_class", []))
    names = result.details.get("classes") or (known.names if known else ())
    return list(names) if len(names) == count else [f"class {number}" for number in range(count)]
