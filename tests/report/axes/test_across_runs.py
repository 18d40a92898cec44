"""From folders on disk to axes: runs of concepts and tasks, fits of shifts, published models, and what is refused."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.special
import scipy.stats
from axis_folders import finetune_job, search_kept, write_shift_fit, write_task_run
from hit_runs import normal_hits
from run_folders import write_concept_run
from task_scores import task_score as one_score

from unseen.analyses.axes.measures import task_measures
from unseen.analyses.core.comparables import comparables
from unseen.backbones.backbone import Spec
from unseen.data.core.decoding.transform import Transform
from unseen.data.registry import DATASETS
from unseen.errors import UserError
from unseen.features.store import write_store
from unseen.papers import published
from unseen.papers.comparability import ScoredData
from unseen.papers.concept_generalization import DOMAINS, published_accuracies
from unseen.probes.finetuning.grid import finetune_grid
from unseen.probes.many_shot import ERICSSON_2021
from unseen.report.axes import across_runs as study
from unseen.report.axes.across_runs import shared_models, study_axes
from unseen.report.axes.page_data import AxesPage
from unseen.report.axes.sources import read_shift_scores
from unseen.report.axes.words import about_ranks, rank_text
from unseen.runs.cautions import caution
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.notices import told
from unseen.runs.record import read_run, write_run
from unseen.studies.record import Described, about_features, backbone_records, extraction_of

NAMES = ("a", "b", "c", "d", "e")
TEN = ("aircraft", "caltech101", "cars", "cifar10", "cifar100", "dtd", "flowers", "food101", "pets", "sun397")
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
        "seen", "levels", "effective", "linear", "few-shot kornblith", "ece", "scaled-ece", "rho", "ood",
    ]  # fmt: skip
    assert "e" not in page.axes.standings["linear"]
    assert "d" not in page.axes.standings["rho"]
    assert page.notices == [
        "Left out, only on shifts: other0, other1, other2 and 3 more. Backbones are matched by name."
    ]


def test_values_are_what_the_runs_have(page: AxesPage, everything: tuple[Path, Path, Path]) -> None:
    measures = page.axes.measures
    # b: 79% seen; levels 68, 63, 58, 53, 48: 58 in the mean.
    assert measures["seen"].values["b"] == pytest.approx(scipy.special.logit(0.79))
    assert measures["levels"].values["b"] == pytest.approx(scipy.special.logit(0.58))
    assert measures["levels"].from_seen["b"] == pytest.approx(-21)
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


@pytest.mark.parametrize(("linear", "ece", "shift"), [(1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.712, 0.033, 0.4)])
def test_a_share_is_shown_as_it_was_measured(tmp_path: Path, linear: float, ece: float, shift: float) -> None:
    """Also where its logit is not finite; a mean of different logits is shown as the share with this logit."""
    tasks = write_task_run(tmp_path / "t", ("a",), lambda _, __, setting: ece if "ece" in setting else linear)
    table = pd.DataFrame({"ood": ["x"], "model": "a", "accuracy": shift, "rho": 0.0, "low": 0.0, "high": 0.0})
    table.to_csv(tmp_path / "models.csv", index=False)
    of = study_axes([tasks], tmp_path / "models.csv").axes.measures
    shown = [of[name].shown("a") for name in ("linear", "ece", "ood")]
    assert shown == pytest.approx([100 * linear, 100 * ece, 100 * shift], rel=1e-12, abs=0)
    assert all(np.isfinite(of[name].values["a"]) for name in ("linear", "ece", "ood"))
    two = write_task_run(tmp_path / "two", ("a",), lambda _, dataset, __: 0.8 if dataset == "dtd" else 0.6)
    logits = scipy.special.logit([0.8, 0.6])
    measure = study_axes([two]).axes.measures["linear"]
    assert measure.shown("a") == pytest.approx(100 * scipy.special.expit(logits.mean()))


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
        rows = table[(table["model"] == other) & table["table"].isin([3, 8])]
        assert len(rows) == 12
        expected = scipy.special.logit(rows["value"] / 100).mean()
        assert page.axes.measures["few-shot cd-fsl"].values[name] == pytest.approx(expected)
        [miou] = table[(table["model"] == other) & (table["metric"] == "miou")]["value"]
        assert page.axes.measures["upernet-miou"].values[name] == pytest.approx(scipy.special.logit(miou))
    # Table 9: InfoMin is the best calibrated of the six, ResNet50 the worst.
    assert page.axes.standings["ece"]["s-InfoMin"].rank == 1
    assert page.axes.standings["ece"]["ResNet50"].rank == 6


def test_the_finding_of_the_documentation() -> None:
    axes = study_axes([]).axes
    pairs = {(pair.first, pair.second): pair for pair in axes.pairs}
    for measures, expected in {
        ("levels", "linear"): 0.93,
        ("seen", "finetuned"): 0.90,
        ("levels", "few-shot cd-fsl"): 0.83,
        ("effective", "few-shot cd-fsl"): 0.86,
        ("levels", "few-shot kornblith"): 0.26,
        ("seen", "few-shot kornblith"): 0.71,
        ("seen", "few-shot cd-fsl"): 0.06,
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
    page = study_axes([concepts, tasks], published=True)
    axes = page.axes
    assert set(axes.backbones) == {*SHARED, "mine", "ResNet50 (yours)"}
    # Over the data sets that all have, CIFAR-10 and DTD, with 5 shots; the run has no CD-FSL, nor the ten of Table 9.
    assert "CIFAR-10, Describable Textures (DTD)" in axes.measures["few-shot kornblith"].about
    assert "mine" in axes.standings["few-shot kornblith"]
    assert "mine" not in axes.standings["few-shot cd-fsl"]
    assert "mine" not in axes.standings["ece"]
    [said] = [sentence for sentence in page.notices if sentence.startswith("Calibration ")]
    assert said.startswith("Calibration and Scaled calibration: published errors are means over ten data sets")
    assert said.endswith("so backbones without all ten are left out: ResNet50 (yours), mine.")
    assert axes.standings["linear"].keys() == {*SHARED, "mine", "ResNet50 (yours)"}


def test_a_run_over_other_concepts_has_no_expectation_and_no_published_beside_it(tmp_path: Path) -> None:
    folder = concept_run(tmp_path / "c", kind="")
    assert "effective" not in study_axes([folder]).axes.measures
    with pytest.raises(UserError, match="not a run on the concepts of ImageNet-CoG.*leave out published=True"):
        study_axes([folder], published=True)


def test_a_run_of_other_images_has_no_expectation_and_no_published_beside_it(tmp_path: Path) -> None:
    folder = concept_run(tmp_path / "c", ("a",))
    record = json.loads((folder / "run.json").read_text())
    for scored in record["scored"]:
        scored["images"] = {"train": 12_000, "test": 4000}
    (folder / "run.json").write_text(json.dumps(record))
    page = study_axes([folder])
    assert "effective" not in page.axes.measures
    assert any("Not compared with the numbers of ImageNet-CoG" in sentence for sentence in page.notices)
    with pytest.raises(UserError, match=r"12,000 training images, not 1,281,167.*leave out published=True"):
        study_axes([folder], published=True)


def test_other_numbers_of_classes_are_said(tmp_path: Path) -> None:
    folder = concept_run(tmp_path / "c", ("a",), kind="")
    assert not any("Numbers of classes" in sentence for sentence in study_axes([folder]).notices)
    record = json.loads((folder / "run.json").read_text())
    for place, domain in enumerate(record["domains"]):
        domain["classes"] = 8 if place else 1000
    (folder / "run.json").write_text(json.dumps(record))
    assert any("IN1K 1,000, L1 8" in sentence for sentence in study_axes([folder]).notices)


def test_own_data_under_the_name_of_a_data_set_have_no_published_beside_them(tmp_path: Path) -> None:
    concepts = concept_run(tmp_path / "c", ("a",))
    tasks = write_task_run(tmp_path / "t", ("a",), task_score, datasets=("pets", "cifar10", "digits"))
    record = json.loads((tasks / "run.json").read_text())
    record["scored"][0]["classes"] = 6
    (tasks / "run.json").write_text(json.dumps(record))
    page = study_axes([concepts, tasks], published=True)
    measures = page.axes.measures
    assert "Pets" not in measures["few-shot kornblith"].about
    assert measures["few-shot kornblith"].values["a"] == pytest.approx(scipy.special.logit(0.9))
    # Neither own data nor digits are in the mean over the paper's data sets.
    assert measures["linear"].about.endswith(": CIFAR-10.")
    assert measures["linear other"].about.endswith(": pets (yours), digits of scikit-learn.")
    assert any("pets has 6 classes, not 37" in sentence for sentence in page.notices)


def test_the_demo_calls_its_seen_domain_otherwise(tmp_path: Path) -> None:
    def accuracy(name: str, domain: str, seed: int) -> float:
        return concept_accuracy(name, "in1k" if domain == "seen" else domain, seed)

    domains = ("seen", *DOMAINS[1:])
    folder = write_concept_run(tmp_path, [Backbone("a", "yours")], accuracy, domains=domains, published="")
    run = (folder / "run.json").read_text()
    (folder / "run.json").write_text(run.replace('"seen": false', '"seen": true', 1))
    assert study_axes([folder]).axes.measures["levels"].from_seen["a"] == pytest.approx(-20)


def test_one_axis_alone_is_shown_with_what_is_missing(tmp_path: Path) -> None:
    page = study_axes([concept_run(tmp_path)])
    assert page.axes.backbones == NAMES
    assert page.axes.missing() == ["tasks", "shifts"]
    assert page.notices[0] == "No data on tasks: give a run of unseen tasks to include them."
    assert not any(pair.across for pair in page.axes.pairs)


def test_an_axis_whose_backbones_have_other_names_says_so(tmp_path: Path) -> None:
    shifts = {name: (80.0 - i, 50.0 - 3 * i + (i % 2), 40.0 - 2 * i) for i, name in enumerate(NAMES)}
    tasks = write_task_run(tmp_path / "t", ("resnet", "vit"), lambda *_: 0.7)
    page = study_axes([concept_run(tmp_path / "c"), tasks], write_shift_fit(tmp_path / "s", shifts))
    assert page.axes.missing() == ["tasks"]
    [told] = page.notices
    assert "matched by name" in told
    assert "(resnet, vit)" in told
    assert "(a, b, c and 2 more)" in told
    assert "No data" not in told


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
    for place in (everything[2], everything[2] / "models.csv"):
        with pytest.raises(UserError, match="shifts="):
            study_axes([everything[0], place])


def test_incomplete_backbones_are_left_out_with_the_reason(tmp_path: Path) -> None:
    folder = concept_run(tmp_path / "c", ("a", "b"))
    jobs = [json.loads(path.read_text()) for path in (folder / "results").glob("*.json")]
    for job in jobs:
        if job["job"]["backbone"] == "b" and job["job"]["dataset"] == "l5":
            (folder / "results" / f"{job['key']}.json").unlink()
    page = study_axes([folder])
    assert page.axes.backbones == ("a",)
    said = "Left out of concepts: b has no score of the logistic probe on l5 with all images"
    assert any(sentence.startswith(said) and sentence.endswith("finish the run.") for sentence in page.notices)
    assert any("This run is not finished: 3 of 36 jobs" in sentence for sentence in page.notices)
    for job in jobs:
        if job["job"]["backbone"] == "b":
            (folder / "results" / f"{job['key']}.json").unlink(missing_ok=True)
    assert any("b has no score" in sentence and "in1k, l1" in sentence for sentence in study_axes([folder]).notices)


def test_runs_of_different_levels_are_not_called_unfinished(tmp_path: Path) -> None:
    run = concept_run(tmp_path / "c", ("a",))
    other = concept_run(tmp_path / "o", ("b",))
    record = json.loads((other / "run.json").read_text())
    for domain in record["domains"]:
        domain["concepts"] = ["another (n00000001)"]
    (other / "run.json").write_text(json.dumps(record))
    page = study_axes([run, other])
    [said] = [sentence for sentence in page.notices if "b has no score" in sentence]
    assert "different concepts in in1k" in said
    assert "finish the run" not in said


def test_what_a_run_was_not_asked_for_is_named(tmp_path: Path) -> None:
    mine = [Backbone("a", "yours")]
    short = write_concept_run(tmp_path / "short", mine, concept_accuracy, domains=DOMAINS[:4])
    with pytest.raises(UserError, match=r"short: .*the run does not include l4, l5: run it on"):
        study_axes([short])
    few = write_concept_run(tmp_path / "few", mine, concept_accuracy, shots=8)
    with pytest.raises(UserError, match="the run has it only with 8 shots: run it with all images too"):
        study_axes([few])
    # Where there is something else to show, the page goes on.
    page = study_axes([short, write_task_run(tmp_path / "t", ("a",), task_score)])
    assert page.axes.missing() == ["concepts", "shifts"]
    assert any("the run does not include l4, l5" in sentence for sentence in page.notices)
    assert not any("No data on concepts" in sentence for sentence in page.notices)


def test_a_run_without_scores_that_are_compared_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = write_task_run(tmp_path / "named-so", ("a",), task_score)
    monkeypatch.setattr(study, "own_task_scores", lambda _: [])  # as for a run of saliency
    notices = study_axes([concept_run(tmp_path / "c"), tasks]).notices
    assert [sentence for sentence in notices if "named-so" in sentence and sentence.startswith("Tasks are not shown")]
    assert not any("No data on tasks" in sentence for sentence in notices)


def test_a_single_seed_on_other_concepts_has_no_known_uncertainty(tmp_path: Path) -> None:
    backbones = [Backbone(name, "yours") for name in ("a", "b")]
    found = {
        kind: study_axes(
            [write_concept_run(tmp_path / f"c{kind}", backbones, concept_accuracy, published=kind, seeds=1)]
        )
        for kind in ("", "cog-v2")
    }
    assert found["cog-v2"].axes.measures["levels"].draws.keys() == {"a", "b"}
    for name in ("seen", "levels"):
        assert found[""].axes.measures[name].draws == {}
        assert found[""].axes.measures[name].values.keys() == {"a", "b"}
    assert found[""].axes.standings["levels"]["a"].low is None


def test_runs_that_measured_the_same_otherwise_are_refused(tmp_path: Path) -> None:
    one = write_task_run(tmp_path / "one", ("a",), task_score)
    same = write_task_run(tmp_path / "same", ("a",), task_score, datasets=("cifar10",))
    other = write_task_run(tmp_path / "other", ("a",), lambda *of: task_score(*of) + 0.01)
    assert study_axes([one, same]).axes.measures.keys() == study_axes([one]).axes.measures.keys()
    with pytest.raises(UserError, match=r"one and \S*other: a has 0\.9000 in the first and 0\.9100 in the second"):
        study_axes([one, other])


def test_parts_of_the_ten_data_sets_in_several_runs_make_one_mean(tmp_path: Path) -> None:
    parts = [write_task_run(tmp_path / f"t{i}", ("a",), task_score, datasets=TEN[5 * i : 5 * i + 5]) for i in range(2)]
    axes = study_axes([concept_run(tmp_path / "c", ("a",)), *parts], published=True).axes
    assert axes.measures["ece"].values["a"] == pytest.approx(scipy.special.logit(0.05))


def test_calibration_is_over_the_data_sets_and_not_their_mean_too(tmp_path: Path) -> None:
    errors = {name: 0.02 * (place + 1) for place, name in enumerate(TEN)}

    def score(_: str, dataset: str, setting: str) -> float:
        return errors[dataset] if "ece" in setting else 0.7

    axes = study_axes([write_task_run(tmp_path, ("a",), score, datasets=TEN)]).axes
    assert axes.measures["ece"].values["a"] == pytest.approx(scipy.special.logit(list(errors.values())).mean())
    named = axes.measures["ece"].about.partition("lower is better: ")[2].split(", ")
    assert named == [*(DATASETS[name].title for name in TEN[:-1]), f"{DATASETS[TEN[-1]].title}."]


def test_errors_of_shots_add_up_and_those_of_data_sets_do_not() -> None:
    shares = {("dtd", "5-shot"): 0.6, ("dtd", "50-shot"): 0.8, ("pets", "5-shot"): 0.7, ("pets", "50-shot"): 0.9}
    scores = [one_score("a", *key, share, 0.01) for key, share in shares.items()]
    [measure], _ = task_measures(scores)
    errors = {key: 0.01 / scipy.stats.norm.ppf(0.975) / (share * (1 - share)) for key, share in shares.items()}
    by_dataset = [sum(error for (name, _), error in errors.items() if name == dataset) for dataset in ("dtd", "pets")]
    assert measure.draws["a"].std() == pytest.approx(np.hypot(*by_dataset) / 4, rel=0.04)
    assert measure.over_episodes


def test_scores_are_those_of_the_results(tmp_path: Path) -> None:
    folder = write_task_run(tmp_path / "t", ("a",), task_score)
    (folder / "scores.csv").write_text("backbone,dataset,setting,metric,value,interval\na,dtd,linear,top1,0.1,\n")
    values = study_axes([folder]).axes.measures["linear"].values
    assert values["a"] == pytest.approx(scipy.special.logit([0.9, 0.7]).mean())
    path = next((folder / "results").glob("*.json"))
    record = json.loads(path.read_text())
    record["values"]["fits"][0]["values"]["top1"] = None
    path.write_text(json.dumps(record))
    with pytest.raises(UserError, match=f"{path.name} has no valid top1; delete the file and run again"):
        study_axes([folder])


def rewrite(folder: Path, **changes: object) -> None:
    """Change what a run says of itself."""
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(record | changes))


def test_what_runs_tell_is_told_with_their_names(tmp_path: Path) -> None:
    concepts = write_concept_run(
        tmp_path / "levels",
        [Backbone("a", "yours", cautions=(caution("trained-with-web"), caution("layer", layer="x")))],
        concept_accuracy,
    )
    tasks = write_task_run(tmp_path / "tasks", ("a",), task_score)
    rewrite(concepts, told=[asdict(told("A short form."))])
    next((tasks / "results").glob("*.json")).unlink()
    assert study_axes([concepts, tasks]).notices[:3] == [
        "levels: A short form.",
        "levels, a: trained with web data; features of the layer x.",
        "tasks: This run is not finished: 1 of 4 jobs have no result yet.",
    ]


def test_a_backbone_that_was_not_the_same_in_both_runs_is_named(tmp_path: Path) -> None:
    backbones = {}
    for size in (224, 64):
        about = {
            "backbone": asdict(Spec("a", "some.pth", "penultimate", "avg", 4, 1000, Transform(size=size, resize=size))),
            "precision": "float32", "fast": False, "exif": False, "key": "k",
        }  # fmt: skip
        X, y = np.eye(4, dtype=np.float32)[np.arange(20) % 4], np.arange(20) % 4
        place = tmp_path / f"store{size}"
        write_store(place, [(X, y)], list("abcd"), provenance=about)
        described = Described("a", extraction_of(about_features(str(place))))
        [backbones[size]] = backbone_records([described], {}, concepts=False)
        assert backbones[size].features == backbone_records([described], {}, concepts=True)[0].features
    concepts = concept_run(tmp_path / "levels", ("a",))
    tasks = write_task_run(tmp_path / "tasks", ("a",), task_score)
    rewrite(concepts, backbones=[asdict(backbones[224])])
    rewrite(tasks, backbones=[asdict(backbones[224])])
    assert not any("not the same" in sentence for sentence in study_axes([concepts, tasks]).notices)
    rewrite(tasks, backbones=[asdict(backbones[64])])
    assert (
        "a is not the same on concepts and on tasks: crop 224, resize 224 in levels, crop 64, resize 64 in tasks."
        in study_axes([concepts, tasks]).notices
    )


def test_a_name_that_is_taken_changes_no_number(tmp_path: Path) -> None:
    """ResNet50 is in the lines that effective concepts are measured by; a user's is left out of them all the same."""

    def accuracy(name: str, domain: str, seed: int) -> float:
        return (0.6 if domain == "in1k" else 0.55) + 0.001 * seed

    folder = write_concept_run(tmp_path / "c", [Backbone("ResNet50", "yours")], accuracy)
    alone = study_axes([folder]).axes.measures["effective"].values["ResNet50"]
    # On tasks too, so that the papers' models, which are, are not alone in being kept.
    tasks = write_task_run(tmp_path / "t", ("ResNet50",), lambda *_: 0.7)
    beside = study_axes([folder, tasks], published=True).axes.measures["effective"].values
    assert beside["ResNet50 (yours)"] == pytest.approx(alone, abs=1e-12)
    printed = study_axes([]).axes.measures["effective"].values
    assert beside["ResNet50"] == pytest.approx(printed["ResNet50"], abs=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ood,model,accuracy,low,high\n", "line 1: no column 'rho'"),
        ("ood,model,accuracy,rho,low,high\ns,a,0.5,x,0,0\n", "line 2: 'x' in column 'rho' is not a number"),
        ("ood,model,accuracy,rho,low,high\ns,a,0.5,nan,0,0\n", "'nan' in column 'rho' is not a number"),
        ("ood,model,accuracy,rho,low,high\ns,a,50,0.1,0,0.2\n", "line 2: accuracies and ρ must be fractions"),
        ("", "the file is empty"),
    ],
)
def test_a_bad_table_of_shifts_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "models.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        list(read_shift_scores(tmp_path))


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
    assert (
        "Few-shot Kornblith is not shown: the backbones have no data set and number of shots in common." in page.notices
    )
    assert sum("is not shown" in sentence for sentence in page.notices) == 4
    head = "ood,model,accuracy,rho,low,high\n"
    (tmp_path / "models.csv").write_text(f"{head}s,a,0.5,0.1,0,0.2\nr,b,0.9,0.3,0.2,0.4\n")
    page = study_axes([concept_run(tmp_path / "d")], tmp_path / "models.csv")
    assert "Shifts are not shown: the models have no test set in common." in page.notices


