"""From folders on disk to axes: runs of concepts and tasks, fits of shifts, published models, and what is refused."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
from axis_folders import write_shift_fit, write_task_run
from run_folders import write_concept_run

from unseen.backbones.backbone import Spec
from unseen.errors import UserError
from unseen.images.transform import Transform
from unseen.jobs.finetune_task_job import FinetuneTaskJob
from unseen.jobs.job import job_key
from unseen.jobs.runner import run_jobs
from unseen.probes.finetune_grid import finetune_grid
from unseen.probes.many_shot import ERICSSON_2021
from unseen.report.axes_data import AxesPage
from unseen.report.run_data import Backbone, Domain, RunData
from unseen.results.concept_generalization import DOMAINS, published_accuracies
from unseen.results.published import published
from unseen.studies.axes import read_shift_scores, read_task_scores, shared_models, study_axes
from unseen.studies.run_folder import write_run

NAMES = ("a", "b", "c", "d", "e")
SHARED = {
    "ResNet50": "Supervised",
    "s-SimCLR-v2": "SimCLR-v2",
    "s-MoCo-v2": "MoCo-v2",
    "s-BYOL": "BYOL",
    "s-InfoMin": "InfoMin",
    "s-SwAV": "SwAV",
}


def concept_accuracy(name: str, domain: str, seed: int) -> float:
    """Seen 80% and a point less for each later backbone; levels from 70% down by 5, and two points less each."""
    place = NAMES.index(name)
    level = DOMAINS.index(domain)
    return (0.80 - 0.01 * place if level == 0 else 0.75 - 0.05 * level - 0.02 * place) + 0.001 * (seed - 1)


def task_score(name: str, dataset: str, setting: str) -> float:
    place = NAMES.index(name)
    if "ece" in setting:
        return 0.05 + 0.01 * place
    return 0.9 - 0.03 * place - (0.2 if dataset == "dtd" else 0)


def concept_run(folder: Path, names: tuple[str, ...] = NAMES, kind: str = "cog-v2") -> Path:
    return write_concept_run(folder, [Backbone(name, "yours") for name in names], concept_accuracy, published=kind)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A run of concepts, one of tasks that lacks `e`, and a fit of shifts that lacks `d`."""
    place = tmp_path_factory.mktemp("axes")
    shifts = {name: (80.0 - i, 50.0 - 3 * i + (i % 2), 40.0 - 2 * i) for i, name in enumerate(("a", "b", "c", "e"))}
    more = {f"other{i}": (60.0 + 2 * i, 30.0 + 2.5 * i, 20.0 + 2 * i + (i % 3)) for i in range(6)}
    return (
        concept_run(place / "concepts"),
        write_task_run(place / "tasks", NAMES[:4], task_score),
        write_shift_fit(place / "shifts", shifts | more),
    )


@pytest.fixture(scope="module")
def page(everything: tuple[Path, Path, Path]) -> AxesPage:
    concepts, tasks, shifts = everything
    return study_axes([tasks, concepts], shifts)


def test_all_three_axes_are_there(page: AxesPage) -> None:
    assert page.axes.backbones == NAMES
    assert page.axes.missing() == []
    assert list(page.axes.measures) == [
        "seen", "levels", "effective", "drop", "linear", "few-shot kornblith", "ece", "scaled-ece", "rho", "ood",
    ]  # fmt: skip
    assert "e" not in page.axes.standings["linear"]
    assert "d" not in page.axes.standings["rho"]
    assert page.notices == [
        "Left out, on shifts alone: other0, other1, other2 and 3 more. Backbones go together by their names."
    ]


def test_values_are_what_the_runs_have(page: AxesPage, everything: tuple[Path, Path, Path]) -> None:
    measures = page.axes.measures
    # b: 79% seen; levels 68, 63, 58, 53, 48: 58 in the mean.
    assert measures["seen"].values["b"] == pytest.approx(scipy.special.logit(0.79))
    assert measures["levels"].values["b"] == pytest.approx(scipy.special.logit(0.58))
    assert measures["drop"].values["b"] == pytest.approx(-0.21)
    logits = scipy.special.logit([0.87, 0.67])
    assert measures["linear"].values["b"] == pytest.approx(logits.mean())
    assert measures["few-shot kornblith"].values["b"] == pytest.approx(logits.mean())
    assert measures["ece"].values["b"] == pytest.approx(scipy.special.logit(0.06))
    assert not measures["ece"].higher_is_better
    assert page.axes.standings["ece"]["a"].rank == 1
    table = pd.read_csv(everything[2] / "models.csv").query("model == 'b'")
    assert measures["rho"].values["b"] == pytest.approx(table["rho"].mean())
    assert measures["ood"].values["b"] == pytest.approx(scipy.special.logit(table["accuracy"]).mean())


