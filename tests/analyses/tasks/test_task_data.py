"""What data of the task study are called on a page."""

import pytest

from unseen.analyses.tasks.data import (
    data_names,
    page_datasets,
    refuse_changed_data,
    task_comparison_notices,
    task_verdicts,
)
from unseen.data.registry import DATASETS
from unseen.errors import UserError
from unseen.papers.comparability import Comparability, Reason, ScoredData, compare, published_dataset
from unseen.probes.by_name.centroids import Centroids
from unseen.probes.by_name.fine_tuned import FineTuned
from unseen.probes.by_name.linear import Linear
from unseen.probes.finetuning.grid import finetune_grid
from unseen.probes.job import Job
from unseen.probes.many_shot import ERICSSON_2021
from unseen.probes.probe import Probe
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.results import Result
from unseen.runs.setup import ImagesUsed


def test_parts_of_different_sizes_are_different_data() -> None:
    limits = {"a": 40, "b": 30}
    scored = [
        ScoredData(name, "digits", "ericsson-2021", 10, {"train": 10 * limit, "test": limit}, limit=limit)
        for name, limit in limits.items()
    ]
    # Of merged runs, the domain is that of the first.
    domains, backbones = (
        [Domain("digits", "digits", limit=40, axis="tasks")],
        [Backbone(name, "yours") for name in limits],
    )
    data = RunData("t", (), domains, backbones, "a", scored=scored)
    verdicts = {(each.backbone, "digits"): compare(each, published_dataset(DATASETS["digits"])) for each in scored}
    names = data_names(verdicts)
    shown = {dataset.name: dataset for dataset in page_datasets(data, names)}
    assert {name: shown[names[name, "digits"]].limit for name in limits} == limits
    assert len(shown) == 2
    assert {name: shown[names[name, "digits"]].test_images for name in limits} == limits


@pytest.mark.parametrize("probes", [(), (Centroids(),), (Linear(protocol=ERICSSON_2021), Centroids())])
def test_a_shorter_search_is_another_protocol_and_not_other_data(probes: tuple[Probe, ...]) -> None:
    counts = DATASETS["cifar10"].counts
    scored = [ScoredData("a", "cifar10", "ericsson-2021-short", 10, counts, "given")]
    data = RunData("t", (), [Domain("cifar10", "CIFAR-10", axis="tasks")], [Backbone("a", "yours")], "a", scored=scored)
    every = (FineTuned(finetune_grid(trials=2)), *probes)
    jobs = [Job(each.name, 1, "a", "cifar10", settings=each.described) for each in every]
    verdicts = task_verdicts(data, [Result(job.key, job.described, {}, 0.0, {}) for job in jobs])
    assert data_names(verdicts) == {("a", "cifar10"): "cifar10"}
    assert verdicts["a", "cifar10"].allowed == bool(probes)
    digits = Comparability((Reason("other-protocol", "x", "y"), Reason("other-images", 1, 2, "test")))
    [sentence] = task_comparison_notices({("a", "digits"): digits})
    assert "test images" in sentence
    assert "protocol" not in sentence


def own_run(content: str, limit: int | None = None) -> RunData:
    scored = [ScoredData("a", "birds", "ericsson-2021", 3, {"train": 15}, "given", limit=limit)]
    images = [ImagesUsed("birds", "train", images=15, hash=content)]
    domains = [Domain("birds", "Garden birds", limit=limit, axis="tasks")]
    return RunData("t", (), domains, [Backbone("a", "yours")], "a", scored=scored, images=images)


def test_own_data_have_no_published_numbers_and_say_whose_they_are() -> None:
    for limit, name, title in [
        (None, "birds", "Garden birds (your data set)"),
        (20, "birds (part: 20)", "Garden birds (your data set, part: 20 images per class)"),
    ]:
        data = own_run("c0ffee", limit)
        verdicts = {("a", "birds"): compare(data.scored[0], None)}
        assert not verdicts["a", "birds"].allowed
        names = data_names(verdicts)
        [shown] = page_datasets(data, names)
        assert (names["a", "birds"], shown.name, shown.title) == (name, name, title)
        assert (shown.family, shown.limit, shown.own, shown.test_images) == ("other", limit, True, None)


def test_own_data_that_were_changed_between_runs_are_not_put_together() -> None:
    refuse_changed_data([("one", own_run("c0ffee")), ("two", own_run("c0ffee", 20))])
    with pytest.raises(UserError, match="one and two: your data set birds is not the same in both"):
        refuse_changed_data([("one", own_run("c0ffee")), ("two", own_run("decade"))])
