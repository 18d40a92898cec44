"""Where attentive probes look, on a page of the task study: the pictures of their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from unseen.analyses.tasks.data import Names
from unseen.analyses.tasks.scores import data_name
from unseen.probes.attentive.pictures import AttentionPicture
from unseen.probes.by_name.attentive import Attentive
from unseen.reading.json_records import typed
from unseen.report.tasks.page_data import PICTURES
from unseen.runs.results import Result


@dataclass(frozen=True)
class AttentionResult:
    """The pictures of an attentive probe.

    Attributes:
        title: title of the data set.
        pictures: files with what the result says about them.
    """

    backbone: str
    dataset: str
    title: str
    queries: int
    pictures: Sequence[tuple[Path, AttentionPicture]]


def attention_results(
    results: Sequence[Result], names: Names, titles: Mapping[str, str], folders: Mapping[str, Path]
) -> list[AttentionResult]:
    """The results with pictures: of several fits of a backbone on a data set, that with most shots and the first seed.

    Args:
        titles: titles of data sets by name.
        folders: key of a result → the folder of its run.
    """
    found: dict[tuple[str, str], AttentionResult] = {}
    for result in sorted((each for each in results if each.is_of(Attentive.name)), key=_first):
        if result.key not in folders:
            continue
        folder, name = folders[result.key] / PICTURES / result.key, data_name(result, names)
        where = f"{result.key}.json"
        pictures = typed(result.details.get("pictures", []), list[AttentionPicture], where)
        here = [(folder / each.file, each) for each in pictures if (folder / each.file).is_file()]
        queries = typed(result.job["settings"]["protocol"]["queries"], int, where)
        each = AttentionResult(str(result.job["backbone"]), name, titles.get(name, name), queries, here)
        if here:
            found.setdefault((each.dataset, each.backbone), each)
    return list(found.values())


def _first(result: Result) -> tuple[float, int]:
    shots, seed = result.setting
    return (-float("inf") if shots is None else -shots), seed
