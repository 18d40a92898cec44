"""The sources of the page across axes: runs of the three studies, and the table of a fit of shifts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isclose, isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from unseen.analyses.axes.measures import has_measure
from unseen.analyses.robustness.fit_scores import shift_scores
from unseen.analyses.tasks.averages import mean_errors
from unseen.errors import UserError, option
from unseen.files import read_table
from unseen.papers.concept_generalization import DOMAINS, SEEN, Accuracies, measured_accuracies
from unseen.papers.transfer import task_setting
from unseen.report.axes.compared import compared_concepts
from unseen.runs.comparability_words import comparison_notices, refusal
from unseen.runs.data import RunData
from unseen.runs.score import Score
from unseen.runs.seed_means import over_seeds
from unseen.runs.setup import extraction_differences
from unseen.runs.tables import score_table, summarise
from unseen.text.words import joined

if TYPE_CHECKING:
    import pandas as pd

    from unseen.analyses.axes.compared_pairs import ComparedPairs
    from unseen.runs.results import Result

COG = "cog-v2"
MODELS = "models.csv"
ALIKE = 1e-6
"""Scores that differ by less are equal: features of two machines may differ in their last bits."""


@dataclass(frozen=True)
class Run:
    """A run on disk: its record, scores and results."""

    folder: Path
    data: RunData
    results: "Sequence[Result]"

    @property
    def name(self) -> str:
        """Its name on the page."""
        return self.folder.resolve().name


def refuse_fit(folder: Path) -> None:
    """Refuse the output of a fit of shifts if a run is expected."""
    from unseen.runs.record import RUN

    if folder.name == MODELS or ((folder / MODELS).is_file() and not (folder / RUN).is_file()):
        raise UserError(
            f"{folder}: the output of unseen shifts fit, not a run; give it as {option('shifts', str(folder))}"
        )


def read_runs(folders: Sequence[Path]) -> tuple[list[Run], list[Run], list[Run]]:
    """Runs of concepts, runs of tasks, and runs of shifts."""
    if not folders:
        return [], [], []
    # Reading runs imports the probes, which the published models alone do not need.
    from unseen.runs.record import read_with_results
    from unseen.runs.scores import results_on

    concepts, tasks, shifts = list[Run](), list[Run](), list[Run]()
    for folder in folders:
        refuse_fit(folder)
        data, results = read_with_results(folder)
        if not results:
            raise UserError(f"{folder}: no results yet; finish the run")
        for runs, axes in ((concepts, ("concepts", "probe")), (tasks, ("tasks",)), (shifts, ("shifts",))):
            if {*axes} & {*data.axes}:
                part = data.on_axes(*axes)
                runs.append(Run(folder, part, results_on(part, results)))
    return concepts, tasks, shifts


@dataclass(frozen=True)
class OwnConcepts:
    """The accuracies of runs of concepts.

    Attributes:
        places: their folders, separated by commas.
        accuracies: accuracies of the backbones that have the seen concepts and all five levels.
        on_imagenet: whether the data are those of ImageNet-CoG.
        other_data: why the data differ although the concepts are those of ImageNet-CoG; otherwise empty.
        classes: a sentence if domains differ in their number of classes; otherwise empty.
        lacking: a clause about each of the other backbones: what is missing, and why.
        compared: `seen` and `levels` → comparisons of pairs on the same test images, if results keep them.
    """

    places: str
    accuracies: Accuracies
    on_imagenet: bool
    lacking: Sequence[str]
    other_data: str = ""
    classes: str = ""
    compared: "Mapping[str, ComparedPairs]" = field(default_factory=dict)


def own_concepts(runs: Sequence[Run]) -> OwnConcepts:
    """Accuracies of runs on the seen concepts and the five levels, with all images."""
    from unseen.runs.merge import merge_runs

    data = merge_runs([(run.name, run.data) for run in runs])
    seen = next((domain.name for domain in data.domains if domain.seen), SEEN)
    summary = summarise(score_table(data.scores))
    refused = {pair: verdict for pair, verdict in data.comparisons.items() if not verdict.allowed}
    on_imagenet = data.published == COG and not refused
    named = summary.assign(domain=summary["domain"].replace({seen: SEEN}))
    found, lacking = measured_accuracies(named, on_imagenet=on_imagenet)
    silent = {each.name: list(DOMAINS) for each in data.backbones if each.name not in {*found.models, *lacking}}
    told, different = [], _different_levels(runs)
    for backbone, domains in (lacking | silent).items():
        absent = [seen if name == SEEN else name for name in domains]
        own = summary[(summary["backbone"] == backbone) & (summary["probe"] == "logistic")]
        told.append(
            f"{backbone} has no score of the logistic probe on {', '.join(absent)} with all images, which the "
            f"comparison needs; {different or _what_to_do(data, own, absent)}"
        )
    titles = {domain.name: domain.title for domain in data.domains}
    why = [f"{backbone}: {refusal(verdict, titles[domain])}" for (backbone, domain), verdict in refused.items()]
    places = ", ".join(str(run.folder) for run in runs)
    return OwnConcepts(
        places, found, on_imagenet, told, why[0] if why else "", _class_counts(data),
        compared_concepts(data, found.models, seen),
    )  # fmt: skip


def _class_counts(data: RunData) -> str:
    """A sentence if domains differ in their number of classes."""
    counts = {domain.title: domain.classes or len(domain.concepts) for domain in data.domains}
    if 0 in counts.values() or len(set(counts.values())) == 1:
        return ""
    numbers = ", ".join(f"{title} {count:,}" for title, count in counts.items())
    return f"Numbers of classes differ ({numbers}): the drop from seen concepts does not measure only generalization."


def _different_levels(runs: Sequence[Run]) -> str:
    """A clause if runs have different concepts in a domain of the same name; otherwise empty."""
    known: dict[str, tuple[Run, tuple[object, ...]]] = {}
    for run in runs:
        for domain in run.data.domains:
            first, concepts = known.setdefault(domain.name, (run, tuple(domain.concepts)))
            if concepts != tuple(domain.concepts):
                return f"{first.name} and {run.name} have different concepts in {domain.name}; give runs of one set"
    return ""


def _what_to_do(data: RunData, scores: "pd.DataFrame", absent: Sequence[str]) -> str:
    never = [name for name in absent if name not in {domain.name for domain in data.domains}]
    shots = list(dict.fromkeys(scores["shots"]))
    if never:
        return f"the run does not include {', '.join(never)}: run it on the seen concepts and on all five levels"
    if shots and "all" not in shots:
        return f"the run has it only with {', '.join(shots)} shots: run it with all images too"
    return "finish the run"


def own_task_scores(runs: Sequence[Run]) -> list[Score]:
    """The scores of runs for the measures, with the means of calibration errors over the paper's ten data sets.

    Of several seeds they are means (`unseen.runs.seed_means`).
    """
    if not runs:
        return []
    from unseen.analyses.tasks.data import data_names, is_further, refuse_changed_data, task_verdicts
    from unseen.analyses.tasks.scores import dense_scores, task_scores

    _refuse_other_protocols(runs)
    refuse_changed_data((str(run.folder), run.data) for run in runs)
    found: dict[tuple[str, str, str, int], tuple[Score, Run]] = {}
    for run in runs:
        names = data_names(task_verdicts(run.data, run.results))
        in_paper = [result for result in run.results if not is_further(result)]
        own = [*task_scores(in_paper, run.data, names), *dense_scores(run.data, run.results)]
        for score in filter(has_measure, own):
            key = (score.backbone, score.domain, task_setting(score), score.seed)
            before, other = found.setdefault(key, (score, run))
            if not isclose(before.value, score.value, rel_tol=0, abs_tol=ALIKE):
                of = f"{task_setting(score)} on {score.domain}"
                raise UserError(
                    f"{other.folder} and {run.folder}: {score.backbone} has {before.value:.4f} in the first and "
                    f"{score.value:.4f} in the second ({of}); give only one of them"
                )
    measured = [score for score, _ in found.values()]
    return over_seeds([*measured, *mean_errors(measured)])


def _refuse_other_protocols(runs: Sequence[Run]) -> None:
    from unseen.probes.by_name.linear import Linear

    protocols = {result.protocol: run for run in runs for result in run.results if result.is_of(Linear.name)}
    if len(protocols) > 1:
        raise UserError(f"these task runs follow different protocols ({', '.join(protocols)}); report them separately")


def short_finetunings(runs: Sequence[Run]) -> list[str]:
    """A sentence about each shortened search behind the fine-tuned scores of runs."""
    from unseen.analyses.tasks.data import is_further
    from unseen.analyses.tasks.scores import short_searches

    return [
        f"{run.name}: {sentence}"
        for run in runs
        for sentence in short_searches(result for result in run.results if not is_further(result))
    ]


def made_otherwise(concepts: Sequence[Run], tasks: Sequence[Run]) -> list[str]:
    """A sentence about each backbone with different features in a run of concepts and a run of tasks.

    Backbones are matched by name, and a default name does not include checkpoint, layer, pooling or size.
    """
    if not concepts or not tasks:
        return []
    told = []
    for first in concepts:
        for second in tasks:
            others = {backbone.name: backbone.features for backbone in second.data.backbones}
            for backbone in first.data.backbones:
                found = extraction_differences(backbone.features, others.get(backbone.name))
                if found:
                    one, other = (
                        ", ".join(f"{each.field} {value}" for each in found for value in [getattr(each, side)])
                        for side in ("first", "second")
                    )
                    told.append(
                        f"{backbone.name} is not the same on concepts and on tasks: {one} in {first.name}, {other} in "
                        f"{second.name}."
                    )
    return told


def what_task_runs_are_of(runs: Sequence[Run]) -> list[str]:
    """Notices about data of task runs that have the names of the paper's data sets."""
    if not runs:
        return []
    from unseen.analyses.tasks.data import task_comparison_notices, task_verdicts

    return [
        f"{run.name}: {sentence}"
        for run in runs
        for sentence in task_comparison_notices(task_verdicts(run.data, run.results))
    ]


