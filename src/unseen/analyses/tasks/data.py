"""Whether the scores of a task study were measured on the data sets that they are named after.

A user's own features may have the name of a data set but come from other data. Data with other classes or numbers of
images are another data set: they get another name, and have no published numbers, no part in the paper's averages, and
no known facts such as a licence. A user's own data set has its own name, and no published numbers either.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from unseen.data.core.dataset import Dataset
from unseen.data.registry import DATASETS, dense_sets, task_sets
from unseen.errors import UserError
from unseen.papers.comparability import (
    ERICSSON_PROTOCOLS,
    OTHER_DATA,
    Comparability,
    PublishedData,
    ScoredData,
    compare,
    published_dataset,
)
from unseen.papers.dense_settings import PATCH_PROBES, TRAINED
from unseen.probes.by_name.centroids import Centroids
from unseen.probes.by_name.linear import Linear
from unseen.probes.job import plain_json
from unseen.runs.comparability_words import ERICSSON, refusal_clauses, verdict_sentences
from unseen.runs.data import Domain, RunData
from unseen.runs.provenance import limit_text
from unseen.runs.results import Result

OTHER = "other"
"""The family of data sets that are not in the paper."""
DENSE = {*PATCH_PROBES, *TRAINED}
"""Probes of data sets with boxes or maps."""
BY_IMAGE = {"saliency", "inversion", "lpips"}
"""Probes of single images."""
IN_PAPER = {"linear", "centroids", "fine-tuned"}
"""Probes of classes in Ericsson et al. (2021)."""
REFERENCE = "cog-v2-finetune"
"""The protocol of fine-tuning with one setting, which is not that paper's."""
Names = Mapping[tuple[str, str], str]
"""(backbone, data set) → the name of the data that its scores were measured on."""


@dataclass(frozen=True)
class TaskDataset:
    """A data set of the page.

    Attributes:
        family: the paper's group of few-shot data sets, empty for none; `OTHER` for data sets outside the paper.
        limit: largest number of images per class and split; None for all.
        own: whether it is the user's own data set.
        test_images: number of test images; None if it is not known.
    """

    name: str
    title: str
    family: str
    limit: int | None = None
    own: bool = False
    test_images: int | None = None


def is_of_dataset(scored: ScoredData) -> bool:
    """Whether data are the data set that they are named after, or a part of it."""
    return _name(scored.domain, _verdict(scored)) != own_name(scored.domain)


def is_dense(result: Result) -> bool:
    """Whether a result is on a data set with boxes or maps."""
    return result.job["probe"] in DENSE


def is_by_image(result: Result) -> bool:
    """Whether a result is from an analysis of single images."""
    return result.job["probe"] in BY_IMAGE


def is_further(result: Result) -> bool:
    """Whether a result is of a probe that is not in the paper, or of the user's own probe or metric.

    Few-shot episodes with other classes, queries or numbers than the paper's are such a probe.
    """
    in_paper = result.is_of(*IN_PAPER) and result.protocol != REFERENCE
    if result.is_of(Centroids.name):
        in_paper = result.job.get("settings", {}) == plain_json(Centroids().described)
    return not (is_dense(result) or is_by_image(result) or in_paper)


def is_classification(result: Result) -> bool:
    """Whether a result is on a data set with classes."""
    return not is_dense(result) and not is_by_image(result)


def own_name(dataset: str) -> str:
    """The name of a user's data that have the name of a data set but are not that data set."""
    return f"{dataset} (yours)"


def part_name(dataset: str, limit: int) -> str:
    """The name of a part of a data set; parts of different sizes are different data."""
    return f"{dataset} (part: {limit})"


def dataset_title(scored: ScoredData, dataset: Dataset) -> str:
    """The title of data in a run."""
    if dataset.content:  # the limit of a user's own data set is reported separately
        return dataset.title
    if scored.limit is not None:
        return _part_title(dataset.title, scored.limit)
    return dataset.title if is_of_dataset(scored) else own_name(scored.domain)


def _part_title(title: str, limit: int) -> str:
    return f"{title} (part: {limit} images per class)"


def own_title(title: str, limit: int | None = None) -> str:
    """The title of a user's own data set, or of a part of it, on a page."""
    part = "" if limit is None else f", part: {limit} images per class"
    return f"{title} (your data set{part})"


def _verdict(scored: ScoredData) -> Comparability:
    return compare(scored, _published(scored.domain))


def _published(domain: str) -> PublishedData | None:
    """The data behind the published numbers of a data set; None for a user's own."""
    return published_dataset(DATASETS[domain]) if domain in task_sets() else None


def _name(dataset: str, verdict: Comparability) -> str:
    if _is_part(verdict):
        return part_name(dataset, _limit(verdict))
    return own_name(dataset) if verdict.other_data and dataset in task_sets() else dataset


def _is_part(verdict: Comparability) -> bool:
    return any(reason.code == "part" for reason in verdict.reasons)


def _limit(verdict: Comparability) -> int:
    return int(verdict.reasons[0].found)