def test_calibration_over_the_papers_ten_data_sets_stands_beside_the_papers(tmp_path: Path) -> None:
    concepts = concept_run(tmp_path / "c", ("a",))
    tasks = write_task_run(tmp_path / "t", ("a",), task_score, datasets=TEN)
    page = study_axes([concepts, tasks], published=True)
    axes = page.axes
    assert not any("Calibration" in sentence for sentence in page.notices)
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
    assert any("only on tasks: stranger." in sentence for sentence in more.notices)


def test_fine_tuned_scores_are_on_the_axis_of_tasks(tmp_path: Path) -> None:
    values = {"finetuned": (0.9, 0.8), "finetuned-ece": (0.04, 0.06), "finetuned-scaled-ece": (0.01, 0.02)}

    def score(name: str, dataset: str, setting: str) -> float:
        return values.get(setting, (0.5, 0.5))["ab".index(name)]

    tasks = write_task_run(tmp_path / "t", ("a", "b"), score, grid=finetune_grid())
    axes = study_axes([tasks]).axes
    for setting, (first, second) in values.items():
        expected = {"a": scipy.special.logit(first), "b": scipy.special.logit(second)}
        assert axes.measures[setting].values == pytest.approx(expected)
        assert axes.standings[setting]["a"].rank == 1


