"""Paired comparisons of two backbones, from the results of real runs."""

import hashlib
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
from scipy.stats import binomtest
from sklearn.neighbors import KNeighborsClassifier

import unseen
from unseen.analyses.paired import compare_backbones, compare_runs, comparison_table
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.features.about import BackboneAbout
from unseen.features.readers import read_features
from unseen.metrics.paired.crossed import PLUS_MINUS, crossed
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Job
from unseen.probes.protocol import COG_V2
from unseen.probes.units import ScoredImages
from unseen.report.core.latex import latex_table
from unseen.report.of_runs import report_on
from unseen.runs.executors.here import run_here
from unseen.runs.kept_labels import keep_labels, labels_place, read_labels
from unseen.runs.kept_units import kept_units
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
    """The classes of one's own features are no sample, so that the units are images."""
    pair = compare_backbones([runs["clear"], runs["blurred"]], "clear", "blurred")
    [item] = pair.comparisons
    assert (item.seeds, item.unit, item.difference.units) == (2, "images", CLASSES * EACH)
    assert item.difference.value == pytest.approx(accuracy(runs["clear"]) - accuracy(runs["blurred"]))
    right = {name: _hits(runs[name]) for name in ("clear", "blurred")}
    expected = crossed(right["clear"] - right["blurred"], pseudo_units=PLUS_MINUS)
    assert item.difference == expected
    assert item.p_holm == expected.p_value  # one comparison needs no correction
    assert item.images is None  # of several seeds
    table = comparison_table(pair)
    assert (table.loc[0, "low"], table.loc[0, "high"]) == (expected.interval().low, expected.interval().high)
    assert table.loc[0, "detectable"] == pytest.approx(expected.detectable())


def _hits(run: Path) -> Any:
    kept = [kept_units(run / RESULTS, result) for result in read_results(run)]
    return np.array([units.arrays["correct"] for [units] in kept]).astype(float)


def test_one_fit_each_has_the_exact_test(runs: dict[str, Path], tmp_path: Path) -> None:
    one = []
    for name in ("clear", "blurred"):
        one.append(Path(shutil.copytree(runs[name], tmp_path / name)))
        write_run(one[-1], read_run(one[-1]), [read_results(one[-1])[0].key])
    [item] = compare_backbones(one, "clear", "blurred").comparisons
    first, second = (_hits(run)[0].astype(bool) for run in one)
    wins, losses = int((first & ~second).sum()), int((second & ~first).sum())
    assert item.images is not None
    assert (item.images.only_first, item.images.only_second) == (wins, losses)
    assert item.images.p_value == pytest.approx(binomtest(wins, wins + losses).pvalue)
    assert item.difference.these_fits_only


def test_a_backbone_is_not_better_than_itself(runs: dict[str, Path]) -> None:
    [item] = compare_backbones([runs["clear"]], "clear", "clear").comparisons
    assert (item.difference.value, item.p_holm) == (0, 1)


@pytest.mark.parametrize("names", [("clear", "blurred"), ("blurred", "clear")])
def test_a_pair_that_was_asked_for_is_on_the_page_once(runs: dict[str, Path], names: tuple[str, str]) -> None:
    page = report_on([runs["clear"], runs["blurred"]], compare=names).page  # the baseline is clear
    assert page.sections[0].name == "comparison"
    [table] = [table for section in page.sections for table in section.tables if table.name == "comparison"]
    assert [row.cells[0].values for row in table.rows] == [names]
    assert "textbf" not in latex_table(table)


