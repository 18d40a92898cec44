"""A run on disk, as what a study in Python gives."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.errors import UserError
from unseen.notebook import table_html
from unseen.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from unseen.runs.data import RunData
    from unseen.studies.study import Plan


@dataclass(frozen=True, repr=False)
class Run:
    """A run in its folder, which is read anew at every call. It stands for its folder wherever a path is taken."""

    folder: Path

    def __fspath__(self) -> str:
        return str(self.folder)

    @property
    def data(self) -> "RunData":
        """Everything that is known of the run."""
        from unseen.runs.record import read_run

        return read_run(self.folder)

    def scores(self) -> "pd.DataFrame":
        """One row per backbone, domain, probe, shots, seed and metric."""
        from unseen.runs.tables import score_table

        return score_table(self.data.scores)

    def summary(self) -> "pd.DataFrame":
        """Mean, deviation and 95% interval over seeds."""
        from unseen.runs.tables import summarise

        return summarise(self.scores())

    def compare(self, first: str, second: str, *, shots: int | str = "all") -> "pd.DataFrame":
        """How far apart two backbones of the run are on each domain, image by image, and whether that could be chance.

        Args:
            first, second: names of backbones; differences are the first minus the second.
            shots: one number, or "all".
        """
        from unseen.runs.shots import shots_in_python
        from unseen.studies.concepts.comparison import compare_backbones, comparison_table

        numbers = shots_in_python(shots)
        if len(numbers) > 1:
            raise UserError(f"shots is one number here, or 'all', not {shots!r}; compare each alone")
        return comparison_table(compare_backbones([self.folder], first, second, shots=numbers[0]))

    def plan(self) -> "Plan":
        """What the run has and what is left: one row per backbone, domain and probe, with the jobs that are done."""
        from unseen.studies.study import plan_of_run

        return plan_of_run(self.folder)

    def report(self, out: str | Path) -> Path:
        """Write the page of the run and return where it is."""
        from unseen.report.of_runs import report

        return report(self.folder, out)

    def export(self, out: str | Path) -> Path:
        """Write the scores and all that they rest on as a results file (.json), which travels, and return where it is.

        `unseen.check` and `unseen.leaderboard` take it.
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