def task_verdicts(data: RunData, results: Iterable[Result]) -> dict[tuple[str, str], Comparability]:
    """(backbone, data set) → whether its scores are on that data set, for all classification results.

    A run records one protocol per data set, although it may have several probes. That of the linear probe or of the
    episodes counts, if there are any: a shorter search of fine-tuning is another protocol, not other data, and pages
    say so in a sentence of its own.
    """
    scored = {(each.backbone, each.domain): each for each in data.scored}
    frozen = dict[tuple[str, str], str]()
    pairs = dict[tuple[str, str], None]()
    for result in filter(is_classification, results):
        pair = (str(result.job["backbone"]), str(result.job["dataset"]))
        pairs[pair] = None
        if result.is_of(Linear.name):
            frozen[pair] = result.protocol
        elif result.is_of(Centroids.name):
            frozen.setdefault(pair, ERICSSON_PROTOCOLS[0])
    known = {pair: replace(of, protocol=frozen.get(pair, of.protocol)) for pair, of in scored.items()}
    return {pair: compare(known.get(pair), _published(pair[1])) for pair in pairs}


def data_names(verdicts: Mapping[tuple[str, str], Comparability]) -> Names:
    """The names of the data."""
    return {pair: _name(pair[1], verdict) for pair, verdict in verdicts.items()}


def page_datasets(data: RunData, names: Names) -> list[TaskDataset]:
    """The data sets of a page, in order; a name that stands for different data has one entry for each."""
    images = _test_images(data, names)
    return [replace(dataset, test_images=images.get(dataset.name)) for dataset in _named_datasets(data, names)]


def _test_images(data: RunData, names: Names) -> dict[str, int]:
    """Name of data → number of their test images; the smallest if backbones were tested on different numbers."""
    found: dict[str, int] = {}
    for each in data.scored:
        name, images = names.get((each.backbone, each.domain)), each.images.get("test")
        if name is not None and images:
            found[name] = min(images, found.get(name, images))
    return found


def _named_datasets(data: RunData, names: Names) -> list[TaskDataset]:
    found = []
    for domain in data.domains:
        limits = {each.limit for each in data.scored if each.domain == domain.name and each.limit is not None}
        known = {name for (_, of), name in names.items() if of == domain.name}
        if domain.name not in task_sets():
            found += _own_datasets(domain, known, limits)
            continue
        dataset, known = DATASETS[domain.name], known or {domain.name}
        if domain.name in known:
            found.append(TaskDataset(dataset.name, dataset.title, dataset.few_shot or ""))
        for limit in sorted(limits):
            name = part_name(domain.name, limit)
            if name in known:
                found.append(TaskDataset(name, _part_title(dataset.title, limit), OTHER, limit))
        if own_name(domain.name) in known:
            found.append(TaskDataset(own_name(dataset.name), own_name(dataset.name), OTHER))
    return found


def _own_datasets(domain: Domain, names: Collection[str], limits: Iterable[int]) -> list[TaskDataset]:
    """A user's own data set and its parts; nothing for data sets with boxes or maps and for single images."""
    called: dict[str, int | None] = {domain.name: None} | {
        part_name(domain.name, each): each for each in sorted(limits)
    }
    return [
        TaskDataset(name, own_title(domain.title, limit), OTHER, limit, own=True)
        for name, limit in called.items()
        if name in names
    ]


def refuse_changed_data(runs: Iterable[tuple[str, RunData]]) -> None:
    """Refuse runs in which a user's own data set has different images, labels or splits."""
    known: dict[str, tuple[str, str]] = {}
    for run, data in runs:
        for images in data.images:
            if images.hash is None or images.domain in task_sets() or images.domain in dense_sets():
                continue
            content, other = known.setdefault(images.domain, (images.hash, run))
            if content != images.hash:
                raise UserError(
                    f"{other} and {run}: your data set {images.domain} is not the same in both, since its images, "
                    "labels or splits were changed; report them separately, or run the earlier one again"
                )


def task_comparison_notices(verdicts: Mapping[tuple[str, str], Comparability]) -> list[str]:
    """Notices about data with the name of one of the paper's data sets."""
    parts = {pair: verdict for pair, verdict in verdicts.items() if _is_part(verdict)}
    whole = {pair: verdict for pair, verdict in verdicts.items() if pair not in parts}
    known = {pair: verdict for pair, verdict in whole.items() if pair[1] in task_sets()}
    printed = {pair: verdict for pair, verdict in known.items() if DATASETS[pair[1]].in_paper}
    others = {
        pair: Comparability(tuple(reason for reason in verdict.reasons if reason.code in OTHER_DATA))
        for pair, verdict in known.items()
        if pair not in printed and verdict.other_data
    }
    titles = {name: name for _, name in verdicts}
    sentences = [*_part_sentences(parts), *verdict_sentences(printed, titles, ERICSSON)]
    clauses = refusal_clauses(others, titles)
    return [*sentences, *([f"Not the data set of that name: {'; '.join(clauses)}."] if clauses else [])]


def _part_sentences(parts: Mapping[tuple[str, str], Comparability]) -> list[str]:
    titles: dict[int, list[str]] = {}
    for (_, dataset), verdict in parts.items():
        titles.setdefault(_limit(verdict), []).append(DATASETS[dataset].title if dataset in task_sets() else dataset)
    return [
        f"A quick look at a part of {', '.join(dict.fromkeys(names))}: {limit_text(limit)}. Such scores differ from "
        "those on all images, so they are not compared with published ones."
        for limit, names in titles.items()
    ]
