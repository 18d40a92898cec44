"""What a report of a run is made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from unseen.features.about import BackboneAbout
from unseen.metrics.catalogue import METRICS, Metric
from unseen.metrics.own import MetricUsed
from unseen.papers.comparability import Comparability, ScoredData, compare, published_domain
from unseen.probes.own import OWN
from unseen.runs.cautions import Caution
from unseen.runs.flaws import Flaw, flaw_sentences
from unseen.runs.notices import Notice, notice_text
from unseen.runs.score import Score
from unseen.runs.setup import Extraction, FeatureKey, ImagesUsed, LevelsUsed, ProtocolUsed, Setup, SplitsUsed

if TYPE_CHECKING:
    from unseen.metrics.resampling import Interval

OWN_METRIC = "own-metric"
"""Protocol under which a run stores the facts about a metric of the user's own, and the digest of its code."""
METRIC_FACTS = ("higher_is_better", "lower", "upper", "unit")
Study = Literal["concepts", "tasks", "shifts", "probe"]
"""Which study a run is of; it decides what its page looks like, and which runs share a page."""


def known_metrics(own_code: Sequence[ProtocolUsed]) -> dict[str, Metric]:
    """The metrics of the catalogue, and those of the user's own that a run says the facts of."""
    own = [
        MetricUsed(each.probe, **{name: cast("Any", each.settings[name]) for name in METRIC_FACTS})
        for each in own_code
        if each.name == OWN_METRIC
    ]
    return {**METRICS, **{each.name: each.metric for each in own}}


@dataclass(frozen=True)
class Example:
    """A picture shown as an example: a PNG and what it shows."""

    png: bytes
    caption: str


@dataclass(frozen=True)
class Domain:
    """A set of concepts that backbones were probed on, in the order of the report.

    Attributes:
        classes: how many are told apart; 0 for as many as there are concepts.
        limit: at most so many images of each class in every split, where the rest was left out for a quick look.
        licence: of the data set; empty where it is not known.
        shifted: of a column of the shift study, whether its test set is out of distribution; None where not known.
        origin: where it is from, if several runs were merged.
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
    origin: "Origin | None" = None


@dataclass(frozen=True)
class Origin:
    """The first of several runs that has a domain.

    Attributes:
        name: of the domain in that run.
        run: its name.
        levels: of that run; None where that is not known.
    """

    name: str
    run: str
    levels: LevelsUsed | None = None


@dataclass(frozen=True)
class Backbone:
    """A backbone of the report: `category` groups and colours it.

    Attributes:
        cautions: why comparisons with others are not fair.
        imagenet_top1: top-1 accuracy on ImageNet, a share; None where nobody said.
        training_data: what it saw beside ImageNet-1K: names of data sets, or `unseen.backbones.training_data`'s codes;
            None where the run does not say.
        features: what decided its features, and `finetuning` what decided how it was fine-tuned; None where that is
            not known, or not done.
        classifier: of a model that classifies itself, hash of what decides its outputs.
    """

    name: str
    category: str
    description: str = ""
    cautions: Sequence[Caution] = ()
    imagenet_top1: float | None = None
    training_data: Sequence[str] | None = None
    features: Extraction | None = None
    finetuning: BackboneAbout | None = None
    classifier: str | None = None


@dataclass(frozen=True)
class ConceptAccuracy:
    """How well a backbone tells one concept from the others of its domain.

    Attributes:
        similarity: of the concept to the nearest seen one; None where that is not known, or it is seen itself.
        correct, images: test images of it that are classified correctly, and in all; sums over seeds.
    """

    backbone: str
    domain: str
    concept: str
    similarity: float | None
    correct: int
    images: int


@dataclass(frozen=True)
class ConceptHits:
    """What one regression got right, concept by concept.

    Attributes:
        shots: as in tables, `all` for all samples.
        correct, images: test images of each concept that are classified correctly, and in all.
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
    """One rule in the making of the levels: what it did, how many concepts it removed, how many were left."""

    rule: str
    removed: int
    left: int


