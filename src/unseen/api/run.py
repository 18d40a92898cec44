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
    from unseen.report.core.model import Figure
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

    def compare(
        self,
        first: str,
        second: str,
        *,
        other: "Run | str | PathLike[str] | None" = None,
        shots: int | str = "all",
        probe: str | None = None,
    ) -> "pd.DataFrame":
        """Compare two backbones on the same test images, with a significance test on each data set by each probe.

        Args:
            first, second: names of backbones; differences are the first minus the second.
            other: another run, or its folder, that `second` is in. Runs on other test images are refused.
            shots: one number, or "all".
            probe: only this one, by its name in scores; by default all that both have.

        Returns:
            One row per data set and probe, and one per mean over data sets: difference, 95% interval, p-values, and
            `detectable`, the smallest difference that would be resolved with 80% power.
        """
        from unseen.analyses.paired import compare_backbones, compare_runs, comparison_table
        from unseen.runs.shots import one_number_of_shots

        number = one_number_of_shots(shots)
        if other is None:
            return comparison_table(compare_backbones([self.folder], first, second, shots=number, probe=probe))
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
