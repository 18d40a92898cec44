"""`unseen probe`: your own features."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import Json, note, print_json
from unseen.cli.running import WorkersOption, finish, processes, run_missing
from unseen.errors import UserError


def probe(
    train: Annotated[Path, typer.Argument(help="Training features: .npz, .safetensors, .pth, .npy, or a store.")],
    test: Annotated[Path, typer.Argument(help="Test features.")],
    protocol: Annotated[str, typer.Option(help="cog-v2, or cog-v2-short for a quick look.")] = "cog-v2",
    shots: Annotated[str, typer.Option(help="Samples per class: numbers and 'all', with commas.")] = "all",
    seeds: Annotated[int, typer.Option(help="How many seeds.")] = 5,
    sequential: Annotated[bool, typer.Option("--sequential", help="One trial at a time, as in the paper.")] = False,
    backbone: Annotated[str, typer.Option(help="What to call these features.")] = "yours",
    domain: Annotated[str, typer.Option(help="What to call these classes.")] = "yours",
    out: Annotated[Path, typer.Option(help="Folder of the run.")] = Path("unseen-probe"),
    keep: Annotated[
        Path | None, typer.Option(help="File for the probe on all samples (.npz), a --head of unseen shifts run.")
    ] = None,
    workers: WorkersOption = None,
    as_json: Json = False,
) -> None:
    """Probe your own features: train and test a linear classifier on them, with its hyper-parameters searched."""
    from unseen.features.features import align
    from unseen.features.readers import read_features
    from unseen.runs.folder import RESULTS, with_scores
    from unseen.studies.final_classifier import keep_probe
    from unseen.studies.own_features import parse_shots, plan_own, protocol_named
    from unseen.studies.probing import job_keys, pair_from_features

    chosen = protocol_named(protocol, sequential=sequential)
    settings = parse_shots(shots)
    if keep and None not in settings:
        raise UserError("--keep is for the probe on all samples: have 'all' among the --shots")
    sides = align(read_features(train), read_features(test), f"{train} and {test}")
    pair = pair_from_features(backbone, domain, *sides, (train, test))
    count = processes(workers)
    data, jobs = plan_own(out, pair, sides[0].classes, chosen, settings, seeds)
    run_missing(jobs, [pair], out, count)
    if keep:
        keep_probe(jobs, sides[0], out / RESULTS, keep)
        note(f"the probe on all samples, of the first seed, is kept in {keep}")
    # Read by these jobs' own keys: another run may have been planned in the same folder meanwhile.
    done = with_scores(out, data, job_keys(jobs))
    if as_json:
        print_json([score.as_dict() for score in done.scores])
    else:
        finish(out, done, open_=False)
