"""The result of a study in Python: a run on disk."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.text.notebook import table_html
from unseen.text.words import counted, joined

if TYPE_CHECKING:
    import pandas as pd

    from unseen.analyses.power.plans import Plans
    from unseen.analyses.robustness.found_subsets import ShiftSubsets
    from unseen.analyses.robustness.predictors import HeldOut, PredictorStudy
    from unseen.report.core.model import Figure
    from unseen.report.core.static import PaperFigure, PaperWidth
    from unseen.runs.data import RunData
    from unseen.studies.plan import Plan
    from unseen.studies.study import Study


@dataclass(frozen=True, repr=False)
class Run:
    """A run on disk. Every method reads its folder again, and a run can be passed wherever a path is expected."""

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def data(self) -> "RunData":
        """The contents of the run: backbones, domains, protocols, provenance and scores."""
        from unseen.runs.record import read_run

        return read_run(self.folder)

    def scores(self) -> "pd.DataFrame":
        """One row per score: backbone, domain, probe, shots, seed, metric and value."""
        from unseen.runs.tables import score_table

        return score_table(self.data.scores)

    def summary(self) -> "pd.DataFrame":
        """Mean, standard deviation and 95% interval over seeds of each backbone, domain, probe, shots and metric."""
        from unseen.runs.tables import summarise

        return summarise(self.scores())

    def costs(self) -> "pd.DataFrame":
        """What each backbone costs: one row per backbone; numbers that are not known are empty.

        `parameters` are those that the features depend on, `multiply_adds` those of one image of `image_size` pixels,
        and `ms_per_image` the forward passes of the extraction on `measured_on`, without decoding images.
        """
        from unseen.analyses.core.costs import cost_table

        return cost_table(self.data.backbones)

    def compare(
        self,
        first: str,
        second: str,
        *,
        other: "Run | str | PathLike[str] | None" = None,
        shots: int | str = "all",
        probe: str | None = None,
        metric: str | None = None,
    ) -> "pd.DataFrame":
        """Compare two backbones on the same test images, with a significance test on each data set by each probe.

        Args:
            first, second: names of backbones; differences are the first minus the second.
            other: another run, or its folder, that `second` is in. Runs on other test images are refused.
            shots: one number, or "all".
            probe: only this one, by its name in scores; by default all that both have.
            metric: compare by this one, such as "lca-information"; by default by the first of each probe. Not with
                `other`.

        Returns:
            One row per data set and probe, and one per mean over data sets: difference, 95% interval, p-values, and
            `detectable`, the smallest difference that would be resolved with 80% power.
        """
        from unseen.analyses.paired import compare_backbones, compare_runs, comparison_table
        from unseen.errors import UserError
        from unseen.runs.shots import one_number_of_shots

        number = one_number_of_shots(shots)
        if other is None:
            found = compare_backbones([self.folder], first, second, shots=number, probe=probe, metric=metric)
            return comparison_table(found)
        if metric is not None:
            raise UserError("metric compares backbones of one run; leave out other")
        pair = compare_runs((self.folder, first), (Path(other), second), shots=number, probe=probe)
        return comparison_table(pair)

    def power(
        self,
        difference: float,
        *,
        backbones: Sequence[str] | None = None,
        datasets: Sequence[str] | None = None,
        probes: Sequence[str] | None = None,
        shots: int | str | None = None,
        power: float = 0.8,
        images: int | None = None,
        concepts: int | None = None,
        seeds: int | None = None,
    ) -> "Plans":
        """Plan how many test images, concepts or seeds would resolve a difference, with this run as the pilot.

        Args:
            difference: the smallest true difference that matters: 0.005 is half a point of an accuracy.
            backbones: the two to compare; by default the mean over all pairs of the run.
            datasets, probes: only these; by default all.
            shots: one number, or "all"; by default the most of each probe.
            power: probability of resolving the difference.
            images: test images per concept, or in all where classes are fixed; by default as in the run.
            concepts, seeds: their numbers; by default as in the run.

        Returns:
            The plans, with `.to_frame()`, and `.every`, each of which has `.sentences` and `.curve("concepts")`.
        """
        from unseen.analyses.power.planning import plan_power

        return plan_power(
            self.folder, difference, backbones=backbones, datasets=datasets, probes=probes, shots=shots, power=power,
            images=images, concepts=concepts, seeds=seeds,
        )  # fmt: skip

    def feature_similarity(self) -> "pd.DataFrame":
        """Compare how the backbones represent the same test images: linear CKA and mutual nearest neighbours.

        The features are read from the folder of the run, and the values kept there.

        Returns:
            One row per data set and pair of backbones: domain, first, second, images, and for `cka` and `mutual_knn`
            the value, its level under random orders of the images (95% quantile), and the share above that level.
        """
        from unseen.analyses.feature_similarity import feature_similarity, similarity_table

        return similarity_table(feature_similarity(self.data))

    def predictors(self, *, hierarchy: str = "auto", held_out: "HeldOut | None" = None) -> "PredictorStudy":
        """Compare what predicts the accuracy of held-out models on the shifted test sets of the run.

        In-distribution accuracies, agreement, the severity of mistakes, and measures of features without labels.

        Args:
            hierarchy: of the classes, for severity: "wordnet"; a CSV file with the columns child,parent, or
                class,concept (names in WordNet); or "k-means:MODEL". By default WordNet, or k-means if classes are
                not its concepts.
            held_out: "groups" or "models"; by default groups if there are several.

        Returns:
            A comparison with `.to_frame()`, one row per OOD test set and predictor.
        """
        from unseen.analyses.robustness.predictors_of_runs import predictors_of_folder
        from unseen.errors import UserError

        found = predictors_of_folder(self.folder, hierarchy=hierarchy, held_out=held_out)
        if found.study is None:
            raise UserError(found.why_not)
        return found.study

    def severity(self, column: str, *, hierarchy: str = "auto") -> "pd.DataFrame":
        """The severity of the mistakes of every model on a column of a run of shifts; lower is better.

        Args:
            column: a test set, as in `accuracies.csv`.
            hierarchy: as in `predictors`.

        Returns:
            One row per model: mistakes, and the mean distances of mistakes with their intervals, empty without any.
        """
        from unseen.analyses.robustness.predictors_of_runs import severity_of_folder

        return severity_of_folder(self.folder, column, hierarchy).to_frame()

    def subsets(
        self,
        *,
        id: str | Sequence[str] = (),  # noqa: A002  (what the field calls it)
        ood: str | Sequence[str] = (),
        size: int | None = None,
        permutations: int | None = None,
        seed: int = 0,
    ) -> "ShiftSubsets":
        """Search shifted test sets for subsets on which models of higher ID accuracy are less accurate.

        Half of the models choose the images and the other half confirms the choice; the same search with permuted
        models says how far chance gets.

        Args:
            id, ood: columns; by default the shifted test sets of the run, each with the ID test sets of its classes.
            size: the fewest images of a subset; by default one in 20 of the test set.
            permutations: number of searches with permuted models; by default 200, or more with many test sets.
            seed: of the halves and permutations.

        Returns:
            The searches, with `.to_frame()`, one row per search, and `.images()`, one row per image of each subset.
        """
        from unseen.analyses.robustness.hits import find_subsets_in
        from unseen.analyses.robustness.subset_keys import SubsetKeys

        id_sets, ood_sets = ([names] if isinstance(names, str) else list(names) for names in (id, ood))
        keys = SubsetKeys(size, permutations, seed)
        return find_subsets_in(self.folder, id_sets, ood_sets, keys)

    @property
    def study(self) -> "Study":
        """The study of the run with every setting; of a run of several calls, that of the first."""
        from unseen.studies.toml import find_study

        return find_study(str(self.folder))

    def plan(self) -> "Plan":
        """The finished and missing jobs of the run, one row per backbone, domain and probe."""
        from unseen.studies.plan import plan_of_run

        return plan_of_run(self.folder)

    def report(
        self,
        out: str | PathLike[str],
        *,
        compare: tuple[str, str] | None = None,
        shots: int | str = "all",
        export: str | PathLike[str] | None = None,
        open: bool = False,  # noqa: A002  (as in `unseen.report`)
    ) -> Path:
        """Write the report of the run as an HTML page and return its path; see `unseen.report` for the arguments."""
        from unseen.report.of_runs import report

        return report(self.folder, out, compare=compare, shots=shots, export=export, open=open)

    def figures(self) -> "dict[str, Figure]":
        """The figures of the report by name, as `unseen report --export` names their files.

        A notebook shows a figure that is the last line of a cell, and `.save("figure.svg")` writes it.
        """
        from unseen.report.core.export import page_figures
        from unseen.report.of_runs import report_on

        return page_figures(report_on([self.folder]).page)

    def figure(
        self, name: str, *, width: "PaperWidth" = "column", path: str | PathLike[str] | None = None
    ) -> "PaperFigure":
        """A figure of the report in its size in a paper, for changes with Matplotlib.

        Args:
            name: as in `figures()`: "levels", "comparison-ranks-on-l5".
            width: "column" for 3.25 inches, "page" for 6.75 inches. All texts have at least 7 points.
            path: also write it, in the format of the name: .pdf (TrueType fonts), .svg or .png.

        Returns:
            A `matplotlib.figure.Figure`, which is not known to `pyplot`.

        Example:
            >>> run.figure("levels", width="page", path="levels.pdf")
        """
        from unseen.report.core.export import check_paper_figure, paper_figure
        from unseen.report.of_runs import report_on

        place = None if path is None else Path(path)
        check_paper_figure(width, place)
        return paper_figure(report_on([self.folder]).page, name, width, place)

    def to_latex(self, table: str | None = None) -> str:
        """Tables in LaTeX: floats with captions, booktabs rules, and labels such as `tab:paper-logistic`.

        Bold are the best number of a column and all that paired comparisons on the same test images do not resolve
        from it. Where the results do not allow such comparisons, no number is bold, and the caption says so. The table
        needs the package booktabs, and graphicx if titles are turned.

        Args:
            table: one table by the name of its file in an export, such as "paper-logistic" or "comparison". By default
                the scores of each probe, one row per backbone and one column per data set.
        """
        from unseen.report.core.export import tables_as_latex
        from unseen.report.of_runs import for_papers, report_on

        return tables_as_latex(for_papers(report_on([self.folder]), [self.folder]).page, table)

    def to_bibtex(self) -> str:
        """The papers behind the run as BibTeX entries: those of data sets, probes, protocols and statistics."""
        from unseen.report.of_runs import for_papers, report_on

        return "\n".join(for_papers(report_on([self.folder]), [self.folder]).page.references)

    def export(self, out: str | PathLike[str], *, hits: bool = False, format: str = "unseen") -> Path:  # noqa: A002
        """Write the scores and their provenance as a results file (.json) to share with others, and return its path.

        `unseen.check` and `unseen.leaderboard` accept such files.

        Args:
            out: the file; for other formats a folder.
            hits: also write which test images are classified correctly, for comparisons image by image.
            format: "unseen"; or "every-eval-ever" or "hf-eval-results", with ":OWNER" for the owner of the data sets on
                the Hub.
        """
        from unseen.exchange.export import export_runs
        from unseen.exchange.formats import OURS, check_format, export_for_others

        check_format(format, hits=hits)
        if format == OURS:
            export_runs([self.folder], Path(out), hits=hits)
        else:
            export_for_others([self.folder], format, Path(out))
        return Path(out)

    def __repr__(self) -> str:
        data = self.data
        backbones, domains = counted(len(data.backbones), "backbone"), counted(len(data.domains), "domain")
        return f"Run({self.folder}: {joined(data.axes)}, {backbones}, {domains}, {counted(len(data.scores), 'score')})"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.summary().drop(columns=["study", "low", "high"]))