def test_a_run_of_fine_tuning_alone_is_on_the_axis_of_tasks(tmp_path: Path) -> None:
    job = finetune_job("a", "dtd", finetune_grid())
    data = RunData("tuned", (), [Domain("dtd", "DTD", axis="tasks")], [Backbone("a", "yours")], "a")
    data = replace(data, scored=[ScoredData("a", "dtd", "ericsson-2021", 47, DATASETS["dtd"].counts, "given")])
    write_run(tmp_path, data, [job.key])
    list(run_here([job], tmp_path / "results", lambda _: search_kept(job, [("top1", 0.5)])))
    assert study_axes([tmp_path]).axes.measures["finetuned"].values["a"] == pytest.approx(0)


def test_a_shortened_search_is_told_and_has_no_published_numbers_beside_it(tmp_path: Path) -> None:
    names = ("mine", "other")
    concepts = write_concept_run(tmp_path / "c", [Backbone(name, "yours") for name in names], lambda *_: 0.6)
    for grid, short in ((finetune_grid(), False), (finetune_grid(trials=2), True)):
        folder = tmp_path / f"t{short}"
        tasks = write_task_run(folder, names, lambda *_: 0.7, datasets=TEN, grid=grid)
        page = study_axes([concepts, tasks], published=True)
        assert set(page.axes.standings["finetuned-ece"]) == ({*names} if short else {*SHARED, *names})
        assert any(grid.short and grid.short in sentence for sentence in page.notices) == short


