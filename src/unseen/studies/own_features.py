"""Probing a user's own features: from files on the command line, or from arrays in Python."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from unseen.errors import UserError, did_you_mean
from unseen.jobs.probe_job import LogisticJob
from unseen.probes.logistic import COG_V2, COG_V2_SHORT, LogisticProtocol, probe_logistic
from unseen.report.run_data import Backbone, Domain, RunData
from unseen.results.score import Score
from unseen.results.tables import score_table, summarise
from unseen.studies.probing import FeaturePair, job_keys, plan, possible_shots
from unseen.studies.run_folder import write_run
from unseen.version import __version__

PROTOCOLS = {protocol.name: protocol for protocol in (COG_V2, COG_V2_SHORT)}


def protocol_named(name: str, *, sequential: bool = False) -> LogisticProtocol:
    """The protocol of that name; an unknown one is a user's error."""
    if name not in PROTOCOLS:
        hint = did_you_mean(name, PROTOCOLS) or f"; there are {', '.join(PROTOCOLS)}"
        raise UserError(f"no protocol '{name}'{hint}")
    return PROTOCOLS[name].sequential if sequential else PROTOCOLS[name]


def parse_shots(text: str) -> tuple[int | None, ...]:
    """`1,8,all` as (1, 8, None)."""
    shots: list[int | None] = []
    for word in filter(None, (part.strip() for part in text.split(","))):
        if word != "all" and not (word.isdecimal() and int(word) > 0):
            raise UserError(f"--shots takes numbers from 1 and 'all', with commas between, not '{word}'")
        shots.append(None if word == "all" else int(word))
    if not shots:
        raise UserError("--shots is empty; say for instance --shots 1,8,all")
    return tuple(dict.fromkeys(shots))


def plan_own(
    folder: Path, pair: FeaturePair, protocol: LogisticProtocol, shots: Sequence[int | None], seeds: int
) -> list[LogisticJob]:
    """Write down a run over one pair of features and return its jobs; shots that no class can fill are refused."""
    if seeds < 1:
        raise UserError(f"--seeds is at least 1, not {seeds}")
    possible = possible_shots(shots, pair.samples, protocol.validation)
    notice = ""
    if set(possible) != set(shots):
        short = ", ".join(str(number) for number in shots if number not in possible)
        notice = f"A class has only {pair.samples} training samples: with {short} shots it takes part with fewer."
    if protocol.name != COG_V2.name:
        notice = f"A short form of the protocol ({protocol.name}). {notice}".strip()
    jobs = plan("probe", [pair], protocol, shots, range(seeds))
    data = RunData(
        title=f"{pair.backbone} on {pair.domain}",
        scores=(),
        domains=[Domain(pair.domain, pair.domain, seen=False)],
        backbones=[Backbone(pair.backbone, "yours")],
        baseline=pair.backbone,
        notice=notice,
        provenance={
            "protocol": f"{protocol.name}: {protocol.trials} trials of {protocol.epochs} epochs, {seeds} seeds, "
            f"{'one trial at a time' if protocol.round_size == 1 else f'rounds of {protocol.round_size} trials'}",
            "features": f"{pair.classes} classes, {pair.dimension} dimensions",
            "training features": f"{Path(pair.train_place).name}, {pair.train}",
            "test features": f"{Path(pair.test_place).name}, {pair.test}",
            "unseen": __version__,
        },
    )
    write_run(folder, data, job_keys(jobs))
    return jobs


@dataclass(frozen=True)
class Probed:
    """Scores of a probe, one per shots, seed and metric."""

    scores: tuple[Score, ...]

    def table(self) -> pd.DataFrame:
        """One row per score."""
        return score_table(self.scores)

    def summary(self) -> pd.DataFrame:
        """Mean, deviation and interval over seeds."""
        return summarise(self.table())


def probe_arrays(
    X_train: Any,
    y_train: Any,
    X_test: Any,
    y_test: Any,
    *,
    protocol: str | LogisticProtocol = "cog-v2",
    shots: Sequence[int | None] = (None,),
    seeds: Iterable[int] = range(5),
    device: str | None = None,
) -> Probed:
    """Probe features in memory; see `unseen.probe`."""
    import torch

    chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
    place = device or ("cuda" if torch.cuda.is_available() else "cpu")
    tensors = [torch.as_tensor(np.asarray(array)) for array in (X_train, y_train, X_test, y_test)]
    scores = []
    for seed in seeds:
        for number in shots:
            found = probe_logistic(*tensors, protocol=chosen, shots=number, seed=seed, device=place)
            for metric, value in (("top1", found.top1), ("top5", found.top5)):
                scores.append(Score("probe", chosen.name, "yours", "yours", "logistic", number, seed, metric, value))
    return Probed(tuple(scores))