def test_how_sure_few_shots_are_comes_from_their_intervals(page: AxesPage) -> None:
    drawn = page.axes.measures["few-shot kornblith"].draws["b"]
    # Half an interval of one point at 87 and at 67%: the slope of the logit is 1/(p(1 − p)).
    slopes = 1 / (np.array([0.87, 0.67]) * np.array([0.13, 0.33]))
    error = np.sqrt(((0.01 / scipy.stats.norm.ppf(0.975) * slopes) ** 2).sum()) / 2
    assert drawn.std() == pytest.approx(error, rel=0.05)
    assert page.axes.measures["linear"].draws == {}
    assert page.axes.standings["linear"]["a"].low is None


def test_pairs_say_over_how_many(page: AxesPage) -> None:
    counts = {(pair.first, pair.second): pair.n for pair in page.axes.pairs}
    assert counts["levels", "linear"] == 4
    assert counts["levels", "rho"] == 4
    assert counts["linear", "rho"] == 3
    found = next(pair for pair in page.axes.pairs if (pair.first, pair.second) == ("linear", "rho"))
    assert found.correlation is None


def test_the_published_models_are_the_same_weights() -> None:
    assert {model.name: model.other for model in shared_models()} == SHARED
    assert [model.name for model in shared_models() if model.differs] == ["s-BYOL"]


def test_published_values_are_the_papers() -> None:
    page = study_axes([])
    assert set(page.axes.backbones) == set(SHARED)
    assert page.axes.missing() == ["shifts"]
    printed, table = published_accuracies(), published("ericsson-2021")
    for name, other in SHARED.items():
        levels = printed.mean[printed.models.index(name), 1:]
        assert page.axes.measures["levels"].values[name] == pytest.approx(scipy.special.logit(levels.mean()))
        rows = table[(table["model"] == other) & (table["table"] == 8)]
        assert len(rows) == 8
        expected = scipy.special.logit(rows["value"] / 100).mean()
        assert page.axes.measures["few-shot cd-fsl"].values[name] == pytest.approx(expected)
    # Table 9: InfoMin is the best calibrated of the six, ResNet50 the worst.
    assert page.axes.standings["ece"]["s-InfoMin"].rank == 1
    assert page.axes.standings["ece"]["ResNet50"].rank == 6


def test_the_finding_of_the_documentation() -> None:
    axes = study_axes([]).axes
    pairs = {(pair.first, pair.second): pair for pair in axes.pairs}
    for measures, expected in {
        ("levels", "few-shot cd-fsl"): 0.82,
        ("effective", "few-shot cd-fsl"): 0.85,
        ("levels", "few-shot kornblith"): 0.22,
        ("seen", "few-shot kornblith"): 0.72,
        ("seen", "few-shot cd-fsl"): 0.08,
    }.items():
        x, y = (np.array([axes.measures[name].values[b] for b in axes.backbones]) for name in measures)
        found = pairs[measures].correlation
        assert found is not None
        assert found.pearson.value == pytest.approx(scipy.stats.pearsonr(x, y).statistic)
        assert found.spearman.value == pytest.approx(scipy.stats.spearmanr(x, y).statistic)
        assert found.pearson.value == pytest.approx(expected, abs=0.005)
        assert pairs[measures].n == 6


def test_own_backbones_stand_beside_the_published(tmp_path: Path) -> None:
    def accuracy(_: str, domain: str, seed: int) -> float:
        return 0.6 if domain == "in1k" else 0.5

    names = ("ResNet50", "mine")
    concepts = write_concept_run(tmp_path / "c", [Backbone(name, "yours") for name in names], accuracy)
    tasks = write_task_run(tmp_path / "t", names, lambda *_: 0.7)
    axes = study_axes([concepts, tasks], published=True).axes
    assert set(axes.backbones) == {*SHARED, "mine", "ResNet50 (yours)"}
    # Over the data sets that all have, CIFAR-10 and DTD, with 5 shots; the run has no CD-FSL, nor the ten of Table 9.
    assert "CIFAR-10, Describable Textures (DTD)" in axes.measures["few-shot kornblith"].about
    assert "mine" in axes.standings["few-shot kornblith"]
    assert "mine" not in axes.standings["few-shot cd-fsl"]
    assert "mine" not in axes.standings["ece"]
    assert axes.standings["linear"].keys() == {"mine", "ResNet50 (yours)"}


