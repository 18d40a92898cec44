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
        typer.Option(help="Features instead of images: one folder per data set.", rich_help_panel=WHAT),
    ] = None,
    datasets: DatasetsOption = None,
    probes: ProbesOption = None,
    shots: ShotsOption = None,
    seeds: SeedsOption = None,
    limit: Annotated[
        int | None,
        typer.Option(help="At most this many images per class and split, for a quick look.", rich_help_panel=WHAT),
    ] = None,
    settings: SetOption = None,
    machine: MachineOptions,
    only_plan: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan with time, memory and disk estimates, and stop.")
    ] = False,
    replace: ReplaceOption = False,
    allow_code: AllowCodeOption = False,
) -> None:
    """Run a study: measure backbones on data sets with probes, and write a report.

    Prints the plan with estimates of time, memory and disk space, extracts missing features and runs missing jobs. If
    it is interrupted, the same command resumes. Run it again with other backbones, data sets or probes to add them.

    Every setting is a key of the study: unseen show STUDY lists them, --set changes one, and a copy of the file is a
    study of your own. The folder of the run keeps the study as study.toml.
    """
    check_writable(out)
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
        run_study(chosen, given, out, means=means, watch=watch, part=share, replacing=replace)
    return finish_run(out)
