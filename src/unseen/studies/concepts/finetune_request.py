"""Fine-tuning as a part of a concept study: the backbones of a run, trained on its domains, as a reference.

Levels, domains and backbones are those of the run. Its page then shows accuracy on frozen features relative to
fine-tuning (ImageNet-CoG, supplementary C.2).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from unseen.backbones.backbone import Backbone
from unseen.backbones.load import default_label
from unseen.device import default_device
from unseen.errors import UserError, did_you_mean
from unseen.extension.own_code import runs_code
from unseen.features.about import BackboneAbout
from unseen.features.fingerprint import fingerprint, names_and_pixels
from unseen.images.joined import joined_images
from unseen.images.manifest import Manifest
from unseen.images.open_dataset import OpenDataset
from unseen.images.source import ImageSource
from unseen.ontology.levels_hash import levels_hash
from unseen.probes.finetuning.jobs import protocol_of_training
from unseen.probes.job import Job
from unseen.runs.data import RunData
from unseen.runs.execute import alone, even
from unseen.runs.executors import spread_or
from unseen.runs.executors.grouped import run_groups
from unseen.runs.machine import decoders_each
from unseen.runs.means import Means
from unseen.runs.parts import loads
from unseen.runs.record import LEVELS, read_record, refuse_other_run, with_protocols
from unseen.runs.results import RESULTS, missing
from unseen.runs.sent_backbone import SentBackbone, sent_backbones
from unseen.runs.setup import ProtocolUsed, Setting, Setup
from unseen.runs.shots import seed_count
from unseen.studies.concepts.chosen import ChosenLevels, Names, choose_levels, chosen_domains
from unseen.studies.concepts.features import SIDES, stores_in
from unseen.studies.concepts.finetune import plan_reference, reference_protocol, run_reference
from unseen.studies.concepts.images import ImagePlaces, open_domains
from unseen.studies.features import FEATURES
from unseen.studies.finetuning import Steps, training_seconds
from unseen.studies.study import Plan, Prepared, Silent, Watch


@dataclass(frozen=True, eq=False)
class Training:
    """A fine-tuning job and its images; `backbone` is not changed."""

    job: Job
    backbone: Backbone
    source: ImageSource
    manifest: Manifest


@dataclass(frozen=True, eq=False)
class Trains:
    """Runs fine-tuning jobs; images are opened and backbones are loaded once. It is picklable.

    Attributes:
        images: images by domain.
        folder: folder of results.
        workers: processes that decode images.
    """

    images: Mapping[str, tuple[ImageSource, Manifest]]
    backbones: Mapping[str, SentBackbone]
    folder: Path
    workers: int
    watch: Watch

    def __call__(self, jobs: Sequence[Job], /) -> Iterator[Job]:
        for job in jobs:
            found, (source, manifest) = self.backbones[job.backbone].loaded("cpu"), self.images[job.dataset]
            backbone = replace(found, module=deepcopy(found.module))
            shown = self.watch.stepping(f"{job.dataset}, {job.backbone}", protocol_of_training(job).steps)
            run_reference(job, backbone, source, manifest, self.folder, workers=self.workers, watch=shown)
            yield job


@dataclass(frozen=True, eq=False)
class FinetuneRequest:
    """Trainings that are added to a run.

    Attributes:
        run: the record of the run, without its scores.
        setup: everything that determines the trainings.
    """

    run: RunData
    trainings: Sequence[Training]
    setup: Setup

    @property
    def jobs(self) -> list[Job]:
        return [training.job for training in self.trainings]

    def plan(self, out: Path, means: Means) -> Plan:
        """The trainings, with the estimated time of the missing ones without decoding."""
        refuse_other_run(out, self.setup)
        left = missing(self.jobs, out / RESULTS)
        parts = [
            {
                "domain": each.job.dataset,
                "backbone": each.job.backbone,
                "seed": each.job.seed,
                **{f"{split} images": sum(part == split for part in each.manifest.splits) for split in SIDES},
                "steps": protocol_of_training(each.job).steps,
                "state": "to do" if each.job in left else "done",
            }
            for each in self.trainings
        ]
        return Plan(
            "Fine-tuning",
            parts,
            len(self.jobs),
            len(left),
            probing=self.seconds(self.jobs, out / RESULTS, means),
            loads=loads(self.jobs, left),
        )

    def prepare(self, out: Path, means: Means, watch: Watch) -> Prepared:
        """The trainings as jobs of the run; nothing is extracted."""

        def work(jobs: Sequence[Job], results: Path, means: Means) -> Iterator[Job]:
            images = {each.job.dataset: (each.source, each.manifest) for each in self.trainings}
            backbones = sent_backbones(each.backbone for each in self.trainings)
            trains = Trains(images, backbones, results, decoders_each(means), watch)
            left = missing(jobs, results)
            return spread_or(means, run_groups)(alone(left), trains, even) if left else iter(())

        run = replace(
            self.run,
            protocols=with_protocols(self.run.protocols, self.setup.protocols),
            backbones=[
                replace(each, finetuning=self.setup.finetunings.get(each.name, each.finetuning))
                for each in self.run.backbones
            ],
        )
        return Prepared(run, self.jobs, work, self.seconds)

    def seconds(self, jobs: Sequence[Job], results: Path, means: Means) -> float:
        """Estimated seconds of the missing trainings."""
        left = missing(jobs, results)
        steps = (
            Steps(each.backbone, protocol_of_training(each.job).batch, protocol_of_training(each.job).steps)
            for each in self.trainings
            if each.job in left
        )
        return training_seconds(steps, default_device()) / means.places


def finetune_request(
    run: Path,
    places: ImagePlaces,
    load: Callable[[Sequence[str], bool], list[Backbone]],
    *,
    backbones: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    domains: Names = None,
    epochs: int = 30,
    batch: int = 256,
    rate: float = 0.01,
    seeds: int = 1,
    levels: Path | None = None,
    watch: Watch | None = None,
) -> FinetuneRequest:
    """Fine-tune backbones of a run on its domains; images and their splits must be those of the run.

    Args:
        places: the images.
        load: loads backbones by their ids, with the given names if its second argument is true.
        backbones, names: ids of some backbones of the run, and their names in the run; None for all.
        levels: the file of the user's own data, if the run is on such data.
    """
    told, count = watch or Silent(), seed_count(seeds)
    data, _ = read_record(run)
    chosen = _levels(data, run) if levels is None else _own_levels(data, run, levels, told)
    wanted = _domains(data, chosen, domains, run)
    ids = _backbones(data, backbones, names)
    loaded = load(ids, bool(backbones))
    opened, _ = open_domains(chosen, wanted, places, told)
    for domain in opened:
        _refuse_other_features(run, domain, loaded, told)
    trainings = [
        training for domain in opened for training in _trainings(domain, loaded, epochs, batch, rate, range(count))
    ]
    job = trainings[0].job
    settings: dict[str, Setting] = {"epochs": epochs, "batch": batch, "rate": rate, "arithmetic": job.arithmetic}
    setup = Setup(
        protocols=[ProtocolUsed("fine-tuned", protocol_of_training(job).name, settings)],
        finetunings={each.label: BackboneAbout.of(each.spec) for each in loaded},
    )
    return FinetuneRequest(data, trainings, setup)


def _own_levels(data: RunData, run: Path, file: Path, told: Watch) -> ChosenLevels:
    chosen = choose_levels(file, tell=told.tell)
    if data.levels is None or data.levels.hash != levels_hash(chosen.levels):
        raise UserError(
            f"{file}: its domains are not those of the run in {run}; give the file that the run was made with"
        )
    return chosen


def _levels(data: RunData, run: Path) -> ChosenLevels:
    if not (run / LEVELS).is_file():
        raise UserError(f"{run}: not a run of levels (it has no {LEVELS}); make one with unseen concepts")
    seen = next((domain.name for domain in data.domains if domain.seen), None)
    return choose_levels(run / LEVELS, seen=seen)


def _domains(data: RunData, chosen: ChosenLevels, asked: Names, run: Path) -> tuple[str, ...]:
    """Domains that the run has features of and that are defined by its levels."""
    there = [domain.name for domain in data.domains if domain.name in chosen.names]
    if not there:
        raise UserError(f"{run}: has neither levels nor seen concepts; fine-tuning on random sets is not supported")
    return chosen_domains(asked, there)


def _backbones(data: RunData, asked: Sequence[str] | None, called: Sequence[str] | None) -> list[str]:
    """Ids of the backbones to load; their names must be those of backbones of the run."""
    names = [backbone.name for backbone in data.backbones]
    code = next((name for name in names if runs_code(name)), None)
    if not asked and code is not None:  # a folder may come from somebody else
        raise UserError(f"{code} is code that would run here; if you trust it, add --backbone {code}")
    if not asked and any(":" not in name for name in names):
        other = next(name for name in names if ":" not in name)
        raise UserError(
            f"{other} is not the id of a backbone; give its id: --backbone timm:resnet50@FILE --name {other}"
        )
    for label in called or [default_label(name) if ":" in name or runs_code(name) else name for name in asked or ()]:
        if label not in names:
            hint = did_you_mean(label, names) or f"; it has {', '.join(names)}"
            raise UserError(f"the run has no backbone '{label}'{hint}")
    return list(asked or names)


def _refuse_other_features(run: Path, domain: OpenDataset, backbones: Sequence[Backbone], watch: Watch) -> None:
    """Refuse images or backbones that differ from those of the features in the run, if these exist."""
    known = {split: _known(*domain.part(split), split) for split in SIDES}
    stores = [store for store in stores_in(run / FEATURES / domain.name) if store.split in known]
    for label, spec in ((backbone.label, backbone.spec) for backbone in backbones):
        own = [store for store in stores if store.backbone == label]
        if not own:
            watch.tell(f"{domain.name}: no features of {label} in {run} to check that images and weights are the same")
        # Descriptions of stores went through JSON, which turns tuples into lists.
        wanted = json.loads(json.dumps(asdict(spec)))
        for store in own:
            if any(store.about.get(name, value) != value for name, value in known[str(store.split)].items()):
                raise UserError(
                    f"{store.path}: the {store.split} features of {domain.name} were extracted from other images; give "
                    "the images and splits of the run (--images, --imagenet-1k, --splits, --variant)"
                )
            if store.about["backbone"] != wanted:
                other = [name for name in wanted if store.about["backbone"].get(name) != wanted[name]]
                what = "weights" if "digest" in other else ", ".join(other)
                raise UserError(
                    f"{store.path}: extracted with other {what} than {label} has now; give the options of the run "
                    "(--checkpoint, --pool, --layer, --size, --weights, --normalize, --preprocessing)"
                )


def _known(source: ImageSource, manifest: Manifest, split: str) -> dict[str, str]:
    """The entries about images in a store's description, computed for these images: hashes of names and pixels."""
    return {"manifest": manifest.content_hash, "images": fingerprint(source, manifest.numbers(source, split))}


def _trainings(
    domain: OpenDataset, backbones: Sequence[Backbone], epochs: int, batch: int, rate: float, seeds: range
) -> list[Training]:
    source, manifest = _together(domain)
    images = names_and_pixels(source, manifest, SIDES)
    protocol = reference_protocol(domain.rows["train"], epochs=epochs, batch=batch, rate=rate)
    return [
        Training(plan_reference(each, domain.name, images, protocol, seed=seed), each, source, manifest)
        for each in backbones
        for seed in seeds
    ]


def _together(domain: OpenDataset) -> tuple[ImageSource, Manifest]:
    """Training and test images in one manifest; those of ImageNet-1K come from two sources."""
    (source, manifest), (tested, _) = (domain.part(split) for split in SIDES)
    if source is tested:
        return source, manifest
    joined = joined_images({"train": source, "test": tested})
    return joined, Manifest(joined.entries, ["train"] * len(source.entries) + ["test"] * len(tested.entries))
