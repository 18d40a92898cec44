"""What data of the task study are called on a page."""

from unseen.images.datasets.registry import DATASETS
from unseen.papers.comparability import ScoredData, compare, published_dataset
from unseen.runs.data import Backbone, Domain, RunData
from unseen.studies.tasks.comparisons import data_names, page_datasets


def test_parts_of_different_sizes_are_different_data() -> None:
    limits = {"a": 40, "b": 30}
    scored = [
        ScoredData(name, "digits", "ericsson-2021", 10, {"train": 10 * limit}, limit=limit)
        for name, limit in limits.items()
    ]
    # Of merged runs, the domain is that of the first.
    domains, backbones = [Domain("digits", "digits", limit=40)], [Backbone(name, "yours") for name in limits]
    data = RunData("t", (), domains, backbones, "a", study="tasks", scored=scored)
    verdicts = {(each.backbone, "digits"): compare(each, published_dataset(DATASETS["digits"])) for each in scored}
    names = data_names(verdicts)
    shown = {dataset.name: dataset for dataset in page_datasets(data, names)}
    assert {name: shown[names[name, "digits"]].limit for name in limits} == limits
    assert len(shown) == 2
