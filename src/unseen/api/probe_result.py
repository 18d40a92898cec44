"""The result of `unseen.probe`, the same type for every probe."""

from typing import TYPE_CHECKING

from unseen.runs.score import shots_name
from unseen.studies.array_probing import ArrayScores
from unseen.text.notebook import table_html
from unseen.text.words import counted

if TYPE_CHECKING:
    from unseen.report.core.model import Figure

SHOWN = 6
"""Number of means that a repr shows."""


class ProbeResult(ArrayScores):
    """The scores of a probe, with a plot and a table for notebooks."""

    def plot(self, metric: str | None = None) -> "Figure":
        """Plot the mean score against the number of training samples per class, one line per variant.

        Args:
            metric: one of the metrics in `summary()`; by default the first.

        Returns:
            A figure, which a notebook displays and `.save("figure.svg")` writes to a file.
        """
        from unseen.errors import UserError
        from unseen.report.core.looks import level_colour
        from unseen.report.core.model import Figure, Series
        from unseen.runs.tables import fewer_samples

        table = self.summary()
        metrics = list(dict.fromkeys(table["metric"]))
        chosen = metric or metrics[0]
        if chosen not in metrics:
            raise UserError(f"the result has no metric '{chosen}'; choose from {', '.join(metrics)}")
        short = {row.shots: fewer_samples(row) for row in table.itertuples(index=False)}
        lines = []
        for number, (variant, part) in enumerate(table[table["metric"] == chosen].groupby("probe", sort=False), 1):
            points = sorted(
                (self.samples if shots == "all" else float(shots), float(mean), shots)
                for shots, mean in zip(part["shots"], part["mean"], strict=True)
            )
            lines.append(
                Series(
                    variant, [x for x, *_ in points], [y for _, y, _ in points], level_colour(number), strong=True,
                    labels=["all" * (shots == "all") for *_, shots in points],
                    hover=[f"{variant}, {shots} shots{short[shots]}: {mean:.4f}" for _, mean, shots in points],
                )
            )  # fmt: skip
        ticks = {x: f"{x:g}" for line in lines for x in line.x}
        return Figure(
            title=f"{self.probe}: {chosen}",
            caption=f"Mean over {self._repeated()}; {len(self.classes)} classes",
            x_label="training samples per class (logarithmic)",
            y_label=chosen,
            series=tuple(lines),
            log_x=True,
            x_ticks=tuple(sorted(ticks.items())),
            x_range=(0.8 * min(ticks), 1.25 * max(ticks)),
        )

    def __repr__(self) -> str:
        from unseen.runs.tables import fewer_samples

        table = self.summary()
        means = [
            f"{row.probe} {row.metric} {row.mean:.4f} ({row.shots} shot{'' if row.shots == '1' else 's'})"
            f"{fewer_samples(row)}"
            for row in table.head(SHOWN).itertuples(index=False)
        ]
        more = f", … {len(table) - SHOWN} more" if len(table) > SHOWN else ""
        return f"ProbeResult({', '.join(means)}{more}; {'; '.join([self._repeated(), *self.notices])})"

    def _repr_html_(self) -> str:
        shots = ", ".join(dict.fromkeys(shots_name(score.shots) for score in self.scores))
        title = f"{self.probe}, {shots} shots, {self._repeated()}"
        return table_html(". ".join([title, *self.notices]), self.summary())

    def _repeated(self) -> str:
        return counted(len({score.seed for score in self.scores}), "seed")
