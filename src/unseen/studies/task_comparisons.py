"""Which scores of a task study are of the data sets that they are named after.

Features of a user's own may have the name of a data set and be of anything. What is not of its classes and images is
another data set: it goes by another name, which has no published numbers, no place in the paper's averages, and none of
the facts that are known of the data set, its licence among them.
"""

from collections.abc import Iterable, Mapping

from unseen.images.datasets.registry import DATASETS
from unseen.jobs.runner import Result
from unseen.report.comparability_words import ERICSSON, refusal_clauses, verdict_sentences
from unseen.report.run_data import RunData
from unseen.report.task_data import OTHER, TaskDataset
from unseen.results.comparability import Comparability, ScoredData, compare, published_dataset
from unseen.studies.task_features import TaskFeatures

Names = Mapping[tuple[str, str], str]
"""(backbone, data set) → the name of the data that its scores are of."""


def scored_data(task: TaskFeatures, protocol: str) -> ScoredData:
    """What scores of features are of."""
    return ScoredData(task.backbone, task.dataset.name, protocol, task.classes, dict(task.rows), task.draw)


def is_dataset(scored: ScoredData) -> bool:
    """Whether data are those of the data set that they are named after."""
    return compare(scored, published_dataset(DATASETS[scored.domain])).allowed


def own_name(dataset: str) -> str:
    """What data are called that have the name of a data set and are not that."""
    return f"{dataset} (yours)"


def dataset_title(scored: ScoredData) -> str:
    """What data are called on a page."""
    return DATASETS[scored.domain].title if is_dataset(scored) else own_name(scored.domain)


def task_verdicts(data: RunData, results: Iterable[Result]) -> dict[tuple[str, str], Comparability]:
    """(backbone, data set) → whether its scores are of that data set, for all that have results."""
    scored = {(each.backbone, each.domain): each for each in data.scored}
    pairs = dict.fromkeys((str(result.job["backbone"]), str(result.job["domain"])) for result in results)
    return {pair: compare(scored.get(pair), published_dataset(DATASETS[pair[1]])) for pair in pairs}


def data_names(verdicts: Mapping[tuple[str, str], Comparability]) -> Names:
    """What data go by."""
    return {pair: pair[1] if verdict.allowed else own_name(pair[1]) for pair, verdict in verdicts.items()}


def page_datasets(data: RunData, names: Names) -> list[TaskDataset]:
    """The data sets of a page, in order; one that is of other data for some backbones is there twice."""
    found = []
    for domain in data.domains:
        dataset = DATASETS[domain.name]
        known = {name for (_, of), name in names.items() if of == domain.name} or {domain.name}
        if domain.name in known:
            found.append(TaskDataset(dataset.name, dataset.title, dataset.metric, dataset.few_shot or ""))
        if own_name(domain.name) in known:
            found.append(TaskDataset(own_name(dataset.name), own_name(dataset.name), dataset.metric, OTHER))
    return found


def task_comparison_notices(verdicts: Mapping[tuple[str, str], Comparability]) -> list[str]:
    """What a reader must know of data that have the name of one of the paper's data sets."""
    printed = {pair: verdict for pair, verdict in verdicts.items() if DATASETS[pair[1]].in_paper}
    others = {pair: verdict for pair, verdict in verdicts.items() if not DATASETS[pair[1]].in_paper}
    titles = {name: name for _, name in verdicts}
    sentences = verdict_sentences(printed, titles, ERICSSON)
    clauses = refusal_clauses(others, titles)
    return [*sentences, *([f"Not the data set of that name: {'; '.join(clauses)}."] if clauses else [])]
