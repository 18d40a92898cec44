"""Measure the typical variance components that ship with the package.

    python scripts/build_typical_components.py FOLDER

Makes the runs below in FOLDER, or finishes them, and writes src/unseen/analyses/power/data. It takes about ten minutes
on two cores.
"""

import csv
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import product
from math import inf
from pathlib import Path

from unseen.analyses.core.comparables import comparables
from unseen.analyses.power.pilot import Pair, mean_of, pairs_of
from unseen.analyses.power.typical import COMPONENTS, SOURCES, UNITS, Kind, Source
from unseen.metrics.paired.components import Components
from unseen.runs.record import read_run
from unseen.runs.score import shots_name

DATA = Path(__file__).parents[1] / "src/unseen/analyses/power/data"
TRAINED = ("supervised", "mixup", "simclr")
"""Backbones whose differences are measured: the demo's networks without its baselines, which nobody would compare."""
BACKBONES = "the demo's 3 trained networks of 0.4 million parameters"
NAMED = " ".join(f"--backbone {name}=drawings:{name}" for name in TRAINED)


@dataclass(frozen=True)
class Run:
    """A run that components are measured in.

    Attributes:
        name: its folder.
        kinds: studies that it is typical of; of tasks also if its classes are concepts, which then count as fixed.
        commands: without the program.
    """

    name: str
    kinds: Sequence[Kind]
    data: str
    commands: Sequence[str]


RUNS = (
    Run("demo", ["concepts", "tasks"], "six levels of 45 concepts × 20 drawings", ["demo --out demo"]),
    Run("drawings", ["concepts", "tasks"], "six levels of 45 concepts × 20 drawings", [
        f"run drawings --features demo/features {NAMED} --probes knn,ridge --shots 1,4,16,all --seeds 3 --out drawings",
        f"run drawings --features demo/features {NAMED} --probes linear --shots 4,all --seeds 3 --out drawings",
    ]),
    Run("classes", ["tasks"], "6,800 drawings of 340 classes", [
        f"run ericsson-2021 --datasets drawings {NAMED} --probes knn,ridge --shots 1,4,16,all --seeds 3 --out classes",
    ]),
)  # fmt: skip


def rows_of(run: Run, folder: Path) -> Iterator[Mapping[str, object]]:
    """One row per kind of study, probe, number of shots and pair of backbones: means over data sets."""
    data = read_run(folder)
    for number in sorted({score.shots for score in data.scores}, key=lambda each: each or inf):
        probes = {score.probe: number for score in data.scores if score.shots == number}
        every = comparables(data, shots=probes, backbones=TRAINED).every
        for probe, kind in product(probes, run.kinds):
            by_pair = dict[tuple[str, str], list[Pair]]()
            for each in every:
                if each.place.probe == probe:
                    for pair in pairs_of(replace(each, unit=UNITS[kind])):
                        by_pair.setdefault((pair.first, pair.second), []).append(pair)
            for pairs in by_pair.values():
                mean = mean_of(pairs)
                parts = {name: "" if value is None else f"{value:.6g}" for name, value in vars(mean.parts).items()}
                yield {
                    "source": run.name, "kind": kind, "datasets": len(pairs), "probe": probe,
                    "shots": shots_name(number), "first": mean.first, "second": mean.second, "seeds": mean.seeds,
                    "concepts": "" if mean.concepts is None else mean.concepts, **parts,
                }  # fmt: skip


def source_of(run: Run, folder: Path) -> Source:
    """What a run was."""
    written = read_run(folder).written
    assert written is not None
    commands = "; ".join(f"unseen {command}" for command in run.commands)
    return Source(run.name, run.data, BACKBONES, commands, written.versions["unseen"], written.last[:10])


def write(name: str, columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> None:
    """Write a table."""
    with (DATA / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Make the runs and write the tables."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    components, sources = list[Mapping[str, object]](), list[Source]()
    for run in RUNS:
        for command in run.commands:
            subprocess.run([sys.executable, "-m", "unseen", *command.split()], cwd=folder, check=True)
        components += rows_of(run, folder / run.name)
        sources.append(source_of(run, folder / run.name))
    names = [each.name for each in fields(Components)]
    columns = ["source", "kind", "datasets", "probe", "shots", "first", "second", "seeds", "concepts", *names]
    write(COMPONENTS, columns, components)
    write(SOURCES, [each.name for each in fields(Source)], [asdict(each) for each in sources])


if __name__ == "__main__":
    main()
