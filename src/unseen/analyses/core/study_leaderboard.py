"""The leaderboard of a study's own backbones, which are ranked among themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from unseen.analyses.core.costs import Choice, cost_record, decisive
from unseen.analyses.core.rankings import Ranking, rankings
from unseen.analyses.core.suites import part_notices
from unseen.errors import UserError
from unseen.runs.data import Backbone, RunData
from unseen.runs.score import shots_name
from unseen.text.notebook import table_html
from unseen.text.words import counted, joined

COSTS = ("parameters", "multiply_adds", "dimensions", "ms_per_image", "measured_on")
"""The columns of `to_frame` about what backbones cost."""


@dataclass(frozen=True)
class StudyLeaderboard:
    """The backbones of one or several runs, ranked by every probe.

    Attributes:
        by: the data set that they are ranked by; empty for a mean over several.
        rankings: one per probe, and per kind of data set and of metric.
        backbones: in the order of the runs.
        titles: data set → its title.
        notices: what a reader must know about the runs.
        places: the folders of the runs.
        beside_published: whether the pages of the runs have published models, which leaves other colours to these.
    """

    by: str
    rankings: tuple[Ranking, ...]
    backbones: tuple[Backbone, ...]
    titles: dict[str, str]
    notices: tuple[str, ...]
    places: tuple[str, ...]
    beside_published: bool = False

    @property
    def choice(self) -> Choice | None:
        """The ranking that decides which backbone to take, with what each costs; None if no cost is known."""
        return decisive(self.rankings, self.backbones)

    def __repr__(self) -> str:
        first = self.rankings[0]
        leaders = ", ".join(f"{each.rank} {each.backbone}" for each in first.ranked[:3] if each.rank)
        of = f"{first.probe}, {shots_name(first.shots)} shots: {leaders or 'one backbone is not ranked'}"
        return f"StudyLeaderboard({counted(len(self.backbones), 'backbone')}; {of}{', …' if leaders else ''})"

    def _repr_html_(self) -> str:
        return table_html(repr(self), self.to_frame().drop(columns=["axis", "protocol", "unit"]))

    def to_frame(self) -> pd.DataFrame:
        """One row per backbone and ranking, with one column per data set; ranks and intervals are empty if unknown.

        `rank_basis` is what ranks are from: `pairs` (comparisons of pairs on the same test images), `scores` alone, or
        `alone` for a single backbone, which has no rank. `trained_on` names the data sets that are among the training
        data of the backbone, on which it is never ranked. `others_low` and `others_high` are the interval of the rank
        over other data sets of the same kind. Values are in the unit of the metric. What a backbone costs is in
        `parameters`, `multiply_adds`, `dimensions` and `ms_per_image`, where it is known.
        """
        costs = {each.name: cost_record(each.cost) for each in self.backbones}
        table = pd.DataFrame(
            row | {name: costs[row["backbone"]][name] for name in COSTS}
            for ranking in self.rankings for row in _rows(ranking)
        )  # fmt: skip
        whole = ["rank", "rank_low", "rank_high", "tie_group", "others_low", "others_high"]
        whole += ["parameters", "multiply_adds", "dimensions"]
        return table.astype(dict.fromkeys(whole, "Int64") | {"ms_per_image": "float64"})


def _rows(ranking: Ranking) -> Iterator[dict[str, Any]]:
    for each in ranking.entries:
        low, high = each.others or (None, None)
        yield {
            "axis": ranking.axis, "probe": ranking.probe, "protocol": ranking.protocol,
            "shots": shots_name(ranking.shots), "unit": ranking.metric.unit, "rank": each.rank, "rank_low": each.low,
            "rank_high": each.high, "tie_group": each.group, "others_low": low, "others_high": high,
            "rank_basis": ranking.basis, "backbone": each.backbone, "value": each.value,
            "value_low": each.ends[0] if each.ends else None, "value_high": each.ends[1] if each.ends else None,
            **each.scores,
            "not_ranked": each.reason, "trained_on": ", ".join(each.trained_on),
        }  # fmt: skip


def study_leaderboard(
    folders: Sequence[Path], *, shots: int | str | None = None, by: str | None = None
) -> StudyLeaderboard:
    """The leaderboard of runs of any study.

    Args:
        shots: a number, or `all`; by default the most of each probe.
        by: a data set; by default the mean over the unseen concepts, the shifted test sets, or all data sets.
    """
    # Reading runs imports the probes, which the published models alone do not need.
    from unseen.runs.merge import merge_runs
    from unseen.runs.record import read_runs

    runs = read_runs(folders)
    for folder, run in zip(folders, runs, strict=True):
        if not run.scores:
            raise UserError(f"{folder}: no scores yet; finish the run")
    data = merge_runs([(folder.resolve().name, run) for folder, run in zip(folders, runs, strict=True)])
    return leaderboard_of(data, folders, shots=shots, by=by)


def leaderboard_of(
    data: RunData, folders: Sequence[Path], *, shots: int | str | None = None, by: str | None = None
) -> StudyLeaderboard:
    """The leaderboard of runs that were merged."""
    from unseen.runs.shots import one_number_of_shots

    ranked = rankings(data, shots="most" if shots is None else one_number_of_shots(shots), by=by)
    if not ranked:
        raise UserError(
            f"{joined([str(folder) for folder in folders])}: no scores to rank; finish the run, or add "
            "a probe of which more is better"
        )
    return StudyLeaderboard(
        by=by or "",
        rankings=tuple(ranked),
        backbones=tuple(data.backbones),
        titles={domain.name: domain.title for domain in data.domains},
        notices=(*data.notices, *part_notices(folders, data)),
        places=tuple(str(folder) for folder in folders),
        beside_published=bool(data.published) or any(domain.axis == "tasks" for domain in data.domains),
    )
