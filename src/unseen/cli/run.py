"""`unseen run`: a study, with backbones on data sets with probes."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.machine_options import MachineOptions
from unseen.cli.option_groups import with_groups
from unseen.cli.running import finish_run, others_shown
from unseen.cli.study_options import (
    WHAT,
    AllowCodeOption,
    BackboneOption,
    Changes,
    DataOption,
    DatasetsOption,
    LogOption,
    ProbesOption,
    ReplaceOption,
    SeedsOption,
    SetOption,
    ShotsOption,
    StudyArgument,
    given_of,
    read_study,
)
from unseen.cli.watching import CommandWatch, dry_run
from unseen.files import check_writable


@with_groups
def run(
    study: StudyArgument,
    *,
    out: Annotated[Path, typer.Option(help="Folder of the run.")],
    backbone: BackboneOption = None,
    data: DataOption = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Features instead of images.", rich_help_panel=WHAT),
    ] = None,
    datasets: DatasetsOption = None,
    probes: ProbesOption = None,
    shots: ShotsOption = None,
    seeds: SeedsOption = None,
    limit: Annotated[
        int | None,
        typer.Option(help="Most images per class and split.", rich_help_panel=WHAT),
    ] = None,
    settings: SetOption = None,
    machine: MachineOptions,
    log: LogOption = None,
    only_plan: Annotated[bool, typer.Option("--dry-run", help="Print the plan with estimates, and stop.")] = False,
    replace: ReplaceOption = False,
    allow_code: AllowCodeOption = False,
) -> None:
    """Run a study: measure backbones on data sets with probes.

    Writes a folder with scores and a report. The same command resumes; with other backbones, data sets or probes it
    adds them. Another value of a key is refused, unless --replace is given. unseen show STUDY lists all keys.
    """
    from unseen.trackers.chosen import choose
    from unseen.trackers.trackers import Trackers

    check_writable(out)
    trackers = Trackers(choose(log or ()))
    share = machine.share
    changes = Changes(backbone, datasets, probes, shots, seeds, limit, settings)
    chosen = changes.of(read_study(study, allow_code=allow_code))
    given = given_of(data, features, allow_code=allow_code)
    from unseen.studies.run import run_study

    means = machine.means
    watch = CommandWatch(means, share)
    if only_plan:
        return dry_run(chosen, given, out, watch, replacing=replace)
    with others_shown(out, lambda: finish_run(out)):
        run_study(chosen, given, out, means=means, watch=watch, part=share, replacing=replace, trackers=trackers)
    return finish_run(out)