def test_an_untrained_network_is_not_strong_because_it_has_nothing_to_lose(tmp_path: Path) -> None:
    def accuracy(name: str, domain: str, seed: int) -> float:
        return 0.01 if name == "untrained" else 0.8 - 0.05 * DOMAINS.index(domain)

    def score(name: str, dataset: str, setting: str) -> float:
        return 0.2 if (name == "untrained") != ("ece" in setting) else 0.7

    names = ("trained", "untrained")
    concepts = write_concept_run(tmp_path / "c", [Backbone(name, "yours") for name in names], accuracy, published="")
    axes = study_axes([concepts, write_task_run(tmp_path / "t", names, score)]).axes
    assert axes.measures["levels"].from_seen == pytest.approx({"trained": -15, "untrained": 0})
    assert {standings["untrained"].rank for standings in axes.standings.values()} == {2}
    assert "untrained" not in axes.firsts()


def test_who_is_left_on_one_axis_is_named_once(tmp_path: Path) -> None:
    """`c` and `d` are on shifts too, but share no test set there."""
    tasks = write_task_run(tmp_path / "t", ("a", "b"), task_score)
    head = "ood,model,accuracy,rho,low,high\n"
    (tmp_path / "models.csv").write_text(f"{head}s,c,0.5,0.1,0,0.2\nr,d,0.9,0.3,0.2,0.4\n")
    page = study_axes([concept_run(tmp_path / "c"), tasks], tmp_path / "models.csv")
    assert page.axes.backbones == ("a", "b")
    assert [sentence for sentence in page.notices if "Left out" in sentence] == [
        "Left out, only on concepts: c, d, e. Backbones are matched by name."
    ]