def test_a_run_over_other_concepts_has_no_expectation_and_no_published_beside_it(tmp_path: Path) -> None:
    folder = concept_run(tmp_path / "c", kind="")
    assert "effective" not in study_axes([folder]).axes.measures
    with pytest.raises(UserError, match="not a run over the concepts of ImageNet-CoG.*leave out --published"):
        study_axes([folder], published=True)


def test_the_demo_calls_its_seen_domain_otherwise(tmp_path: Path) -> None:
    def accuracy(name: str, domain: str, seed: int) -> float:
        return concept_accuracy(name, "in1k" if domain == "seen" else domain, seed)

    domains = ("seen", *DOMAINS[1:])
    folder = write_concept_run(tmp_path, [Backbone("a", "yours")], accuracy, domains=domains, published="")
    run = (folder / "run.json").read_text()
    (folder / "run.json").write_text(run.replace('"seen": false', '"seen": true', 1))
    assert study_axes([folder]).axes.measures["drop"].values["a"] == pytest.approx(-0.2)


def test_one_axis_alone_is_shown_with_what_is_missing(tmp_path: Path) -> None:
    page = study_axes([concept_run(tmp_path)])
    assert page.axes.backbones == NAMES
    assert page.axes.missing() == ["tasks", "shifts"]
    assert page.notices[0] == "Nothing on tasks: give a run of unseen tasks to have them here."
    assert not any(pair.across for pair in page.axes.pairs)


