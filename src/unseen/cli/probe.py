"""`unseen probe`: a study of features in files."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.machine_options import MachineOptions
from unseen.cli.option_groups import with_groups
from unseen.cli.output import Json, print_json
from unseen.cli.running import finish_run, others_shown
from unseen.cli.study_options import Changes, ProbesOption, ReplaceOption, SeedsOption, SetOption, ShotsOption
from unseen.cli.watching import CommandWatch, dry_run
from unseen.errors import UserError

DEFAULT = Path("unseen-probe")
PROBE = "logistic"


@with_groups
def probe(
    train: Annotated[
        Path, typer.Argument(help="Training features: .npz, .safetensors, .pth, .npy, or a folder of unseen extract.")
    ],
    test: Annotated[Path, typer.Argument(help="Test features.")],
    val: Annotated[Path | None, typer.Argument(help="Validation features, if there are any.")] = None,
    *,
    probes: ProbesOption = None,
    shots: ShotsOption = None,
    seeds: SeedsOption = None,
    backbone: Annotated[str, typer.Option(help="Name of the backbone in tables and the report.")] = "yours",
    domain: Annotated[str, typer.Option(help="Name of the data in tables and the report.")] = "yours",
    settings: SetOption = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the run. Default: unseen-probe, where a run of other features is replaced."),
    ] = None,
    machine: MachineOptions,
    only_plan: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan with time and memory estimates, and stop.")
    ] = False,
    replace: ReplaceOption = False,
    as_json: Json = False,
) -> None:
    """Fit probes to your own features. Default: logistic regression with searched hyper-parameters.

    Writes a run folder with scores and a report. Run it again to resume, or with other seeds, shots or probes to add
    them. Classes keep the order of the training file. Python files among the probes are executed.
    """
    places = {"train": train, "val": val, "test": test}
    given_files = {split: path for split, path in places.items() if path is not None}
    for path in given_files.values():  # before PyTorch is imported
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")
    share = machine.share
    from unseen.studies.given import FeatureFiles, Given
    from unseen.studies.run import run_study
    from unseen.studies.study import Study

    study = Changes(probes=probes or [PROBE], shots=shots, seeds=seeds, settings=settings).of(Study(name="probe"))
    given = Given(features=FeatureFiles(backbone, domain, given_files), allow_code=True)
    folder, means = out or DEFAULT, machine.means
    watch = CommandWatch(means, share, quiet=as_json)
    if only_plan:
        return dry_run(study, given, folder, watch)
    with others_shown(folder, lambda: finish_run(folder, quiet=as_json)):
        replacing = replace or out is None
        data = run_study(study, given, folder, means=means, watch=watch, part=share, replacing=replacing)
    finish_run(folder, quiet=as_json)
    if as_json:
        from dataclasses import asdict

        from unseen.exchange.export import record_notices

        notices = [asdict(each) for each in record_notices(data, backbone, data.domains[0])]
        print_json({"scores": [score.as_dict() for score in data.scores], "notices": notices})
    return None
