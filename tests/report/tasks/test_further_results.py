"""Results of probes that are not in the paper, on the page of the task study."""

from pathlib import Path

from axis_folders import write_task_run

from unseen.probes.by_name.knn import KNN
from unseen.probes.job import Fit, Job, fits_kept
from unseen.report.tasks.results import page_of_results
from unseen.runs.record import read_results, read_run
from unseen.runs.results import Result


def test_they_need_no_linear_probe_and_are_not_among_its_scores(tmp_path: Path) -> None:
    """As in a run that was stopped before the linear probe of its second data set."""
    folder = write_task_run(tmp_path, ("mine",), lambda *_: 0.7)
    data, results = read_run(folder), read_results(folder)
    job = Job("knn", 1, "mine", "dtd", {"train": "t", "test": "u"}, KNN().described)
    further = Result(job.key, job.described, fits_kept([Fit("knn-20", None, 0, [("top1", 0.5)])]), 2.0, {})
    done = [result for result in results if result.job["dataset"] == "cifar10"]
    page, before = (page_of_results(data, [*done, *more]) for more in ([further], []))
    assert [(score.domain, score.probe, score.value) for score in page.further_scores] == [("dtd", "knn-20", 0.5)]
    assert [score for score in page.scores if not score.published] == [s for s in before.scores if not s.published]
    assert page.averages == before.averages
    jobs, seconds = (now - then for now, then in zip(page.timings["mine"], before.timings["mine"], strict=True))
    assert (jobs, round(seconds, 6)) == (1, 2.0)
