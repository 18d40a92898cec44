"""The contents of a run, from which its report is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from unseen.backbones.training_data import same_data
from unseen.features.about import BackboneAbout
from unseen.features.costs import BackboneCost
from unseen.metrics.catalogue import METRICS, Metric
from unseen.papers.comparability import Comparability, ScoredData, compare, published_domain
from unseen.probes.own import OWN, OWN_METRIC
from unseen.runs.cautions import Caution
from unseen.runs.flaws import Flaw, flaw_sentences
from unseen.runs.notices import Notice, notice_text
from unseen.runs.score import Score
from unseen.runs.setup import Extraction, FeatureKey, ImagesUsed, LevelsUsed, ProtocolUsed, Setup, SplitsUsed

if TYPE_CHECKING:
    from unseen.metrics.resampling import Interval

METRIC_FACTS = ("higher_is_better", "lower", "upper", "unit")
Axis = Literal["concepts", "tasks", "shifts", "probe"]
"""What a data set measures: unseen concepts, unseen tasks, distribution shifts, or a user's own features. It determines
the page of a run, and the runs that it can share a page with.
"""


def known_metrics(own_code: Sequence[ProtocolUsed]) -> dict[str, Metric]:
    """The metrics of the catalogue, and the user's own metrics that a run describes."""
    own = [
        Metric(each.probe, **{name: cast("Any", each.settings[name]) for name in METRIC_FACTS})
        for each in own_code
        if each.name == OWN_METRIC
    ]
    return {**METRICS, **{each.name: each for each in own}}


@dataclass(frozen=True)
class Example:
    """An example image: a PNG and its caption."""

    png: bytes
    caption: str


@dataclass(frozen=True)
class Domain:
    """A set of concepts that backbones were probed on.

    Attributes:
        classes: number of classes; 0 for the number of concepts.
        limit: largest number of images per class and split, if only a part was used for a quick look.
        licence: licence of the data set; empty if unknown.
        shifted: for a column of the shift study, whether its test set is out of distribution; None if unknown.
        axis: what it measures.
        origin: the run that it comes from, if several runs were merged.
    """

    name: str
    title: str
    seen: bool = False
    similarity: float | None = None
    concepts: Sequence[str] = ()
    examples: Sequence[Example] = ()
    classes: int = 0
    limit: int | None = None
    licence: str = ""
    shifted: bool | None = None
    axis: Axis = "concepts"
    origin: "Origin | None" = None


@dataclass(frozen=True)
class Origin:
    """The first of several merged runs that has a domain.

    Attributes:
        name: name of the domain in that run.
        run: name of the run.
        levels: levels of the run; None if unknown.
    """

    name: str
    run: str
    levels: LevelsUsed | None = None


@dataclass(frozen=True)
class Backbone:
    """A backbone of the report.

    Attributes:
        category: groups backbones and determines their colour.
        cautions: reasons why comparisons with other backbones are not fair.
        imagenet_top1: top-1 accuracy on ImageNet as stated by the user, between 0 and 1; None if not stated.
        training_data: all training data as declared by the user, otherwise those beside ImageNet-1K: names of data
            sets, or codes of `unseen.backbones.training_data`; None if unknown.
        features: everything that determines its features of whole images; None if unknown.
        patches: the same for its features of patches.
        finetuning: everything about the backbone that determines its fine-tuning; None if it was not fine-tuned.
        classifier: for a model that classifies by itself, hash of everything that determines its outputs.
        cost: what its features cost; None if unknown, as for features in a user's own file.
    """

    name: str
    category: str
    description: str = ""
    cautions: Sequence[Caution] = ()
    imagenet_top1: float | None = None
    training_data: Sequence[str] | None = None
    features: Extraction | None = None
    patches: Extraction | None = None
    finetuning: BackboneAbout | None = None
    classifier: str | None = None
    cost: BackboneCost | None = None

    def was_trained_on(self, domain: Domain) -> bool:
        """Whether a data set, or another one of the same images, is among its training data by name.

        Data that are meant to be those of the training are not asked about: seen concepts, and test sets in
        distribution.
        """
        if domain.seen or domain.shifted is False or domain.axis == "concepts":
            return False
        names = [domain.name, domain.title, *([domain.origin.name] if domain.origin else [])]
        return any(same_data(each, name) for each in self.training_data or () for name in names)