def what_runs_say(runs: Sequence[Run], shown: Mapping[str, str]) -> list[str]:
    """The notices of each run, and the cautions of its backbones.

    Args:
        shown: backbones on the page: name in runs → name on the page.
    """
    told = []
    for run in runs:
        said = [*run.data.notices, *comparison_notices(run.data)]
        told += [f"{run.name}: {sentence}" for sentence in said]
        by_cautions: dict[str, list[str]] = {}
        for backbone in run.data.backbones:
            if backbone.cautions and backbone.name in shown:
                text = "; ".join(each.text for each in backbone.cautions)
                by_cautions.setdefault(text, []).append(shown[backbone.name])
        told += [f"{run.name}, {joined(names)}: {text}." for text, names in by_cautions.items()]
    return told


def own_shift_scores(runs: Sequence[Run]) -> tuple[list[Score], Sequence[str]]:
    """Scores of runs of shifts on OOD test sets, and notices about their fits."""
    if not runs:
        return [], []
    from unseen.analyses.robustness.of_runs import scores_of_runs, table_of_runs

    return scores_of_runs(table_of_runs([(run.name, run.data, run.results) for run in runs]))


def read_shift_scores(path: Path) -> Iterator[Score]:
    """The scores of each model from the output of `unseen shifts fit`, its folder or its table."""
    table = path / MODELS if path.is_dir() else path
    numbers = ["accuracy", "rho", "low", "high"]
    for line, row in read_table(table, ["ood", "model", *numbers]):
        accuracy, rho, low, high = (_number(row[column], table, line, column) for column in numbers)
        if not 0 <= accuracy <= 1 or not -1 <= low <= high <= 1:
            raise UserError(
                f"{table}, line {line}: accuracies and ρ must be fractions, as unseen shifts fit writes them"
            )
        yield from shift_scores(row["model"], row["ood"], accuracy, rho, low, high)


def _number(text: str, path: Path, line: int, column: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = np.nan
    if not isfinite(number):
        raise UserError(f"{path}, line {line}: '{text}' in column '{column}' is not a number")
    return number