def test_every_probe_that_both_have_is_compared_and_their_mean_over_data_sets(tmp_path: Path) -> None:
    """Independent recomputation from the features: k nearest neighbours on two data sets."""
    rng, noise = np.random.default_rng(1), {"sharp": 0.5, "dull": 3.0}
    folders = {name: tmp_path / f"features-{name}" for name in noise}
    truth = {}
    for dataset in ("one", "two"):
        y = {"train": np.arange(60) % 3, "test": np.arange(45) % 3}
        for name, scale in noise.items():
            (folders[name] / dataset).mkdir(parents=True)
            X = {split: 2 * np.eye(6)[of] + scale * rng.standard_normal((len(of), 6)) for split, of in y.items()}
            for split, of in y.items():
                np.savez(folders[name] / dataset / f"{split}.npz", X=X[split].astype(np.float32), y=of)
            near = KNeighborsClassifier(1, metric="cosine").fit(X["train"], y["train"])
            truth[name, dataset] = near.predict(X["test"]) == y["test"]
    study = unseen.study("ericsson-2021", datasets=["one", "two"], probes=["knn", "ridge"], knn={"k": 1})
    runs = [unseen.run(study, name, features=folders[name], out=tmp_path / name, progress=False) for name in noise]
    table = runs[0].compare("sharp", "dull", other=runs[1]).set_index(["probe", "domain"])
    differences = {}
    for dataset in ("one", "two"):
        row = table.loc["knn-1", dataset]
        differences[dataset] = truth["sharp", dataset].mean() - truth["dull", dataset].mean()
        assert row["difference"] == pytest.approx(differences[dataset])
        wins = int((truth["sharp", dataset] & ~truth["dull", dataset]).sum())
        assert row["only_first"] == wins
    assert {*table.index.get_level_values("probe")} == {"knn-1", "ridge"}
    means = table.loc[("knn-1", "mean of 2")].set_index("unit")["difference"]
    assert (
        means["data sets as fixed"] == means["data sets as random"] == pytest.approx(np.mean([*differences.values()]))
    )
    assert {*runs[0].compare("sharp", "dull", other=runs[1], probe="ridge")["probe"]} == {"ridge"}


def test_backbones_of_two_runs_are_compared_also_by_the_same_name(runs: dict[str, Path], tmp_path: Path) -> None:
    expected = comparison_table(compare_backbones([runs["clear"], runs["blurred"]], "clear", "blurred"))
    found = Run(runs["clear"]).compare("clear", "blurred", other=Run(runs["blurred"]))
    pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(Run(runs["clear"]).compare("clear", "blurred", other=str(runs["blurred"])), expected)
    files = [runs["blurred"].parent / f"blurred-{split}.npz" for split in ("train", "test")]
    probe_files(files[0], files[1], tmp_path / "renamed", backbone="clear", domain="blobs", seeds=2)
    same = compare_runs((runs["clear"], "clear"), (tmp_path / "renamed", "clear"))
    pd.testing.assert_frame_equal(comparison_table(same), expected)
    with pytest.raises(UserError, match="no results of 'blurred'"):
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
    shutil.copytree(runs["blurred"] / "tests", other / "tests")
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
        assert compare_backbones([first, second], "clear", "blurred").comparisons[0].place.dataset == domain
    if refused:
        with pytest.raises(UserError, match=rf"{domain}: .*one and .*four differ in the {refused} \(.*, not .*\)"):
            compare_backbones([first, other], "clear", "blurred")
    else:
        assert compare_backbones([first, other], "clear", "blurred").comparisons[0].place.dataset == domain


def test_a_backbone_that_two_runs_have_otherwise_is_refused(runs: dict[str, Path], tmp_path: Path) -> None:
    copy = Path(shutil.copytree(runs["clear"], tmp_path / "copy"))
    both = [runs["clear"], runs["blurred"]]
    assert len(compare_backbones([*both, copy], "clear", "blurred").comparisons) == 1  # the same jobs
    other = with_jobs(runs["shuffled"], tmp_path / "other", backbone="clear")
    with pytest.raises(UserError, match=r"run-clear and .*other both have clear on blobs with seed 0, from other"):
        compare_backbones([*both, other], "clear", "blurred")
    unrelated = with_jobs(runs["shuffled"], tmp_path / "unrelated", reads={"train": "t", "test": "u"})
    assert len(compare_backbones([*both, runs["shuffled"], unrelated], "clear", "blurred").comparisons) == 1


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
    assert f"{CLASSES * EACH} images, 2 seeds" in answer.out
    assert pd.read_csv(table)["domain"].tolist() == ["blobs"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["clear", "blurred", "--shots", "8,all"], "--shots takes one number or all with --compare, not 8,all"),
        (["clear", "blured"], "did you mean blurred?"),
        (["clear", "blurred", "--shots", "8"], "no results of 'clear' with 8 shots"),
    ],
)
def test_mistakes(runs: dict[str, Path], unseen: Callable[..., Any], arguments: list[str], sentence: str) -> None:
    answer = unseen("report", "--compare", *arguments[:2], runs["clear"], runs["blurred"], *arguments[2:])
    assert answer.code == 2
    assert sentence in answer.err


def test_a_run_that_keeps_nothing_of_its_images_says_so(tmp_path: Path) -> None:
    folder = write_task_run(tmp_path / "tasks", ("a", "b"), lambda *_: 0.5)
    with pytest.raises(UserError, match="keeps no values of single images"):
        compare_backbones([folder], "a", "b")
    assert report_on([folder]).page.sections  # its page has no comparison
