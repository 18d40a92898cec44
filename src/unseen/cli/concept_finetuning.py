"""`unseen concepts --finetune`: what features of a concept study are set against, the whole backbone trained."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.concept_steps import FEATURES
from unseen.cli.domains import ImageOptions, choose_levels, open_domains
from unseen.cli.output import SECONDS_BETWEEN_LINES, console, duration, note, print_table
from unseen.cli.running import finish
from unseen.errors import UserError, did_you_mean

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.images.domains import DomainImages
    from unseen.images.manifest import Manifest
    from unseen.images.source import ImageSource
    from unseen.probes.finetuning.jobs import FinetuneJob
    from unseen.runs.data import RunData


@dataclass(frozen=True)
class Training:
    """A fine-tuning, and the images it is of; `backbone` stays as it is."""

    job: "FinetuneJob"
    backbone: "Backbone"
    source: "ImageSource"
    manifest: "Manifest"


def finetune_concepts(
    run: Path,
    options: ImageOptions,
    backbone: Sequence[str] | None,
    name: Sequence[str] | None,
    load: "Callable[[Sequence[str], str, Sequence[str] | None], list[Backbone]]",
    *,
    domains: str | None,
    epochs: int,
    batch: int,
    rate: float,
    seeds: int,
    workers: int,
    dry_run: bool,
) -> None:
    """Fine-tune the backbones of a concept study on its domains: how much less do their features give?

    Levels, domains and backbones are those of the run, whose report then shows accuracy on features relative to that of
    fine-tuning (ImageNet-CoG, supplementary C.2). Images, their draw and the backbone's options are as for the run.
    Stopped, the same command goes on from the last checkpoint; run again it does nothing.

    Args:
        backbone: some of the run's; None for all.
        load: loads backbones by their ids, to a device, under names.
        workers: processes that decode, or 0.
    """
    from unseen.runs.record import LEVELS, read_run

    data = read_run(run)
    if not 1 <= seeds < 1000:
        raise UserError(f"--seeds is from 1 to 999, not {seeds}")
    if not (run / LEVELS).is_file():
        raise UserError(f"{run}: not a run of levels (no {LEVELS} in it); make one with unseen concepts")
    seen = next((domain.name for domain in data.domains if domain.seen), None)
    chosen = choose_levels(str(run / LEVELS), None, seen)
    names = _domains(data, chosen.names, domains, run)
    ids = _backbones(data, backbone, name)
    loaded = load(ids, "cpu", name if backbone else None)
    opened, _ = open_domains(chosen, names, options)
    for domain in opened:
        _refuse_other_features(run, domain, loaded)
    plan = [training for domain in opened for training in _plan(domain, loaded, epochs, batch, rate, range(seeds))]
    _show(plan, run)
    if not dry_run:
        about = f"{epochs} epochs in batches of {batch}, learning rate {rate}, {plan[0].job.arithmetic}"
        done = _train(plan, run, about, workers)
        finish(run, done, open_=False)
        _show_relative(done)


def _domains(data: "RunData", known: Sequence[str], asked: str | None, run: Path) -> tuple[str, ...]:
    """Domains that the run has features of and that levels say the concepts of."""
    from unseen.studies.concepts.plan import chosen_domains

    there = [domain.name for domain in data.domains if domain.name in known]
    if not there:
        raise UserError(
            f"{run}: it has neither levels nor seen concepts to fine-tune on; random sets are not fine-tuned on"
        )
    return chosen_domains(asked, there)


def _backbones(data: "RunData", asked: Sequence[str] | None, called: Sequence[str] | None) -> list[str]:
    """Ids of backbones to load; what they are called must be what backbones of the run are called."""
    from unseen.backbones.load import default_label

    names = [backbone.name for backbone in data.backbones]
    if not asked and any(":" not in name for name in names):
        other = next(name for name in names if ":" not in name)
        raise UserError(
            f"{other} is no id of a backbone; say which it is: --backbone timm:resnet50@FILE --name {other}"
        )
    for label in called or [default_label(name) if ":" in name else name for name in asked or ()]:
        if label not in names:
            hint = did_you_mean(label, names) or f"; it has {', '.join(names)}"
            raise UserError(f"the run has no backbone '{label}'{hint}")
    return list(asked or names)


def _refuse_other_features(run: Path, domain: "DomainImages", backbones: "Sequence[Backbone]") -> None:
    """Refuse images or backbones that are not those of the features in the run, as far as these are there."""
    import json
    from dataclasses import asdict

    from unseen.studies.concepts.features import SIDES, stores_in

    known = {split: _known(*domain.sides[split], split) for split in SIDES}
    stores = [store for store in stores_in(run / FEATURES / domain.name) if store.split in known]
    for label, spec in ((backbone.label, backbone.spec) for backbone in backbones):
        own = [store for store in stores if store.backbone == label]
        if not own:
            note(f"{domain.name}: no features of {label} in {run} to check that images and weights are the same")
        # What was read from a store went through JSON, where a tuple becomes a list.
        wanted = json.loads(json.dumps(asdict(spec)))
        for store in own:
            if any(store.about.get(name, value) != value for name, value in known[str(store.split)].items()):
                raise UserError(
                    f"{store.path}: the {store.split} features of {domain.name} are of other images; give those of the "
                    "run, drawn in the same way (--images, --imagenet-1k, --splits, --variant)"
                )
            if store.about["backbone"] != wanted:
                other = [name for name in wanted if store.about["backbone"].get(name) != wanted[name]]
                what = "weights" if "digest" in other else ", ".join(other)
                raise UserError(
                    f"{store.path}: made with other {what} than {label} has now; give the options of the run "
                    "(--checkpoint, --pool, --layer, --size, --weights, --normalize, --preprocessing)"
                )


def _known(source: "ImageSource", manifest: "Manifest", split: str) -> dict[str, str]:
    """What a store of features says of its images, as it would be of these: their names and what some of them show."""
    from unseen.features.fingerprint import fingerprint

    images = fingerprint(source, manifest.numbers(source, split))
    return {"manifest": manifest.content_hash, "images": images}


def _plan(
    domain: "DomainImages", backbones: "Sequence[Backbone]", epochs: int, batch: int, rate: float, seeds: range
) -> list[Training]:
    from unseen.features.fingerprint import names_and_pixels
    from unseen.studies.concepts.features import SIDES
    from unseen.studies.concepts.finetune import plan_reference, reference_protocol
    from unseen.studies.concepts.study import STUDY

    source, manifest = _together(domain)
    images = names_and_pixels(source, manifest, SIDES)
    protocol = reference_protocol(domain.rows["train"], epochs=epochs, batch=batch, rate=rate)
    jobs = [
        (plan_reference(STUDY, each, domain.name, images, protocol, seed=seed), each)
        for each in backbones
        for seed in seeds
    ]
    return [Training(job, each, source, manifest) for job, each in jobs]


def _together(domain: "DomainImages") -> "tuple[ImageSource, Manifest]":
    """Training and test images in one manifest; those of ImageNet-1K are in two places."""
    from unseen.images.joined import joined_images
    from unseen.images.manifest import Manifest
    from unseen.studies.concepts.features import SIDES

    (source, manifest), (tested, _) = (domain.sides[split] for split in SIDES)
    if source is tested:
        return source, manifest
    joined = joined_images({"train": source, "test": tested})
    return joined, Manifest(joined.entries, ["train"] * len(source.entries) + ["test"] * len(tested.entries))


def _show(plan: Sequence[Training], run: Path) -> None:
    """The trainings, and how long those that are not done will take, checkpoints not counted."""
    from unseen.device import default_device
    from unseen.runs.results import RESULTS, missing
    from unseen.studies.finetuning import step_seconds

    device = default_device()
    left = missing([training.job for training in plan], run / RESULTS)
    rows, seconds = [], 0.0
    measured: dict[str, float] = {}
    for training in plan:
        job, parts = training.job, training.manifest.splits
        if job in left:
            if job.backbone not in measured:
                measured[job.backbone] = step_seconds(training.backbone, job.protocol.batch, device)
            seconds += job.protocol.steps * measured[job.backbone]
        counts = [f"{sum(part == split for part in parts):,}" for split in ("train", "test")]
        state = "to do" if job in left else "done"
        rows.append((job.domain, job.backbone, job.seed, *counts, f"{job.protocol.steps:,}", state))
    columns = ("domain", "backbone", "seed", "training images", "test images", "steps", "state")
    print_table("Fine-tuning", columns, rows, columns[2:6])
    if left:
        console().print(f"\nAbout {duration(seconds)} of training on {device}, beside decoding.")


def _train(plan: Sequence[Training], run: Path, about: str, workers: int) -> "RunData":
    """Train what is missing, and return the run with the trainings and their scores.

    They are written into the run when the first of them has a result: from then on another rate or number of epochs
    would be another reference under the same name, and is refused. A first one that diverged leaves the run as it was.
    """
    from copy import deepcopy
    from dataclasses import replace

    from unseen.runs.job import job_key
    from unseen.runs.record import add_jobs, refuse_other_run, with_scores
    from unseen.runs.results import RESULTS
    from unseen.studies.concepts.finetune import run_reference

    provenance = {"fine-tuning": about}
    refuse_other_run(run, provenance)
    for training in plan:
        job, backbone = training.job, training.backbone
        fresh = replace(backbone, module=deepcopy(backbone.module))
        run_reference(job, fresh, training.source, training.manifest, run / RESULTS, workers=workers, watch=_watch(job))
        data, keys = add_jobs(run, [job_key(each.job) for each in plan], provenance)
    return with_scores(run, data, keys)


def _show_relative(data: "RunData") -> None:
    from unseen.studies.concepts.finetune import relative_to_finetuned

    tuned = [score for score in data.scores if score.probe == "fine-tuned"]
    table = relative_to_finetuned([score for score in data.scores if score.probe == "logistic"], tuned)
    whole = table[table["shots"] == "all"]
    columns = ("backbone", "domain", "features", "fine-tuned", "features relative to it")
    rows = [
        (row.backbone, row.domain, f"{100 * row.mean:.1f}", f"{100 * row.finetuned:.1f}", f"{100 * row.relative:+.1f}")
        for row in whole.itertuples()
    ]
    console().print()
    print_table("Top-1 on all samples, percent", columns, rows, columns[2:])


def _watch(job: "FinetuneJob") -> Callable[[int], None]:
    """Prints how far a training is, every few seconds."""
    begun = last = time.monotonic()
    first: int | None = None

    def show(step: int) -> None:
        nonlocal last, first
        now = time.monotonic()
        if first is None:  # a training that was stopped begins at its checkpoint
            first = step
        elif now - last > SECONDS_BETWEEN_LINES:
            left = duration((job.protocol.steps - step) * (now - begun) / (step - first))
            note(f"{job.domain}, {job.backbone}: step {step:,} of {job.protocol.steps:,}, {left} left")
            last = now

    return show