@dataclass(frozen=True)
class ConceptAccuracy:
    """The accuracy of a backbone on one concept of a domain.

    Attributes:
        similarity: similarity to the nearest seen concept; None if unknown, or if the concept itself is seen.
        correct, images: number of correctly classified test images and of all test images, summed over seeds.
    """

    backbone: str
    domain: str
    concept: str
    similarity: float | None
    correct: int
    images: int


@dataclass(frozen=True)
class ConceptHits:
    """The accuracy of one logistic regression on each concept.

    Attributes:
        shots: as in tables, `all` for all samples.
        correct, images: number of correctly classified test images and of all test images, per concept.
    """

    backbone: str
    domain: str
    shots: str
    seed: int
    concepts: tuple[str, ...]
    correct: tuple[int, ...]
    images: tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """One rule of the construction of levels: what it did, how many concepts it removed and how many were left."""

    rule: str
    removed: int
    left: int


@dataclass(frozen=True)
class Written:
    """When and with which versions, device and command a run was written.

    Attributes:
        first, last: time of the first and of the last change of its record: ISO 8601, UTC.
        versions, device: package → version, and the device, at the last change. Result files have their own versions.
        command: the command of the last change; empty for calls from Python.
    """

    first: str
    last: str
    versions: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    command: str = ""


