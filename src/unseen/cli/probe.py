"""`unseen probe`: your own features."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.options import OwnMetricsOption
from unseen.cli.output import Json, note, print_json
from unseen.cli.running import WorkersOption, finish, finish_read, others_shown, processes
from unseen.cli.watching import CommandWatch
from unseen.errors import UserError
from unseen.runs.means import Means


def probe(
    train: Annotated[
        Path, typer.Argument(help="Training features: .npz, .safetensors, .pth, .npy, or a folder of unseen extract.")
    ],
    test: Annotated[Path, typer.Argument(help="Test features.")],
    kind: Annotated[
        str,
        typer.Option("--probe", help="Name of a probe (unseen ls probes), or a Python file, which is executed."),
    ] = "logistic",
    metric: OwnMetricsOption = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="Protocol: cog-v2 (default), cog-v2-pruned (stops poor trials early) or cog-v2-short (a quick look); "
            "for --probe linear, ericsson-2021."
        ),
    ] = None,
    shots: Annotated[
        list[str] | None, typer.Option(help="Training samples per class, such as 1,8,all. Default: all.")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Number of seeds.")] = 5,
    sequential: Annotated[bool, typer.Option("--sequential", help="Run one trial at a time, as in the paper.")] = False,
    backbone: Annotated[str, typer.Option(help="Name of the backbone in tables and the report.")] = "yours",
    domain: Annotated[str, typer.Option(help="Name of the data in tables and the report.")] = "yours",
    out: Annotated[Path, typer.Option(help="Folder for the run, its tables and its report.")] = Path("unseen-probe"),
    keep: Annotated[
        Path | None, typer.Option(help="Save the probe trained on all samples (.npz), for unseen shifts run --head.")
    ] = None,
    workers: WorkersOption = None,
    as_json: Json = False,
) -> None:
    """Train and test a probe on your own features. Default: logistic regression with searched hyper-parameters.

    Writes a run folder with scores and a report. Run it again to resume, or with other seeds or shots to add them.
    """
    for path in (train, test):  # before PyTorch is imported
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")
    if keep is not None and kind != "logistic":
        raise UserError(f"--keep needs --probe logistic, not {kind}")
    if sequential and kind != "logistic":
        raise UserError(f"--sequential needs --probe logistic, not {kind}")
    from dataclasses import asdict

    from unseen.exchange.export import record_notices
    from unseen.features.features import align
    from unseen.features.readers import read_features
    from unseen.probes.by_name import get_probe
    from unseen.probes.protocol import protocol_named
    from unseen.runs.results import RESULTS
    from unseen.runs.shots import parse_shots
    from unseen.studies.final_classifier import keep_probe
    from unseen.studies.own_code import chosen_code
    from unseen.studies.own_features import plan_own
    from unseen.studies.probed_features import probed_features
    from unseen.studies.study import run_prepared

    names, own = chosen_code([kind], metric or [], note)
    fitted = own.probes[0].probe if own.probes else get_probe(names[0])
    if kind == "logistic":
        fitted = fitted.with_protocol(protocol_named(protocol or "cog-v2", sequential=sequential))
    elif protocol is not None:
        fitted = fitted.with_protocol(protocol)
    settings = parse_shots(shots) if shots else fitted.default_shots
    if keep and None not in settings:
        raise UserError("--keep saves the probe trained on all samples: add all to --shots")
    read = [read_features(path, tell=note) for path in (train, test)]
    sides = align(read[0], read[1], f"{train} and {test}")
    parts, places = {"train": sides[0], "test": sides[1]}, {"train": train, "test": test}
    features = probed_features(backbone, domain, parts, places)
    means = Means(processes(workers))
    prepared = plan_own(features, sides[0].classes, own.probes[0] if own.probes else fitted, settings, seeds, own)
    with others_shown(out, lambda: finish_read(out, quiet=as_json)):
        done = run_prepared(prepared, out, means=means, watch=CommandWatch(means))
    if keep:
        keep_probe(prepared.jobs, sides[0], out / RESULTS, keep)
        note(f"Wrote the probe trained on all samples (first seed): {keep}")
    finish(out, done, open_=False, quiet=as_json)
    if as_json:
        notices = record_notices(done, backbone, done.domains[0])
        print_json(
            {"scores": [score.as_dict() for score in done.scores], "notices": [asdict(each) for each in notices]}
        )