@dataclass(frozen=True)
class Written:
    """When, with what and where a run was written.

    Attributes:
        first, last: when its record was first written and last changed: ISO 8601, UTC.
        versions, device: package → version, and the device, of the last change. Result files have their own versions.
        command: of the last change; empty where it was not a command.
    """

    first: str
    last: str
    versions: Mapping[str, str] = field(default_factory=dict)
    device: str = ""
    command: str = ""


@dataclass(frozen=True)
class RunData:
    """Everything on the page.

    Attributes:
        study: what was asked.
        told: what a reader must know before the scores, such as that the run is not the whole protocol.
        baseline: the backbone that differences are first taken from.
        steps: how the levels were made; empty where that is not known.
        protocols: how its probes are trained, one for each probe.
        levels, splits, images: what the probes are trained and tested on, as far as that is known.
        seeds: of its jobs; empty where they are not all known.
        remarks: label → text, further lines of provenance for the page; nothing is decided by them.
        written: None for a run that was not written yet, and for those of earlier versions.
        published: whose levels these are: `cog-v2`, or `cog-v1` for the paper's first version; empty for others.
        scored: what the scores are of, in numbers; from these `comparisons` decides what stands beside published ones.
        features: which features were probed.
        concept_accuracy: with all samples; empty where results do not have it.
        concept_hits: of the logistic probe, one for each of its results that has them.
        flaws: images that were left out, and rows of features that are not as others.
        parts: of several runs together, each with its name.
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
    study: Study = "concepts"
    parts: "Sequence[tuple[str, RunData]]" = ()

    @property
    def setup(self) -> Setup:
        """What decides the run, as far as it is known."""
        return Setup(
            protocols=self.protocols,
            levels=self.levels,
            splits=self.splits,
            images=self.images,
            extractions={each.name: each.features for each in self.backbones if each.features},
            finetunings={each.name: each.finetuning for each in self.backbones if each.finetuning},
            features=self.features,
            limits={domain.name: domain.limit for domain in self.domains},
        )

    @property
    def own_code(self) -> list[ProtocolUsed]:
        """What the run, or several together, say of probes and metrics of the user's own."""
        used = [each for _, part in self.parts for each in part.protocols] or self.protocols
        return [*{each.probe: each for each in used if each.name in {OWN, OWN_METRIC}}.values()]

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """Every metric by its name: those of the catalogue, and the user's own."""
        return known_metrics(self.own_code)

    @property
    def notice(self) -> str:
        """What `told` says, for a reader; empty where there is nothing to tell."""
        return notice_text(self.told)

    @property
    def flaw_sentences(self) -> list[str]:
        """What `flaws` says, for a reader."""
        titles = {domain.name: domain.title for domain in self.domains}
        return flaw_sentences(self.flaws, titles, [backbone.name for backbone in self.backbones])

    @property
    def notices(self) -> list[str]:
        """Everything that a reader must be told before the scores."""
        return [*filter(None, [self.notice]), *self.flaw_sentences]

    @cached_property
    def comparisons(self) -> Mapping[tuple[str, str], Comparability]:
        """(backbone, domain) → whether its scores may be set beside the published ones, where there are such."""
        scored = {(each.backbone, each.domain): each for each in self.scored}
        return {
            (backbone.name, domain.name): compare(scored.get((backbone.name, domain.name)), printed)
            for domain in self.domains
            if (printed := published_domain(self.published, domain.name))
            for backbone in self.backbones
        }

    @cached_property
    def concept_intervals(self) -> "Mapping[tuple[str, str, str], Interval]":
        """Backbone, domain, shots → top-1 accuracy with its interval over seeds and concepts.

        Results that are not of the same concepts, as those on random sets are not, have none.
        """
        from unseen.runs.concept_resamples import resample

        return {cell: found.interval for cell, found in resample(self.concept_hits).items()}
