"""Probing a user's own features: from files on the command line, or from arrays in Python."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from pathlib import Path

from unseen.errors import UserError
from unseen.probes.by_name.logistic import LogisticJob
from unseen.probes.protocol import COG_V2, LogisticProtocol
from unseen.probes.protocol import protocol_named as protocol_named  # noqa: PLC0414 - commands take it from here
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.notices import notice
from unseen.runs.record import write_run
from unseen.studies.probing import FeaturePair, job_keys, plan, possible_shots
from unseen.version import __version__

Shots = int | str | None | Sequence[int | str | None]
"""As callers in Python give them: 8, "all", None for all, or a list of such."""


def parse_shots(text: str, option: str = "--shots") -> tuple[int | None, ...]:
    """`1,8,all` as (1, 8, None).

    Args:
        option: what errors call it.
    """
    shots: list[int | None] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        if word != "all" and not (word.isdecimal() and int(word) > 0):
            raise UserError(f"{option} takes numbers from 1 and 'all', with commas between, not '{word}'")
        shots.append(None if word == "all" else int(word))
    if not shots:
        raise UserError(f"{option} is empty; say for instance 1,8,all")
    return tuple(dict.fromkeys(shots))


def shots_in_python(shots: Shots) -> tuple[int | None, ...]:
    """What a caller in Python may say: 8, "all", "1,8,all", None for all, or a list of such."""
    if isinstance(shots, str):
        return parse_shots(shots, "shots")
    found: list[int | None] = []
    for number in shots if isinstance(shots, Iterable) else [shots]:
        if isinstance(number, str):
            found += parse_shots(number, "shots")
        elif number is None:
            found.append(None)
        elif isinstance(number, Integral) and not isinstance(number, bool) and number > 0:
            found.append(int(number))
        else:
            raise UserError(f"shots are whole numbers of at least 1, or 'all', not {number!r}")
    if not found:
        raise UserError("shots is empty; say for instance [1, 8, 'all']")
    return tuple(dict.fromkeys(found))


def seeds_in_python(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """The seeds themselves, or as many as a number says, from 0 on, as `--seeds` means it."""
    if isinstance(seeds, Integral) and not isinstance(seeds, bool):
        if seeds < 1:
            raise UserError(f"seeds is how many there are, at least 1, or a list of them, not {seeds}")
        return tuple(range(int(seeds)))
    numbers = list(seeds) if isinstance(seeds, Iterable) and not isinstance(seeds, str) else [seeds]
    if not numbers or not all(isinstance(n, Integral) and not isinstance(n, bool) and n >= 0 for n in numbers):
        raise UserError(f"seeds are how many there are, or a list of whole numbers of at least 0, not {seeds!r}")
    return tuple(dict.fromkeys(int(number) for number in numbers))


def plan_own(
    folder: Path,
    pair: FeaturePair,
    concepts: Sequence[str],
    protocol: LogisticProtocol,
    shots: Sequence[int | None],
    seeds: int,
) -> tuple[RunData, list[LogisticJob]]:
    """Write down a run over one pair of features; returns it and its jobs."""
    if seeds < 1:
        raise UserError(f"--seeds is at least 1, not {seeds}")
    if pair.classes < 2:
        raise UserError("the features are of a single class: a classifier needs at least two")
    if pair.train == pair.test:
        raise UserError("training and test features are the same; give a test set that was not trained on")
    possible = possible_shots(shots, pair.samples, protocol.validation)
    said = []
    if set(possible) != set(shots):
        short = ", ".join(str(number) for number in shots if number not in possible)
        said.append(notice("few-samples", samples=pair.samples, shots=short))
    if protocol.name != COG_V2.name:
        trials, epochs, starts = protocol.trials, protocol.epochs, protocol.starts
        said.insert(0, notice("short-search", protocol=protocol.name, trials=trials, epochs=epochs, starts=starts))
    jobs = plan("probe", [pair], protocol, shots, range(seeds))
    data = RunData(
        title=f"{pair.backbone} on {pair.domain}",
        scores=(),
        domains=[Domain(pair.domain, pair.domain, concepts=concepts)],
        backbones=[Backbone(pair.backbone, "yours")],
        baseline=pair.backbone,
        told=said,
        provenance={
            "protocol": f"{protocol.name}: {protocol.trials} trials of {protocol.epochs} epochs, {seeds} seeds, "
            f"{'one trial at a time' if protocol.round_size == 1 else f'rounds of {protocol.round_size} trials'}",
            "features": f"{pair.classes} classes, {pair.dimension} dimensions",
            "training features": f"{Path(pair.train_place).name}, {pair.train}",
            "test features": f"{Path(pair.test_place).name}, {pair.test}",
            "unseen": __version__,
        },
        flaws=pair.flaws,
        study="probe",
    )
    write_run(folder, data, job_keys(jobs))
    return data, jobs
