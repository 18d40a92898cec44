"""The sources of the features of a concept study: images, existing features, or features of other levels.

Each source plans the work of the study (`plan`) and provides the features (`features`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from unseen.backbones.backbone import Backbone
from unseen.errors import UserError, option
from unseen.features.checked import Tell
from unseen.features.disk import free_disk
from unseen.features.settings import Settings, checked_device
from unseen.images.open_dataset import OpenDataset
from unseen.images.splits import COG
from unseen.probes.by_name.logistic import Logistic
from unseen.runs.extraction import refuse_unfinished
from unseen.runs.means import ALONE, Means
from unseen.runs.notices import Notice
from unseen.runs.parts import loads
from unseen.runs.record import refuse_other_run
from unseen.runs.results import RESULTS, missing
from unseen.runs.setup import ImagesUsed, SplitsUsed
from unseen.studies.concepts.features import Place, Places, extract_domains, feature_pairs, find_features
from unseen.studies.concepts.plan import Asked, expected_pairs, extraction_costs, probing_memory
from unseen.studies.concepts.regroup import regroup, regrouped_pairs
from unseen.studies.concepts.study import image_notices, images_used, study_jobs, study_run, study_setup
from unseen.studies.concepts.variants import PLAIN, split_rule
from unseen.studies.features import FEATURES, damaged_images, read_about
from unseen.studies.probed_features import ProbedFeatures
from unseen.studies.probing import episode_notices, estimate, job_cost, plan, skipped_shots
from unseen.studies.study import Cell, Plan, Silent, Unit, Watch
from unseen.text.words import counted


@dataclass(frozen=True)
class Found:
    """The features of a study.

    Attributes:
        pairs: features of all backbones and domains.
        images, splits: the sources of the images, and how those of the levels were split, if known.
        notices: notices for the reader.
    """

    places: Places
    pairs: Sequence[ProbedFeatures]
    images: Sequence[ImagesUsed] = ()
    splits: SplitsUsed | None = None
    notices: Sequence[Notice] = ()


class Source(Protocol):
    """A source of features."""

    def plan(self, asked: Asked, out: Path, means: Means) -> Plan:
        """Plan the work in a folder; a folder with another run is refused."""

    def features(self, asked: Asked, out: Path, watch: Watch, means: Means = ALONE) -> Found:
        """The features; missing ones are extracted."""


@dataclass(frozen=True)
class GivenFeatures:
    """Existing features in their own grouping."""

    found: Found

    @classmethod
    def below(
        cls,
        folder: Path,
        asked: Asked,
        backbones: Sequence[str],
        splits: SplitsUsed | None = None,
        tell: Tell | None = None,
    ) -> "GivenFeatures":
        """The features of the domains of a study in the domain folders of a folder."""
        if split_rule(asked.variant) != COG:
            raise UserError(
                f"{option('variant', asked.variant)} draws other images than those of the features; regroup them "
                f"({option('regroup', True)})"
            )
        places = find_features(folder, asked.domains, backbones)
        return cls(Found(places, all_pairs(places, asked, tell), splits=splits))

    def plan(self, asked: Asked, out: Path, means: Means) -> Plan:
        places, pairs = self.found.places, self.found.pairs
        refuse_other_run(out, study_run(asked, pairs, places, splits=self.found.splits).setup)
        return _plan(asked, pairs, _parts(pairs), out, means)

    def features(self, asked: Asked, out: Path, watch: Watch, means: Means = ALONE) -> Found:
        return self.found


@dataclass(frozen=True)
class RegroupedFeatures:
    """Features of the same concepts in other levels, which are regrouped.

    Attributes:
        splits: the splits of the images that the features were extracted from, if known.
    """

    folder: Path
    backbones: Sequence[str]
    splits: SplitsUsed | None = None

    def plan(self, asked: Asked, out: Path, means: Means) -> Plan:
        refuse_other_run(out, study_setup(asked, {}, self._drawn(asked)))
        most, seen = _most(asked), asked.seen
        pairs = [
            pair
            for name in self.backbones
            for pair in regrouped_pairs(self.folder, name, asked.concepts, out / FEATURES, most=most, seen=seen)
        ]
        return _plan(asked, pairs, _parts(pairs), out, means)

    def features(self, asked: Asked, out: Path, watch: Watch, means: Means = ALONE) -> Found:
        most, seen = _most(asked), asked.seen
        places = {
            name: regroup(self.folder, name, asked.concepts, out / FEATURES, most=most, seen=seen)
            for name in self.backbones
        }
        return Found(places, all_pairs(places, asked), splits=self._drawn(asked))

    def _drawn(self, asked: Asked) -> SplitsUsed | None:
        most = _most(asked)
        return self.splits if most is None else SplitsUsed(max_train=most)


@dataclass(frozen=True, eq=False)
class ImageFeatures:
    """Features that are extracted from images.

    Attributes:
        splits: how the images of the levels are split.
        notices: notices about skipped images and concepts.
    """

    domains: Sequence[OpenDataset]
    backbones: Sequence[Backbone]
    settings: Settings
    splits: SplitsUsed
    notices: Sequence[Notice] = ()

    def plan(self, asked: Asked, out: Path, means: Means) -> Plan:
        checked_device(self.settings)
        # Checked before hours of extraction, not after them.
        expected = {each.label: Place(out, self.settings.decides(each.spec, "", "")) for each in self.backbones}
        refuse_other_run(out, study_setup(asked, expected, self.splits))
        costs, seconds = extraction_costs(self.domains, self.backbones, out / FEATURES, self.settings, means.places)
        disk = sum(cost.missing for cost in costs)
        done = all(cost.done == cost.train + cost.test for cost in costs)  # other parts may lack theirs
        pairs = self.features(asked, out, Silent()).pairs if done else expected_pairs(self.domains, self.backbones)
        parts: list[dict[str, Cell]] = [
            {
                "domain": cost.name,
                "concepts": cost.concepts,
                "training images": cost.train,
                "test images": cost.test,
                "features": cost.bytes,
                "extracted": cost.done / (cost.train + cost.test),
            }
            for cost in costs
        ]
        units: dict[str, Unit] = {"features": "bytes", "extracted": "share"}
        return _plan(asked, pairs, parts, out, means, units, extraction=seconds, disk=disk, free=free_disk(out))

    def features(self, asked: Asked, out: Path, watch: Watch, means: Means = ALONE) -> Found:
        made: dict[str, dict[str, dict[str, Place]]] = {backbone.label: {} for backbone in self.backbones}
        folder, settings = out / FEATURES, self.settings
        stores = [*extract_domains(self.domains, self.backbones, folder, settings, watch.extracting, means)]
        refuse_unfinished([path for *_, paths in stores for path in paths], settings.part)
        for domain, split, paths in stores:
            for backbone, path in zip(self.backbones, paths, strict=True):
                made[backbone.label].setdefault(domain, {})[split] = Place(path, read_about(path))
                if sentence := damaged_images(f"{domain}, {split}", path):
                    watch.tell(sentence)
        places = {
            name: {domain: (sides["train"], sides["test"]) for domain, sides in domains.items()}
            for name, domains in made.items()
        }
        images = images_used(self.domains, asked.seen)
        notices = [*self.notices, *image_notices(images)]
        return Found(places, all_pairs(places, asked), images, self.splits, notices)


def all_pairs(places: Places, asked: Asked, tell: Tell | None = None) -> list[ProbedFeatures]:
    """Features of all backbones and domains as pairs for planning; features that do not match are refused."""
    return [pair for name, domains in places.items() for pair in feature_pairs(name, domains, asked.concepts, tell)]


def _most(asked: Asked) -> int | None:
    """Largest number of training images per concept, if the variant limits it."""
    return None if asked.variant == PLAIN else split_rule(asked.variant).max_train


def _parts(pairs: Sequence[ProbedFeatures]) -> list[dict[str, Cell]]:
    return [
        {
            "backbone": pair.backbone,
            "domain": pair.dataset,
            "concepts": pair.classes,
            "training images": pair.rows["train"],
            "test images": pair.rows["test"],
            "dimensions": pair.dimension,
        }
        for pair in pairs
    ]


def _plan(
    asked: Asked,
    pairs: Sequence[ProbedFeatures],
    parts: Sequence[Mapping[str, Cell]],
    out: Path,
    means: Means,
    units: Mapping[str, Unit] | None = None,
    *,
    extraction: float = 0.0,
    disk: int = 0,
    free: int = 0,
) -> Plan:
    jobs, results = study_jobs(asked, pairs), out / RESULTS
    todo = missing(jobs, results)
    return Plan(
        title=f"Concept generalization, levels {asked.levels.name}",
        parts=parts,
        jobs=len(jobs),
        jobs_left=len(todo),
        units=units or {},
        counting=jobs_text(asked, pairs),
        extraction=extraction,
        probing=estimate(jobs, pairs, results, means),
        disk=disk,
        free=free,
        memory=probing_memory(pairs, asked.protocol, extended=asked.extended, own=asked.own.probes) if todo else 0,
        loads=loads(jobs, todo, job_cost(pairs)),
        notices=[*skipped_shots(asked.shots, pairs), *episode_notices(pairs, asked.extended)],
    )


def jobs_text(asked: Asked, pairs: Sequence[ProbedFeatures]) -> str:
    """The number of jobs and how it is composed."""
    backbones = len({pair.backbone for pair in pairs})
    number = backbones * len(asked.domains) * len(asked.shots) * asked.seeds
    numbers = (backbones, len(asked.domains), len(asked.shots), asked.seeds)
    words = ("backbone", "domain", "setting of shots", "seed")
    factors = [counted(count, word) for count, word in zip(numbers, words, strict=True)]
    text = f"{' × '.join(factors)} = {counted(number, 'regression')}"
    fitted = len(plan(Logistic(asked.protocol), pairs, asked.shots, range(asked.seeds)))
    if fitted < number:
        text += f", of which {number - fitted:,} {'is' if number - fitted == 1 else 'are'} skipped"
    more = len(study_jobs(asked, pairs)) - fitted
    return f"{text}, and {counted(more, 'job')} of other kinds" if more else text