def hit_runs(folder: Path, tested: tuple[str, ...] = NAMES) -> tuple[Path, Path]:
    """A run of concepts and one of tasks that keep hits: `a` and `b` are alike, others are each clearly worse."""
    accuracy = {name: 0.8 - 0.15 * max(0, place - 1) for place, name in enumerate(NAMES)}
    hits = normal_hits(accuracy, 600, spread=0.3, seeds=0.01)
    backbones = [Backbone(name, "yours") for name in NAMES]
    concepts = write_concept_run(folder / "concepts", backbones, concept_accuracy, hits=hits)
    tasks = write_task_run(folder / "tasks", tested, task_score, hits=hits)
    return concepts, tasks


def test_ranks_are_from_comparisons_where_results_keep_hits(tmp_path: Path) -> None:
    found = study_axes([*hit_runs(tmp_path)]).axes
    for name in ("seen", "levels", "linear"):
        standings = found.standings[name]
        assert [standings[each].group for each in NAMES] == [1, 1, 2, 3, 4], name
        assert [(standings[each].low, standings[each].high) for each in NAMES[:3]] == [(1, 2), (1, 2), (3, 3)]
        assert not any(standing.sure_first for standing in standings.values())
        assert "comparisons of all pairs" in about_ranks(found, name)
    assert found.standings["ece"]["a"].group is None
    assert about_ranks(found, "ece") == "Ranks have no intervals."
    assert "over seeds" in about_ranks(found, "effective")
    assert found.standings["effective"]["a"].group is None


