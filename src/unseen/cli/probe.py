"""`unseen probe`: your own features."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.options import OwnMetricsOption
from unseen.cli.output import Json, note, print_json
from unseen.cli.probe_by_name import probe_by_name, refuse_logistic_options
from unseen.cli.running import WorkersOption, finish, processes
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
    """Train and test a probe on your own features. Default: logistic regression with searched hyper-parameters."""
    for path in (train, test):  # before PyTorch is imported
        if not path.exists():
            raise UserError(f"{path}: no such file or folder")
    if kind != "logistic":
        refuse_logistic_options(kind, sequential=sequential, keep=keep is not None, workers=workers is not None)
        return probe_by_name(
            kind, (train, test), protocol, shots, seeds, (backbone, domain), out, metric or [], as_json
        )
    from dataclasses import asdict

    from unseen.exchange.export import record_notices
    from unseen.features.features import align
    from unseen.features.readers import read_features
    from unseen.probes.by_name.logistic import LogisticJob
    from unseen.probes.protocol import protocol_named
    from unseen.runs.results import RESULTS
    from unseen.runs.shots import parse_shots
    from unseen.studies.final_classifier import keep_probe
    from unseen.studies.own_code import chosen_code
    from unseen.studies.own_features import plan_own
    from unseen.studies.probing import pair_from_features
    from unseen.studies.study import run_prepared

    chosen = protocol_named(protocol or "cog-v2", sequential=sequential)
    settings = parse_shots(shots or ["all"])
    if keep and None not in settings:
        raise UserError("--keep saves the probe trained on all samples: add all to --shots")
    read = [read_features(path, tell=note) for path in (train, test)]
    sides = align(read[0], read[1], f"{train} and {test}")
    pair = pair_from_features(backbone, domain, *sides, (train, test))
    means = Means(processes(workers))
    _, own = chosen_code([], metric or [], note)
    found = plan_own(pair, sides[0].classes, chosen, settings, seeds, own)
    done = run_prepared(found, out, means=means, watch=CommandWatch(means))
    if keep:
        keep_probe([job for job in found.jobs if isinstance(job, LogisticJob)], sides[0], out / RESULTS, keep)
        note(f"Wrote the probe trained on all samples (first seed): {keep}")
    finish(out, done, open_=False, quiet=as_json)
    if as_json:
        notices = record_notices(done, backbone, done.domains[0])
        print_json(
            {"scores": [score.as_dict() for score in done.scores], "notices": [asdict(each) for each in notices]}
        )
    return None
