"""Keeping the linear probe of a run as a file, with which its backbone is a classifier (`unseen shifts evaluate`)."""

from collections.abc import Sequence
from pathlib import Path

from unseen.errors import UserError
from unseen.features.features import Features
from unseen.jobs.job import job_key
from unseen.jobs.probe_job import LogisticJob
from unseen.jobs.runner import read_result
from unseen.probes.sampling import stream
from unseen.probes.trainer import Trainer


def keep_probe(jobs: Sequence[LogisticJob], train: Features, results: Path, file: Path) -> None:
    """Fit the first job on all samples again, with the hyper-parameters it chose, and write the classifier to a file.

    Results have no weights: they would be many times their size, and one final fit gives them back.

    Args:
        jobs: finished ones, of which one at least is on all samples.
        train: the features that they trained on.
        results: folder of results.
    """
    import torch

    from unseen.backbones.classifier import write_probe

    job = next(job for job in jobs if job.shots is None)
    result = read_result(results, job_key(job))
    if result is None:
        raise UserError(f"{results}: the result of the probe on all samples is gone; run the same command again")
    device = torch.device("cuda" if job.products == "float16" else "cpu")
    dtype: torch.dtype = getattr(torch, job.products)
    y = torch.from_numpy(train.y).long()
    trainer = Trainer.load(train.X, y, len(train.classes), job.protocol, device=device, dtype=dtype)
    # The final fit of `probe_settings`: on everything, from the same stream.
    pair = (float(result.values["rate"]), float(result.values["decay"]))
    (weights,) = trainer.fit([torch.arange(len(y))], [[pair]], [stream(job.seed, 4)])[0].cpu()
    write_probe(file, weights[:-1].T.contiguous(), weights[-1], train.classes)
