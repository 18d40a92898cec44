"""Paired comparisons of two backbones, from the results of real runs."""

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from axis_folders import write_task_run
from run_folders import probe_files

from equal_backbones import share_called_clear
from unseen.analyses.paired import PairComparison, compare_backbones, compare_runs, comparison_table
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.features.readers import read_features
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.probes.protocol import COG_V2
from unseen.probes.units import ScoredImages
from unseen.report.concepts.sections.comparison import CALLED_CLEAR, seeds_caution
from unseen.report.core.tables import latex_table
from unseen.report.of_runs import report_on
from unseen.runs.executors.here import run_here
from unseen.runs.kept_labels import keep_labels, labels_place, read_labels
from unseen.runs.record import read_results, read_run, write_run
from unseen.runs.results import RESULTS, Result
from unseen.runs.setup import Extraction, ImagesUsed, LevelsUsed, SplitsUsed

CLASSES, EACH = 6, 30


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Probes of clear and of blurred features of the same images, and of images in another order."""
    folder = tmp_path_factory.mktemp("compared")
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), EACH)
    centres = rng.standard_normal((CLASSES, 8))
    clean = {split: centres[y] + 0.5 * rng.standard_normal((len(y), 8)) for split in ("train", "test")}
    made = {}
    for name, noise in (("clear", 0.3), ("blurred", 1.6), ("shuffled", 0.3)):
        labels = np.roll(y, 1) if name == "shuffled" else y
        for split, X in clean.items():
            np.savez(folder / f"{name}-{split}.npz", X=X + noise * rng.standard_normal(X.shape), y=labels)
        made[name] = folder / f"run-{name}"
        files = (folder / f"{name}-train.npz", folder / f"{name}-test.npz")
        probe_files(*files, made[name], backbone=name, domain="blobs", seeds=2)
    return made


def accuracy(run: Path) -> float:
    return float(np.mean([score.value for score in read_run(run).scores if score.metric == "top1"]))


def test_the_difference_is_that_of_the_scores(runs: dict[str, Path]) -> None:
    (found,) = compare_backbones([runs["clear"], runs["blurred"]], "clear", "blurred")
    assert found.seeds == 2
    assert found.difference.concepts == CLASSES
    assert found.difference.accuracy.value == pytest.approx(accuracy(runs["clear"]) - accuracy(runs["blurred"]))
    assert found.difference.accuracy.low > 0
    # Six concepts that all favour one side: of 2⁶ patterns of signs, two are as extreme, or more as seeds vary.
    assert 2 / 2**CLASSES <= found.p_holm < 0.15
    table = comparison_table([found])
    assert table.loc[0, "difference"] == found.difference.accuracy.value
    assert bool(table.loc[0, "few_seeds"])


def test_a_backbone_is_not_better_than_itself(runs: dict[str, Path]) -> None:
    (found,) = compare_backbones([runs["clear"]], "clear", "clear")
    assert found.difference.accuracy.value == 0
    assert found.p_holm == 1


@pytest.mark.parametrize("names", [("clear", "blurred"), ("blurred", "clear")])
def test_a_pair_that_was_asked_for_is_on_the_page_once(runs: dict[str, Path], names: tuple[str, str]) -> None:
    page = report_on([runs["clear"], runs["blurred"]], compare=names).page  # the baseline is clear
    [table] = [table for section in page.sections for table in section.tables if table.name == "comparison"]
    assert [row.cells[0].values for row in table.rows] == [names]
    assert "textbf" not in latex_table(table)
    [section] = [section for section in page.sections if section.name == "comparison"]
    assert "With 2 seeds" in section.sentences[-1]


@pytest.mark.parametrize(("seeds", "said"), [(1, True), (3, True), (9, True), (10, False)])
def test_fewer_than_ten_seeds_are_said_to_be_few(runs: dict[str, Path], seeds: int, said: bool) -> None:
    (found,) = compare_backbones([runs["clear"], runs["blurred"]], "clear", "blurred")
    pair = PairComparison("clear", "blurred", None, (replace(found, seeds=seeds),))
    assert [f"With {seeds} seed" in sentence for sentence in seeds_caution([pair])] == [True] * said


@pytest.mark.long_suite
def test_the_shares_of_the_caution_are_those_of_the_simulation() -> None:
    readme = (Path(__file__).parents[2] / "benchmarks/README.md").read_text().partition("## Equal backbones")[2]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in readme.splitlines() if line.startswith("| ")]
    header = [int(word.split()[0]) for word in rows[0][1:]]
    table = {(int(row[0]), seeds): cell for row in rows[2:] for seeds, cell in zip(header, row[1:], strict=True)}
    assert {seeds: (table[45, seeds], table[1000, seeds]) for seeds in CALLED_CLEAR} == CALLED_CLEAR
    # Of 200 simulated comparisons, a share has a standard error of at most 3.4%.
    for concepts, seeds, of_both, repeats in ((45, 1, 0.0, 200), (45, 3, 0.1, 200), (1000, 3, 0.0, 50)):
        low, high = (int(number) / 100 for number in re.findall(r"\d+", table[concepts, seeds]))
        error = 3 * (high * (1 - high) / repeats) ** 0.5
        assert low - error < share_called_clear(seeds, concepts, of_both, repeats) < high + error


def test_backbones_of_two_runs_are_compared_also_by_the_same_name(runs: dict[str, Path], tmp_path: Path) -> None:
    expected = comparison_table(compare_backbones([runs["clear"], runs["blurred"]], "clear", "blurred"))
    found = Run(runs["clear"]).compare("clear", "blurred", other=Run(runs["blurred"]))
    pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(Run(runs["clear"]).compare("clear", "blurred", other=str(runs["blurred"])), expected)
    files = [runs["blurred"].parent / f"blurred-{split}.npz" for split in ("train", "test")]
    probe_files(files[0], files[1], tmp_path / "renamed", backbone="clear", domain="blobs", seeds=2)
    same = compare_runs((runs["clear"], "clear"), (tmp_path / "renamed", "clear"))
    pd.testing.assert_frame_equal(comparison_table(same), expected)
    with pytest.raises(UserError, match="no results of the logistic probe of 'blurred'"):
        Run(runs["blurred"]).compare("blurred", "blurred", other=runs["clear"])
    with pytest.raises(UserError, match="image 0 is of the class"):
        Run(runs["clear"]).compare("clear", "shuffled", other=runs["shuffled"])


def test_the_first_difference_of_test_sets_is_named() -> None:
    labels = ScoredImages.labelled(("a", "b"), np.array([0, 1, 1]), ("x", "y", "z"))
    assert labels.difference(ScoredImages.labelled(("a", "b"), np.array([0, 1, 1]))) == ""
    assert "the class c" in labels.difference(ScoredImages.labelled(("a", "b", "c"), np.array([0, 1, 2])))
    assert "3 and 2 images" in labels.difference(ScoredImages.labelled(("a", "b"), np.array([0, 1])))
    assert "image 1 is of the class b" in labels.difference(ScoredImages.labelled(("a", "b"), np.array([0, 0, 1])))
    assert "names" in labels.difference(replace(labels, ids="y"))


def test_other_images_are_refused(runs: dict[str, Path]) -> None:
    with pytest.raises(UserError, match="blobs: the two backbones were tested on other images"):
        compare_backbones([runs["clear"], runs["shuffled"]], "clear", "shuffled")


def test_another_draw_with_the_same_labels_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    copies = [Path(shutil.copytree(runs[name], tmp_path / name)) for name in ("clear", "blurred")]

    def called(run: Path, ids: str) -> None:
        for place in (run / "tests").glob("*.npz"):
            kept = dict(np.load(place))
            np.savez(place, **{**kept, "ids": np.array(ids)})

    called(copies[0], "a")
    compare_backbones(copies, "clear", "blurred")  # of the second it is not known
    called(copies[1], "a")
    compare_backbones(copies, "clear", "blurred")
    called(copies[1], "b")
    with pytest.raises(UserError, match="tested on other images"):
        compare_backbones(copies, "clear", "blurred")


def test_names_of_images_are_kept_as_a_hash(tmp_path: Path) -> None:
    def ids(names: tuple[str, ...]) -> str:
        file = tmp_path / "test.npz"
        named = {"ids": np.array(names)} if names else {}
        np.savez(file, X=np.eye(3, dtype=np.float32), y=np.array(["a", "b", "c"]), **named)
        content = read_features(file).provenance["content_hash"]
        place = labels_place(tmp_path / "results", {"test": content})
        place.unlink(missing_ok=True)  # the same features have the same hash, whatever their images are called
        keep_labels(tmp_path / "results", {str(file): {"test": content}})
        return read_labels(place).ids

    assert ids(()) == ""
    assert ids(("x", "y", "z")) == hashlib.sha256(b"x\0y\0z\0").hexdigest()
    assert len({ids(names) for names in (("x", "y", "z"), ("y", "x", "z"), ("xy", "z", ""))}) == 3


def job_like(result: Result, **changes: Any) -> Job:
    """The job of a result, decided otherwise."""
    return Job(**{**result.job, **changes})


def test_protocols_are_not_mixed(runs: dict[str, Path], tmp_path: Path) -> None:
    other = tmp_path / "blurred"
    settings = Logistic(COG_V2, "float32").described
    jobs = {job_like(result, settings=settings): result.values for result in read_results(runs["blurred"])}
    write_run(other, read_run(runs["blurred"]), [job.key for job in jobs])
    assert len(list(run_here(list(jobs), other / RESULTS, lambda job: dict(jobs[job])))) == 2
    with pytest.raises(UserError, match=r"different protocols \(cog-v2, cog-v2-short\); compare runs of the same"):
        compare_backbones([runs["clear"], other], "clear", "blurred")


def with_jobs(run: Path, folder: Path, facts: Mapping[str, Any] | None = None, **changes: Any) -> Path:
    """A copy of a run whose jobs were decided otherwise, with the same values."""
    shutil.copytree(run, folder)
    jobs = {job_like(result, **changes): result.values for result in read_results(run)}
    job = next(iter(jobs))
    data = read_run(run)
    data = replace(
        data,
        domains=[replace(data.domains[0], name=job.dataset)],
        backbones=[replace(data.backbones[0], name=job.backbone)],
        **(facts or {}),
    )
    write_run(folder, data, [job.key for job in jobs])
    list(run_here(list(jobs), folder / RESULTS, lambda job: dict(jobs[job])))
    return folder


def images(domain: str, split: str, number: int) -> dict[str, Any]:
    return {"images": [ImagesUsed(domain, split, number, pool=domain != "in1k")]}


@pytest.mark.parametrize(
    ("domain", "so", "otherwise", "refused"),
    [
        ("in1k", images("in1k", "train", 7), images("in1k", "train", 8), "number of the images of in1k, train"),
        ("in1k", images("in1k", "test", 7), images("in1k", "test", 8), "number of the images of in1k, test"),
        # The images of seen concepts do not go by splits.
        ("in1k", {"splits": SplitsUsed(0)}, {"splits": SplitsUsed(1)}, ""),
        ("l1", images("in1k", "train", 7), images("in1k", "train", 8), ""),
        ("l1", {"splits": SplitsUsed(0)}, {"splits": SplitsUsed(1)}, "seed of the splits"),
        ("l1", {"levels": LevelsUsed("so", "7")}, {"levels": LevelsUsed("so", "8")}, "levels"),
        ("l1", images("l1", "train", 7), images("l1", "train", 8), "number of the images of the levels"),
        ("l1", {"remarks": {"machine": "so"}}, {"remarks": {"machine": "otherwise"}}, ""),
    ],
)
def test_runs_that_say_they_had_other_images_are_refused(
    runs: dict[str, Path], tmp_path: Path, domain: str, so: Any, otherwise: Any, refused: str
) -> None:
    first = with_jobs(runs["clear"], tmp_path / "one", so, dataset=domain)
    silent = with_jobs(runs["blurred"], tmp_path / "two", dataset=domain)
    alike = with_jobs(runs["blurred"], tmp_path / "three", so, dataset=domain)
    other = with_jobs(runs["blurred"], tmp_path / "four", otherwise, dataset=domain)
    for second in (silent, alike):
        assert compare_backbones([first, second], "clear", "blurred")[0].domain == domain
    if refused:
        with pytest.raises(UserError, match=rf"{domain}: .*one and .*four differ in the {refused} \(.*, not .*\)"):
            compare_backbones([first, other], "clear", "blurred")
    else:
        assert compare_backbones([first, other], "clear", "blurred")[0].domain == domain


def test_a_backbone_that_two_runs_have_otherwise_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(runs["clear"], tmp_path / "copy"))
    both = [runs["clear"], runs["blurred"]]
    assert len(compare_backbones([*both, copy], "clear", "blurred")) == 1  # the same jobs
    other = with_jobs(runs["shuffled"], tmp_path / "other", backbone="clear")
    with pytest.raises(UserError, match=r"run-clear and .*other both have clear on blobs with seed 0, from other"):
        compare_backbones([*both, other], "clear", "blurred")
    unrelated = with_jobs(runs["shuffled"], tmp_path / "unrelated", reads={"train": "t", "test": "u"})
    assert len(compare_backbones([*both, runs["shuffled"], unrelated], "clear", "blurred")) == 1


def test_seeds_of_a_backbone_are_not_put_together_from_other_weights(runs: dict[str, Path], tmp_path: Path) -> None:
    folders = []
    for seed, weights in enumerate(("w", "v")):
        folder = with_jobs(runs["clear"], tmp_path / weights)
        data = read_run(folder)
        data = replace(
            data, backbones=[replace(data.backbones[0], features=Extraction(BackboneAbout(weights=weights)))]
        )
        kept = [result.key for result in read_results(folder) if result.setting == (None, seed)]
        write_run(folder, data, kept)
        folders.append(folder)
    with pytest.raises(UserError, match=r"blobs: .*w and .*v differ in the weights of clear"):
        compare_backbones([*folders, runs["blurred"]], "clear", "blurred")


def test_the_command(runs: dict[str, Path], unseen: Callable[..., Any], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    page, folder = tmp_path / "page.html", tmp_path / "parts"
    both = (runs["clear"], runs["blurred"])
    answer = unseen(
        "report", "--compare", "clear", "blurred", *both, "--table", table, "--out", page, "--export", folder
    )
    assert answer.code == 0
    assert '<section id="comparison"' in page.read_text()
    rows = pd.read_csv(folder / "comparison.csv")
    assert rows[["first", "second", "domain"]].to_numpy().tolist()[0] == ["clear", "blurred", "blobs"]
    assert rows["difference"][0] == pytest.approx(pd.read_csv(table)["difference"][0])
    assert "clear minus blurred" in answer.out
    assert f"over {CLASSES} concepts and 2 seeds" in answer.out
    assert pd.read_csv(table)["domain"].tolist() == ["blobs"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["clear", "blurred", "--shots", "8,all"], "--shots takes one number or all with --compare, not 8,all"),
        (["clear", "blured"], "did you mean blurred?"),
        (["clear", "blurred", "--shots", "8"], "no results of the logistic probe of 'clear' with 8 shots"),
    ],
)
def test_mistakes(runs: dict[str, Path], unseen: Callable[..., Any], arguments: list[str], sentence: str) -> None:
    answer = unseen("report", "--compare", *arguments[:2], runs["clear"], runs["blurred"], *arguments[2:])
    assert answer.code == 2
    assert sentence in answer.err


def test_a_run_without_the_logistic_probe_is_refused(tmp_path: Path) -> None:
    folder = write_task_run(tmp_path / "tasks", ("a", "b"), lambda *_: 0.5)
    with pytest.raises(UserError, match="no results of the logistic probe of 'a' with all shots, nor of any other"):
        compare_backbones([folder], "a", "b")
