"""Run folders in the true format: with results that were made up, or of probes of features in files."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hit_runs import Hits, fit_with_hits

from studies import run_of, study_of
from unseen.papers.comparability import ScoredData, published_domain
from unseen.papers.concept_generalization import DOMAINS
from unseen.probes.by_name.logistic import Logistic
from unseen.probes.job import Fit, Job, fits_kept
from unseen.probes.protocol import COG_V2
from unseen.runs.data import Backbone, Domain, RunData
from unseen.runs.executors.here import run_here
from unseen.runs.notices import Notice
from unseen.runs.record import write_run
from unseen.runs.results import RESULTS
from unseen.runs.setup import ProtocolUsed
from unseen.studies.given import FeatureFiles


def whole_data(backbone: str, domain: str, source: str = "cog-v2", **changes: Any) -> ScoredData:
    """What the published numbers of a domain are of, as if a run had been of the authors' own images."""
    printed = published_domain(source, domain)
    assert printed is not None
    images = {part.splits[0]: part.images for part in printed.parts}
    return replace(ScoredData(backbone, domain, "cog-v2", printed.classes, images, "given"), **changes)


def logistic_job(backbone: str, domain: str, shots: int | None = None, seed: int = 0) -> Job:
    """A logistic regression under the paper's protocol on features that do not exist."""
    probe, reads = Logistic(COG_V2, "float32"), {"train": "train", "test": "test"}
    return Job(Logistic.name, Logistic.revision, backbone, domain, reads, probe.described, shots, seed)


def write_concept_run(
    folder: Path,
    backbones: Sequence[Backbone],
    accuracy: Callable[[str, str, int], float],
    *,
    domains: Sequence[str] = DOMAINS,
    shots: int | None = None,
    published: str = "cog-v2",
    notices: Sequence[Notice] = (),
    seeds: int = 3,
    hits: Hits | None = None,
) -> Path:
    """A run with some seeds; `accuracy` gives the top-1 of a backbone on a domain with a seed.

    With `hits`, results keep them, and the top-1 is their mean.
    """
    jobs = [
        logistic_job(backbone.name, domain, shots, seed)
        for backbone in backbones
        for domain in domains
        for seed in range(seeds)
    ]

    def work(job: Job) -> dict[str, Any]:
        if hits is not None:
            return fits_kept([fit_with_hits(job, hits(job.backbone, job.dataset, job.seed))])
        value = accuracy(job.backbone, job.dataset, job.seed)
        return fits_kept([Fit("logistic", job.shots, job.seed, [("top1", value), ("top5", min(1.0, value + 0.2))])])

    scored = [whole_data(each.name, domain) for each in backbones for domain in domains if domain in DOMAINS]
    data = RunData(
        title="Concept generalization",
        scores=(),
        domains=[Domain(name, name.upper(), seen=name == "in1k") for name in domains],
        backbones=list(backbones),
        baseline=backbones[0].name,
        published=published,
        told=notices,
        protocols=[ProtocolUsed.of("logistic", COG_V2)],
        scored=scored,
    )
    write_run(folder, data, [job.key for job in jobs])
    list(run_here(jobs, folder / RESULTS, work))
    return folder


def probe_files(train: Path, test: Path, out: Path, *, backbone: str, domain: str, **keys: Any) -> RunData:
    """The run of a probe of features in files, by default of the shortest logistic regression on all samples."""
    settings = {"probes": ["logistic"], "shots": ["all"], "logistic": {"protocol": "cog-v2-short"}, **keys}
    return run_of(study_of(**settings), out, features=FeatureFiles(backbone, domain, {"train": train, "test": test}))
