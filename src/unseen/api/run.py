"""The result of a study in Python: a run on disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.notebook import table_html
from unseen.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from unseen.report.core.model import Figure
    from unseen.runs.data import RunData
    from unseen.studies.study import Plan


@dataclass(frozen=True, repr=False)
class Run:
    """A run on disk. Every method reads its folder again, and a run can be passed wherever a path is expected."""

    folder: Path

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

    def compare(self, first: str, second: str, *, shots: int | str = "all") -> "pd.DataFrame":
        """Compare two backbones of the run on the same test images, with a significance test for each domain.

        Args:
            first, second: names of backbones; differences are the first minus the second.
            shots: one number, or "all".
        """
        from unseen.runs.shots import shots_in_python
        from unseen.studies.concepts.comparison import compare_backbones, comparison_table

        numbers = shots_in_python(shots)
        if len(numbers) > 1:
            raise UserError(f"shots must be one number or 'all', not {shots!r}; compare one number of shots at a time")
        return comparison_table(compare_backbones([self.folder], first, second, shots=numbers[0]))

    def plan(self) -> "Plan":
        """The finished and missing jobs of the run, one row per backbone, domain and probe."""
        from unseen.studies.study import plan_of_run

        return plan_of_run(self.folder)

    def report(self, out: str | Path) -> Path:
        """Write the report of the run as an HTML page and return its path."""
        from unseen.report.of_runs import report

        return report(self.folder, out)

    def figures(self) -> "dict[str, Figure]":
        """The figures of the report by name, as `unseen report --export` names their files.

        A notebook shows a figure that is the last line of a cell, and `.save("figure.svg")` writes it.
        """
        from unseen.report.core.export import page_figures
        from unseen.report.of_runs import report_on

        return page_figures(report_on([self.folder]).page)

    def export(self, out: str | Path) -> Path:
        """Write the scores and their provenance as a results file (.json) to share with others, and return its path.

        `unseen.check` and `unseen.leaderboard` accept such files.
        """
        from unseen.exchange.export import export_runs

        export_runs([self.folder], Path(out))
        return Path(out)

    def __repr__(self) -> str:
        data = self.data
        backbones, domains = counted(len(data.backbones), "backbone"), counted(len(data.domains), "domain")
        return f"Run({self.folder}: {data.study}, {backbones}, {domains}, {counted(len(data.scores), 'score')})"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.summary().drop(columns=["study", "low", "high"]))