def test_pairs_on_tasks_are_compared_on_the_scale_of_the_measure(tmp_path: Path) -> None:
    """The mean of logits over two data sets, each with the p-value that its own comparison has."""
    _, tasks = hit_runs(tmp_path)
    measure = study_axes([tasks]).axes.measures["linear"]
    assert measure.compared is not None
    each = [place for place in comparables(read_run(tasks)).every if place.place.probe == "linear"]
    for one, other in ((0, 1), (1, 2), (0, 4)):
        pairs = [place.difference(NAMES[one], NAMES[other]) for place in each]
        logits = [scipy.special.logit([place.score[NAMES[number]] for number in (one, other)]) for place in each]
        slopes = [-np.diff(of)[0] / pair.value for of, pair in zip(logits, pairs, strict=True)]
        error = np.hypot(*(slope * pair.error for slope, pair in zip(slopes, pairs, strict=True))) / 2
        assert measure.compared.pairs.error[one, other] == pytest.approx(error)
        difference = measure.values[NAMES[one]] - measure.values[NAMES[other]]
        assert measure.compared.pairs.value[one, other] == pytest.approx(difference)


def test_a_sure_first_rank_is_that_of_a_resolved_winner(tmp_path: Path) -> None:
    found = study_axes([hit_runs(tmp_path, NAMES[1:])[1]]).axes.standings["linear"]
    assert found["b"].sure_first
    assert rank_text(found["b"]) == "rank 1 of 4 (tie group 1)"


def test_beside_published_models_ranks_are_over_seeds(tmp_path: Path) -> None:
    found = study_axes([hit_runs(tmp_path)[0]], published=True).axes
    assert all(standing.group is None for standing in found.standings["levels"].values())
    assert "printed standard deviations" in about_ranks(found, "levels")
