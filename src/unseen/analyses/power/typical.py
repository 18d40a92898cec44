"""Plans of studies that were not run yet, from typical variance components that ship with the package.

`data/typical-components.csv` has the components of pairs of backbones in real runs, means over data sets, and
`data/typical-sources.csv` says what these were: data, backbones, command, version and date
(`scripts/build_typical_components.py`).
"""

import csv
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Literal, cast

from unseen.analyses.core.comparable import Place, Unit
from unseen.analyses.power.pilot import Pair, mean_of, same_seeds
from unseen.analyses.power.plan import Plan, difference_for
from unseen.analyses.power.plans import Plans, Request, is_fit_of
from unseen.data.registry import DATASETS, task_sets
from unseen.errors import UserError, argument, did_you_mean, look_up
from unseen.metrics.catalogue import METRICS
from unseen.metrics.paired.components import Components
from unseen.metrics.paired.power import Design
from unseen.runs.score import shots_name
from unseen.studies.keys import ALL
from unseen.studies.study import Study
from unseen.text.words import joined

Kind = Literal["concepts", "tasks"]
DATA = Path(__file__).parent / "data"
COMPONENTS, SOURCES = "typical-components.csv", "typical-sources.csv"
ACCURACY = METRICS["top1"]
UNITS: Mapping[Kind, Unit] = {"concepts": "concepts", "tasks": "images"}
SIZES = {"cog-v2": (1000, 50), "cog-v1": (1000, 50), "drawings": (45, 20)}
"""Levels → concepts, and test images of each."""
EACH_LEVEL = "each level"


@dataclass(frozen=True)
class Typical:
    """The components of a pair of backbones in a run, means over its data sets.

    Attributes:
        source: name of the run, as in `Source`.
        kind: whether concepts are a sample, or classes are fixed.
        datasets: their number.
        shots: as in tables, a number or `all`.
    """

    source: str
    kind: Kind
    datasets: int
    probe: str
    shots: str
    pair: Pair


@dataclass(frozen=True)
class Source:
    """The run that components are from.

    Attributes:
        data, backbones: in words.
        date: ISO 8601.
    """

    source: str
    data: str
    backbones: str
    command: str
    version: str
    date: str


def plan_from_study(study: Study, request: Request, *, shots: tuple[int | None] | None = None) -> Plans:
    """Plans of a study from typical components of its probes.

    Args:
        shots: training samples per class, in a tuple; None for the most of each probe.
    """
    for name in request.probes or ():
        look_up(dict.fromkeys(study.probes), name, "probe", f" in {study.name}")
    difference_for(ACCURACY, request.difference, points=request.points)
    kind: Kind = "tasks" if study.levels is None else "concepts"
    plans, left_out, used = list[Plan](), list[str](), set[str]()
    for probe in request.probes or study.probes:
        number = _most_shots(study, probe) if shots is None else shots[0]
        rows = [each for each in typical() if each.kind == kind and is_fit_of(probe, each.probe)]
        chosen = [each for each in rows if each.shots == shots_name(number)]
        if not chosen:
            left_out.append(_no_components(kind, probe, number, rows))
            continue
        used |= {each.source for each in chosen}
        pairs = _of_pairs(chosen)
        seeds = 1 if pairs[0].parts.seed is None else len(study.seeds_of(probe))
        plans += [
            request.plan(
                Place(name, chosen[0].probe, number), ACCURACY, UNITS[kind], pairs, Design(images, seeds, concepts)
            )
            for name, images, concepts in _sizes(study, request)
        ]
    if not plans:
        raise UserError(left_out[0] if left_out else f"{study.name}: a study without probes cannot be planned")
    return Plans(tuple(plans), _words(used), tuple(left_out))


@cache
def typical() -> tuple[Typical, ...]:
    """The components that ship with the package."""

    def number(text: str) -> float | None:
        return float(text) if text else None

    names = [each.name for each in fields(Components)]
    return tuple(
        Typical(
            row["source"], cast("Kind", row["kind"]), int(row["datasets"]), row["probe"], row["shots"],
            Pair(row["first"], row["second"], int(row["seeds"]), int(row["concepts"]) if row["concepts"] else None,
                 Components(**{name: number(row[name]) for name in names})),  # type: ignore[arg-type]
        )
        for row in _rows(COMPONENTS)
    )  # fmt: skip


@cache
def sources() -> dict[str, Source]:
    """The runs that the components are from, by name."""
    return {row["source"]: Source(**row) for row in _rows(SOURCES)}


def _of_pairs(rows: Sequence[Typical]) -> tuple[Pair, ...]:
    """Each pair of backbones with its mean components over runs."""
    by_pair = dict[tuple[str, str], list[Pair]]()
    for pair in same_seeds([each.pair for each in rows]):
        by_pair.setdefault((pair.first, pair.second), []).append(pair)
    return tuple(mean_of(pairs) for pairs in by_pair.values())


def _rows(name: str) -> list[dict[str, str]]:
    return [*csv.DictReader((DATA / name).read_text("utf-8").splitlines())]


def _most_shots(study: Study, probe: str) -> int | None:
    numbers = study.numbers_of_shots(probe) or (None,)
    return None if None in numbers else max(number for number in numbers if number is not None)


def _sizes(study: Study, request: Request) -> Iterator[tuple[str, int, int | None]]:
    """Data set, test images per concept or in all, and concepts, where classes are a sample."""
    if study.levels is not None:
        concepts, images = SIZES.get(study.levels, (request.concepts, request.images))
        if concepts is None or images is None:
            sizes = joined([argument("concepts"), argument("images")])
            raise UserError(f"{study.name}: give the numbers of concepts and of test images of each ({sizes})")
        if request.datasets is not None:
            raise UserError(
                f"{study.name}: typical components are of no single level; leave out {argument('datasets')}"
            )
        yield EACH_LEVEL, images, concepts
        return
    names = [each for each in study.datasets if each != ALL]
    known = {each.name: each.counts["test"] for each in task_sets().values() if "test" in each.counts}
    known = {name: count for name, count in known.items() if DATASETS[name].metric != "map-11-point"}
    wanted = request.datasets if request.datasets is not None else names or [*known]
    for name in wanted:
        if name not in known and request.images is None:
            hint = did_you_mean(name, known)
            raise UserError(
                f"{name}: its number of test images is not known{hint or '; give it with ' + argument('images')}"
            )
        yield name, known.get(name, request.images or 0), None


def _no_components(kind: Kind, probe: str, shots: int | None, rows: Sequence[Typical]) -> str:
    known = joined([*dict.fromkeys(each.shots for each in rows)])
    only = f" with {shots_name(shots)} shots, but with {known}" if known else ""
    advice = f"choose these ({argument('shots')}), or " if known else ""
    return (
        f"there are no typical variance components of {probe} in studies of {kind}{only}; {advice}make a small run, "
        "and plan from that"
    )


def _words(used: Collection[str]) -> str:
    """What the components are from, in a sentence."""
    runs = [sources()[name] for name in sorted(used)]
    networks = joined([*dict.fromkeys(each.backbones for each in runs)])
    return (
        f"Planned from typical variances: of {networks}, on {joined([*dict.fromkeys(each.data for each in runs)])}. "
        "These are small networks on drawings, not networks on ImageNet; for a plan of your own, make a "
        "small run and plan from that."
    )