def test_runs_that_cannot_be_used_are_named(tmp_path: Path, everything: tuple[Path, Path, Path]) -> None:
    with pytest.raises(UserError, match="not the folder of a run"):
        study_axes([tmp_path])
    empty = concept_run(tmp_path / "empty")
    for path in (empty / "results").iterdir():
        path.unlink()
    with pytest.raises(UserError, match="no results yet; finish the run"):
        study_axes([empty])
    short = write_concept_run(tmp_path / "s", [Backbone("a", "yours")], concept_accuracy, domains=DOMAINS[:4])
    with pytest.raises(UserError, match="a has no score of the logistic probe on l4, l5 with all images"):
        study_axes([short])
    other = replace(ERICSSON_2021, name="ericsson-2021-other")
    exact = write_task_run(tmp_path / "exact", ("a",), task_score, protocol=other)
    with pytest.raises(UserError, match="different protocols"):
        study_axes([everything[1], exact])
    (exact / "scores.csv").unlink()
    with pytest.raises(UserError, match=r"no scores\.csv yet; finish it"):
        study_axes([exact])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ood,model,accuracy,low,high\n", "line 1: no column 'rho'"),
        ("ood,model,accuracy,rho,low,high\ns,a,0.5,x,0,0\n", "line 2: 'x' in column 'rho' is not a number"),
        ("ood,model,accuracy,rho,low,high\ns,a,0.5,nan,0,0\n", "'nan' in column 'rho' is not a number"),
        ("ood,model,accuracy,rho,low,high\ns,a,50,0.1,0,0.2\n", "line 2: accuracies and ρ are shares"),
        ("", "the file is empty"),
    ],
)
def test_a_bad_table_of_shifts_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "models.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        list(read_shift_scores(tmp_path))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a,dtd,linear,top1,70,", "shares from 0 to 1, not 70"),
        ("a,dtd,linear,top9,0.7,", "line 2: no metric 'top9'"),
        ("a,dtd,linear,top1,,", "'' in column 'value' is not a number"),
        ("a,dtd,linear,top1,0.7,-0.1", "line 2: scores are shares"),
        ("a,dtd,linear", "3 fields where the header has 6"),
    ],
)
def test_bad_scores_of_tasks_are_refused(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "scores.csv"
    path.write_text(f"backbone,dataset,setting,metric,value,interval\n{row}\n")
    with pytest.raises(UserError, match=message):
        list(read_task_scores(path))


def test_test_sets_that_not_all_models_have_do_not_count(tmp_path: Path) -> None:
    head = "ood,model,accuracy,rho,low,high\n"
    (tmp_path / "models.csv").write_text(f"{head}s,a,0.5,0.1,0,0.2\nr,a,0.9,0.3,0.2,0.4\ns,b,0.4,0,-0.1,0.1\n")
    axes = study_axes([], tmp_path / "models.csv").axes
    assert axes.measures["rho"].values == pytest.approx({"a": 0.1, "b": 0.0})
    assert axes.measures["rho"].draws["a"].std() == pytest.approx(0.1 / scipy.stats.norm.ppf(0.975), rel=0.05)


def test_what_backbones_do_not_share_is_said(tmp_path: Path) -> None:
    one = write_task_run(tmp_path / "one", ("a",), task_score, datasets=("dtd",), shots=(5,))
    two = write_task_run(tmp_path / "two", ("b",), task_score, datasets=("cifar10",), shots=(50,))
    page = study_axes([concept_run(tmp_path / "c"), one, two])
    assert "tasks" in page.axes.missing()
    assert "Few-shot Kornblith is not here: no data set and number of shots is one that all have." in page.notices
    assert sum("is not here" in sentence for sentence in page.notices) == 4
    head = "ood,model,accuracy,rho,low,high\n"
    (tmp_path / "models.csv").write_text(f"{head}s,a,0.5,0.1,0,0.2\nr,b,0.9,0.3,0.2,0.4\n")
    page = study_axes([concept_run(tmp_path / "d")], tmp_path / "models.csv")
    assert "Shifts are not here: no test set is one that all models have." in page.notices


def test_calibration_over_the_papers_ten_data_sets_stands_beside_the_papers(tmp_path: Path) -> None:
    ten = (
        "aircraft", "caltech101", "cars", "cifar10", "cifar100", "dtd", "flowers", "food101", "pets", "sun397",
    )  # fmt: skip
    concepts = concept_run(tmp_path / "c", ("a",))
    tasks = write_task_run(tmp_path / "t", ("a",), task_score, datasets=ten)
    axes = study_axes([concepts, tasks], published=True).axes
    # 5%, the least of all before scaling.
    assert axes.measures["ece"].values["a"] == pytest.approx(scipy.special.logit(0.05))
    assert (axes.standings["ece"]["a"].rank, axes.standings["ece"]["a"].of) == (1, 7)


def test_a_stranger_on_one_axis_changes_nothing_for_the_others(
    page: AxesPage, everything: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    concepts, tasks, shifts = everything
    lonely = write_task_run(tmp_path / "t", ("stranger",), lambda *_: 0.5, datasets=("pets",))
    table = pd.read_csv(shifts / "models.csv")
    gap = table[(table["model"] != "other0") | (table["ood"] != "sketch")]  # a model that the fit has a gap of
    gap.to_csv(tmp_path / "models.csv", index=False)
    more = study_axes([concepts, tasks, lonely], tmp_path / "models.csv")
    assert more.axes.backbones == page.axes.backbones
    assert more.axes.standings == page.axes.standings
    for name, measure in page.axes.measures.items():
        assert more.axes.measures[name].values == measure.values
        assert more.axes.measures[name].about == measure.about
        for backbone, drawn in measure.draws.items():
            np.testing.assert_array_equal(more.axes.measures[name].draws[backbone], drawn)
    assert any("on tasks alone: stranger." in sentence for sentence in more.notices)


def test_a_run_of_finetuning_alone_is_on_no_axis(tmp_path: Path) -> None:
    spec = Spec("a", "none", "output", "none", 8, 0, Transform())
    job = FinetuneTaskJob("tasks", finetune_grid(), "a", spec, "dtd", "images", "top1", "float32", 0)
    write_run(tmp_path, RunData("tasks", (), [Domain("dtd", "DTD")], [Backbone("a", "yours")], "a"), [job_key(job)])
    list(run_jobs([job], tmp_path / "results", lambda _: {"top1": 0.5}))
    with pytest.raises(UserError, match="a run of unseen finetune alone, whose scores are on no axis"):
        study_axes([tmp_path])


def test_who_is_left_on_one_axis_is_named_once(tmp_path: Path) -> None:
    """`c` and `d` are on shifts too, but share no test set there."""
    tasks = write_task_run(tmp_path / "t", ("a", "b"), task_score)
    head = "ood,model,accuracy,rho,low,high\n"
    (tmp_path / "models.csv").write_text(f"{head}s,c,0.5,0.1,0,0.2\nr,d,0.9,0.3,0.2,0.4\n")
    page = study_axes([concept_run(tmp_path / "c"), tasks], tmp_path / "models.csv")
    assert page.axes.backbones == ("a", "b")
    assert [sentence for sentence in page.notices if "Left out" in sentence] == [
        "Left out, on concepts alone: c, d, e. Backbones go together by their names."
    ]