@dataclass(frozen=True)
class RunData:
    """The contents of a run.

    Attributes:
        told: notices for the reader, for instance that the run follows a shortened protocol.
        baseline: the backbone that differences are taken from by default.
        steps: how the levels were built; empty if unknown.
        protocols: how the probes are trained, one per probe.
        levels, splits, images: the data that probes are trained and tested on, as far as known.
        seeds: seeds of the jobs; empty if they are not all known.
        remarks: label → text, additional lines of provenance for the page; nothing depends on them.
        written: None for a run that was not written yet.
        published: `cog-v2` or `cog-v1` if the levels are the published ones; empty for others.
        scored: numbers of classes and images behind the scores, from which `comparisons` follows.
        features: the features that were probed.
        concept_accuracy: accuracy on each concept with all samples; empty if the results do not have it.
        concept_hits: accuracy on each concept for every result of the logistic probe that has it.
        flaws: damaged images that were skipped, and rows of features that are all zeros.
        studies: file of a study in the folder → the keys of its jobs.
        parts: the merged runs by name, if there are several.
        folders: the folders whose results the scores are from; those of all parts of a merged run.
        packages: packages of plug-ins that a part to be recorded uses, with their versions (`written`).
    """

    title: str
    scores: Sequence[Score]
    domains: Sequence[Domain]
    backbones: Sequence[Backbone]
    baseline: str
    told: Sequence[Notice] = ()
    steps: Sequence[Step] = ()
    protocols: Sequence[ProtocolUsed] = ()
    levels: LevelsUsed | None = None
    splits: SplitsUsed | None = None
    images: Sequence[ImagesUsed] = ()
    seeds: Sequence[int] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)
    written: Written | None = None
    published: str = ""
    scored: Sequence[ScoredData] = ()
    features: Sequence[FeatureKey] = ()
    concept_accuracy: Sequence[ConceptAccuracy] = ()
    concept_hits: Sequence[ConceptHits] = ()
    flaws: Sequence[Flaw] = ()
    studies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    parts: "Sequence[tuple[str, RunData]]" = ()
    folders: Sequence[Path] = field(default=(), compare=False, repr=False)
    packages: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    @property
    def setup(self) -> Setup:
        """Everything that determines the numbers of the run, as far as known."""
        return Setup(
            protocols=self.protocols,
            levels=self.levels,
            splits=self.splits,
            images=self.images,
            extractions={each.name: each.features for each in self.backbones if each.features},
            patches={each.name: each.patches for each in self.backbones if each.patches},
            finetunings={each.name: each.finetuning for each in self.backbones if each.finetuning},
            features=self.features,
            limits={domain.name: domain.limit for domain in self.domains},
        )

    @property
    def axes(self) -> list[Axis]:
        """What its data sets measure, each once."""
        return [*dict.fromkeys(domain.axis for domain in self.domains)]

    def on_axes(self, *axes: Axis) -> "RunData":
        """The run with only those data sets that measure one of these."""
        if {*self.axes} <= {*axes}:
            return self
        domains = [each for each in self.domains if each.axis in axes]
        names, others = {each.name for each in domains}, {each.name for each in self.domains if each.axis not in axes}
        scores = [each for each in self.scores if each.domain in names]
        scored = [each for each in self.scored if each.domain in names]
        used = {each.backbone for each in scores} | {each.backbone for each in scored}
        backbones = [each for each in self.backbones if each.name in used] or self.backbones
        concepts = "concepts" in axes
        return replace(
            self,
            domains=domains,
            backbones=backbones,
            baseline=self.baseline if self.baseline in {each.name for each in backbones} else backbones[0].name,
            scores=scores,
            scored=scored,
            concept_accuracy=[each for each in self.concept_accuracy if each.domain in names],
            concept_hits=[each for each in self.concept_hits if each.domain in names],
            told=[each for each in self.told if each.domain not in others],
            images=[each for each in self.images if each.domain in names],
            features=[each for each in self.features if each.domain in names],
            flaws=[each for each in self.flaws if each.domain not in others],
            levels=self.levels if concepts else None,
            splits=self.splits if concepts else None,
            published=self.published if concepts else "",
            parts=[(name, part.on_axes(*axes)) for name, part in self.parts],
        )

    @property
    def own_code(self) -> list[ProtocolUsed]:
        """The protocols of the user's own probes and metrics, of the run or of all merged runs."""
        used = [each for _, part in self.parts for each in part.protocols] or self.protocols
        return [*{each.probe: each for each in used if each.name in {OWN, OWN_METRIC}}.values()]

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """All metrics by name: those of the catalogue and the user's own."""
        return known_metrics(self.own_code)

    @property
    def notice(self) -> str:
        """The notices of `told` as text; empty if there are none."""
        return notice_text(self.told)

    @property
    def flaw_sentences(self) -> list[str]:
        """The flaws as sentences."""
        titles = {domain.name: domain.title for domain in self.domains}
        return flaw_sentences(self.flaws, titles, [backbone.name for backbone in self.backbones])

    @property
    def notices(self) -> list[str]:
        """All notices as sentences, including those about flaws."""
        return [*filter(None, [self.notice]), *self.flaw_sentences]

    @cached_property
    def comparisons(self) -> Mapping[tuple[str, str], Comparability]:
        """(backbone, domain) → whether its scores are comparable with published ones, where there are such."""
        scored = {(each.backbone, each.domain): each for each in self.scored}
        return {
            (backbone.name, domain.name): compare(scored.get((backbone.name, domain.name)), printed)
            for domain in self.domains
            if (printed := published_domain(self.published, domain.name))
            for backbone in self.backbones
        }

    @cached_property
    def concept_intervals(self) -> "Mapping[tuple[str, str, str], Interval]":
        """(backbone, domain, shots) → top-1 accuracy with its interval over seeds and concepts.

        Results on different concepts, such as those on random sets, have none.
        """
        from unseen.runs.concept_estimates import over_concepts

        return {cell: found.interval for cell, found in over_concepts(self.concept_hits).items()}
