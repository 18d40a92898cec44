"""Options that say where jobs run: processes, GPUs, clusters, and parts of job arrays."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.running import processes
from unseen.runs.means import Means

if TYPE_CHECKING:
    from unseen.runs.parts import Part

MACHINES = "Processes, GPUs and machines"


WorkersOption = Annotated[
    int | None,
    typer.Option(
        help="Processes. Default: one per CPU core.",
        rich_help_panel=MACHINES,
    ),
]
DevicesOption = Annotated[
    list[str] | None,
    typer.Option(
        help="GPUs, one process each: 0,1,3. Default: all.",
        rich_help_panel=MACHINES,
    ),
]
ExecutorOption = Annotated[
    str | None,
    typer.Option(
        help="How jobs run: here, processes, devices, grouped, ray or ray:ADDRESS.",
        rich_help_panel=MACHINES,
    ),
]


@dataclass(frozen=True)
class MachineOptions:
    """Where jobs run."""

    workers: WorkersOption = None
    devices: DevicesOption = None
    executor: ExecutorOption = None
    part: Annotated[
        str,
        typer.Option(
            help="Part of a job array: 2/4 is the second of four.", show_default=False, rich_help_panel=MACHINES
        ),
    ] = "1/1"

    @property
    def means(self) -> Means:
        """The hardware to run jobs on; without --devices, every GPU."""
        from unseen.runs.machine import chosen_means

        return chosen_means(
            processes(self.workers, least=0), devices=self.devices, executor=self.executor, every_gpu=True
        )

    @property
    def share(self) -> "Part":
        """The part of the work to do."""
        from unseen.runs.parts import parse_part

        return parse_part(self.part)
