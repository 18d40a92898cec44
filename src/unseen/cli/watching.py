"""What commands print while a study runs: its plan as a table, notices, and progress."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from unseen.cli.output import SECONDS_BETWEEN_LINES, console, counted, duration, note, print_table, rate, track
from unseen.files import byte_size
from unseen.runs.means import ALONE, Means

if TYPE_CHECKING:
    from unseen.features.progress import Progress
    from unseen.probes.image_cell import Stepping
    from unseen.runs.parts import Part
    from unseen.studies.given import Given
    from unseen.studies.plan import Plan
    from unseen.studies.study import Study

J = TypeVar("J")
T = TypeVar("T")


@dataclass(frozen=True)
class CommandWatch:
    """A `Watch` of the command line: the plan on standard output, everything else on standard error.

    Attributes:
        means: the hardware that jobs run on.
        part: the part of the jobs that this command does.
        quiet: leave the plan out, because standard output is JSON.
    """

    means: Means = ALONE
    part: "Part" = (1, 1)
    quiet: bool = False

    def planned(self, plan: "Plan") -> None:
        if not self.quiet:
            show_plan(plan, self.means, self.part)

    def tell(self, sentence: str) -> None:
        note(sentence)

    def extracting(self, domain: str, split: str) -> "Callable[[Progress], None]":
        return extraction_lines(f"{domain}, {split}: ")

    def stepping(self, what: str, total: int) -> "Stepping":
        return _step_lines(what, total)

    def started(self, left: int, jobs: int, seconds: float) -> None:
        place = place_of(self.means)
        number, parts = self.part
        of = f" of part {number} of {parts}" if parts > 1 else ""
        rest = "if it is interrupted, the same command resumes"
        note(f"{left} of {jobs} jobs{of} to do, about {duration(seconds)} on {place}; {rest}.")

    def stage_started(self, left: int, seconds: float) -> None:
        note(f"Next: {counted(left, 'job')}, about {duration(seconds)}.")

    def track(self, items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
        return track(items, what, total)


def place_of(means: Means) -> str:
    """The hardware that runs jobs, in words."""
    from unseen.device import on_gpu

    if means.executor == "ray":
        return f"the Ray cluster {means.ray_address}".rstrip()
    if means.devices and means.devices[0] != "cpu":
        return f"{counted(len(means.devices), 'GPU')} ({', '.join(means.devices)})"
    return "the GPU" if on_gpu() else counted(means.workers, "core")


def dry_run(study: "Study", given: "Given", out: Path, watch: CommandWatch, *, replacing: bool = False) -> None:
    """Print the plan of a study, and a notice if the disk has too little space."""
    from unseen.features.disk import lacking_space
    from unseen.studies.run import plan_study

    plan = plan_study(study, given, out, means=watch.means, watch=watch, part=watch.part, replacing=replacing)
    watch.planned(plan)
    if lacking := lacking_space(out, plan.disk):
        note(lacking)


def show_plan(plan: "Plan", means: Means, part: "Part" = (1, 1)) -> None:
    """Print the plan of a study: parts, jobs, and estimates of time, memory and disk.

    Args:
        part: the part of the jobs that this command does.
    """
    from unseen.cli.plan_table import plan_table
    from unseen.runs.notices import notice_sentences

    if plan.parts:
        table = plan_table(plan.parts, console().width)
        print_table(plan.title, table.columns, table.rows, table.numbers)
        console().print()
    number, count = part
    of = f"part {number} of {count}"
    if plan.free and not (plan.extraction or plan.disk):
        console().print(f"Features: none to extract in {of}." if count > 1 else "Features: complete.")
    elif plan.free:
        console().print(
            f"Features: about {duration(plan.extraction)} to extract missing ones; they need {byte_size(plan.disk)} of "
            f"disk space ({byte_size(plan.free)} free)."
        )
    takes = [f"about {duration(plan.probing)} on {place_of(means)}"] if plan.jobs_left else []
    takes += [_memory(plan.memory, 1 if plan.alone else means.workers)] if plan.memory else []
    console().print(f"Jobs: {', '.join([f'{plan.jobs_left:,} of {plan.jobs:,} to do', *takes])}.")
    if count > 1:
        share = plan.share(part)
        todo = f", {share.jobs_left:,} of them to do" if share.jobs_left < share.jobs else ""
        estimate = f", about {duration(share.seconds)}" if share.jobs_left else ""
        console().print(f"This command does {of}: {share.jobs:,} of the {plan.jobs:,} jobs{todo}{estimate}.")
    console().print()
    for sentence in notice_sentences(plan.notices):
        note(sentence)


def _memory(size: int, processes: int) -> str:
    from unseen.device import on_gpu

    each = f" per process ({processes} at a time)" if processes > 1 else ""
    return f"{byte_size(size)} of {'GPU memory' if on_gpu() else f'memory{each}'}"


def extraction_lines(what: str = "") -> "Callable[[Progress], None]":
    """Prints the progress of an extraction every few seconds and at the end."""
    last = time.monotonic()

    def show(progress: "Progress") -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > SECONDS_BETWEEN_LINES or progress.done == progress.total:
            last = now
            waited = progress.idle / progress.seconds if progress.seconds else 0.0
            device = "" if isnan(waited) else f"; device idle {waited:.0%} of the time"
            note(
                f"{what}{progress.done:,} of {progress.total:,} images, {rate(progress.rate)}, "
                f"{duration(progress.left)} left{device}"
            )

    return show


def _step_lines(what: str, total: int) -> "Stepping":
    """Prints the step of a training every few seconds."""
    begun = last = time.monotonic()
    first: int | None = None

    def show(step: int, detail: str = "") -> None:
        nonlocal last, first
        now = time.monotonic()
        if first is None:  # an interrupted training resumes at its checkpoint
            first = step
        elif now - last > SECONDS_BETWEEN_LINES and step > first:
            left = duration((total - step) * (now - begun) / (step - first))
            note(f"{what}: step {step:,} of {total:,}{detail and f', {detail}'}, {left} left")
            last = now

    return show
