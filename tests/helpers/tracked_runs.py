"""Small runs with trackers: k nearest neighbours on features of 60 images in files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from studies import given_of, study_of
from unseen.runs.data import RunData
from unseen.runs.means import ALONE, Means
from unseen.runs.parts import WHOLE, Part
from unseen.studies.given import FeatureFiles
from unseen.studies.run import run_study
from unseen.studies.watch import Silent
from unseen.trackers.chosen import choose
from unseen.trackers.tracker import LoggedEnd, LoggedPlan, LoggedScore, Tracker
from unseen.trackers.trackers import Trackers


class Notebook:
    """A tracker that keeps what it receives."""

    def __init__(self) -> None:
        self.plans: list[LoggedPlan] = []
        self.scores: list[LoggedScore] = []
        self.ends: list[LoggedEnd] = []

    def on_plan(self, plan: LoggedPlan) -> None:
        self.plans.append(plan)

    def on_score(self, score: LoggedScore) -> None:
        self.scores.append(score)

    def on_end(self, end: LoggedEnd) -> None:
        self.ends.append(end)


class Heard(Silent):
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.sentences: list[str] = []

    def tell(self, sentence: str) -> None:
        self.sentences.append(sentence)


def features(folder: Path) -> dict[str, Path]:
    rng, found = np.random.default_rng(0), {}
    for split in ("train", "test"):
        y = np.arange(60) % 3
        found[split] = folder / f"{split}.npz"
        np.savez(found[split], X=np.eye(3)[y] + rng.normal(0, 0.6, (60, 3)), y=y)
    return found


def tracked_run(
    out: Path,
    *trackers: str | Tracker,
    watch: Silent | None = None,
    means: Means = ALONE,
    part: Part = WHOLE,
    names: tuple[str, str] = ("net", "set"),
    **keys: Any,
) -> RunData:
    """A run of one backbone on one data set, with `seeds` and `shots` among the keys.

    Args:
        names: of the backbone and of the data set.
    """
    places = features(out.parent)
    settings: dict[str, Any] = {"probes": ["knn"], "shots": [2, "all"], "seeds": 2} | keys
    study, given = given_of(study_of(**settings), features=FeatureFiles(*names, places))
    chosen: Sequence[str | Tracker] = trackers
    return run_study(study, given, out, means=means, watch=watch, part=part, trackers=Trackers(choose(chosen)))
