"""The records of a results file: one per backbone, protocol and domain, data set or test set.

These types are the schema. `results.schema.json` is generated from them (`scripts/build_results_schema.py`),
docs/results.md explains it, and files are read into them. A change of a field needs a new `VERSION`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from unseen.data.core.decoding.transform import Transform
from unseen.papers.comparability import Draw
from unseen.runs.data import Axis
from unseen.runs.setup import Setting

SCHEMA: Literal["unseen-results"] = "unseen-results"
VERSION: Literal[1] = 1
LATER = ("studies", "study_settings")
"""Lists that files of earlier versions do not have."""
Over = Literal["seeds", "concepts", "episodes", "images"]
"""What an interval resamples; intervals over concepts resample seeds too."""


@dataclass(frozen=True)
class Told:
    """A notice or a caution."""

    code: Annotated[str, "Identifies the kind of notice; it stays the same if the text is rewritten."]
    arguments: Annotated[Mapping[str, str | int | float], "The names and numbers in the text."]
    text: Annotated[str, "The notice as a sentence."]


@dataclass(frozen=True)
class BackboneFacts:
    """A backbone and how its features were extracted. Null means unknown."""

    name: Annotated[str, "Name in tables and on pages."]
    id: Annotated[str | None, "`source:name`, as for `--backbone`."]
    category: Annotated[str, "Group of backbones that it belongs to."]
    description: str
    weights: Annotated[str | None, "Identifies the weights: a tag, a revision, or the SHA-256 of their file."]
    digest: Annotated[str | None, "SHA-256 of the tensors."]
    classifier: Annotated[
        str | None, "For a model that classifies by itself: hash of everything that affects its outputs."
    ]
    layer: Annotated[str | None, "Layer that features are taken from."]
    pool: Annotated[str | None, "How positions are pooled into one vector."]
    dimension: Annotated[int | None, "Dimension of the features."]
    parameters: Annotated[int | None, "Number of parameters without the classifier."]
    preprocessing: Transform | None
    precision: Annotated[str | None, "Precision of the network's arithmetic: `half`, `bfloat` or `single`."]
    decoder: Annotated[Literal["cpu", "gpu"] | None, "Where JPEG files were decoded."]
    resizer: Annotated[Literal["pillow", "pytorch"] | None, "Library that resized images: `pytorch` with `--fast`."]
    exif: Annotated[bool | None, "Whether images were rotated by their EXIF orientation."]
    training_data: Annotated[
        Sequence[str] | None,
        "All training data as declared by the user, otherwise those beside ImageNet-1K: data sets, `web`, "
        "`imagenet-21k` or `unknown`.",
    ]
    imagenet_top1: Annotated[float | None, "Top-1 accuracy on ImageNet as stated by the user, between 0 and 1."]
    finetuned: Annotated[bool, "Whether the whole backbone was trained on the data, not only a probe."]
    cautions: Annotated[Sequence[Told], "Reasons why a comparison with other backbones is not fair."]


@dataclass(frozen=True)
class Levels:
    """Levels of unseen concepts."""

    name: str
    hash: Annotated[str, "Hash of the assignment of concepts to levels."]


@dataclass(frozen=True)
class Splits:
    """The split of the levels' images into training and test images."""

    seed: Annotated[int | None, "Seed of the draw; null for splits from a file."]
    test: Annotated[int | None, "Test images per concept."]
    max_train: Annotated[int | None, "Largest number of training images per concept."]
    hash: Annotated[str | None, "Hash of the contents of a file of splits."]


@dataclass(frozen=True)
class ImageSource:
    """The source of the images of a split."""

    split: str
    images: Annotated[int | None, "Number of images in the source, all domains together."]
    release: Annotated[str | None, "Release of ImageNet that the images were recognized as."]
    blurred: Annotated[bool | None, "Whether faces are blurred in that release."]
    hash: Annotated[str | None, "Hash of the names of the images and their splits."]
    fingerprint: Annotated[str | None, "Hash of the pixels of some of the images."]


@dataclass(frozen=True)
class DataFacts:
    """The domain, data set or test set that scores were measured on."""

    name: Annotated[str, "`in1k`, `l5`, `cifar10`, `imagenet-v2` …"]
    title: str
    seen: Annotated[bool, "Whether these are the concepts that backbones were trained on."]
    similarity: Annotated[float | None, "Mean similarity of a level to the seen concepts."]
    shifted: Annotated[bool | None, "For a test set of the shift study: whether it is out of distribution."]
    classes: Annotated[int | None, "Number of classes."]
    images: Annotated[Mapping[str, int], "Split → number of images; empty if unknown."]
    draw: Annotated[Draw, "Who chose the images."]
    variant: Annotated[str, "How the images of a concept were chosen; `plain` for all."]
    limit: Annotated[int | None, "Largest number of images per class, if only a part of the images was used."]
    licence: str
    levels: Levels | None
    splits: Splits | None
    sources: Sequence[ImageSource]
    features: Annotated[Mapping[str, str], "Split → key of everything that determines the features."]
    published: Annotated[str, "The published levels that these are: `cog-v2`, `cog-v1` or empty."]


@dataclass(frozen=True)
class Interval95:
    """A 95% interval."""

    over: Annotated[Over, "What is resampled; `concepts` are resampled together with seeds."]
    low: float
    high: float


@dataclass(frozen=True)
class ScoreFacts:
    """One metric of one probe."""

    probe: Annotated[str, "Name listed by `unseen ls probes`, or a variant."]
    shots: Annotated[int | None, "Training images per class; null for all."]
    metric: Annotated[str, "`top1`, `mean-per-class` …"]
    value: Annotated[float, "Mean of `values`; accuracies are between 0 and 1."]
    deviation: Annotated[float | None, "Sample standard deviation over seeds; null for a single seed."]
    seeds: Sequence[int]
    values: Annotated[Sequence[float], "One per seed."]
    intervals: Sequence[Interval95]


@dataclass(frozen=True)
class Made:
    """Dates, versions and device."""

    first: Annotated[str, "Time at which the run was first written: ISO 8601, UTC; empty if unknown."]
    last: Annotated[str, "Time of the last change."]
    versions: Annotated[Mapping[str, str], "Package → version."]
    device: Annotated[str, "The GPU or processor."]
    seconds: Annotated[float, "Total time of the jobs behind these scores, without the extraction of features."]


@dataclass(frozen=True)
class FitHits:
    """Which test images a fit classifies correctly."""

    probe: Annotated[str, "As in `scores`."]
    shots: Annotated[int | None, "As in `scores`."]
    seed: int
    correct: Annotated[str, "One bit per image, eight per byte, the first image in the highest bit; URL-safe base64."]


@dataclass(frozen=True)
class Hits:
    """A test set, and the fits that were tested on it."""

    images: Annotated[int, "Number of test images."]
    ids: Annotated[str, "SHA-256 of the names of the images, in order, each followed by a zero byte; empty if unknown."]
    classes: Annotated[Sequence[str], "Names of the classes."]
    labels: Annotated[
        str, "Class of each image: indices into `classes`, 32 bits each (little-endian), zlib, URL-safe base64."
    ]
    fits: Sequence[FitHits]


@dataclass(frozen=True)
class ResultRecord:
    """The scores of one backbone under one protocol on one domain, data set or test set."""

    study: Axis
    protocol: Annotated[str, "Name and version; a shortened form has its own name."]
    settings: Annotated[
        Mapping[str, Mapping[str, Setting]],
        "Probe → everything in its protocol that can change a number; metric of the user's own → its range and code.",
    ]
    backbone: BackboneFacts
    data: DataFacts
    scores: Sequence[ScoreFacts]
    made: Made
    notices: Annotated[Sequence[Told], "What a reader must know before reading the scores."]
    hits: Annotated[Sequence[Hits], "Which test images are classified correctly, by test set; empty unless asked for."]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Identifies the record; each key occurs once in a file."""
        return self.study, self.backbone.name, self.protocol, self.data.name


@dataclass(frozen=True)
class ResultsFile:
    """A results file."""

    schema: Annotated[Literal["unseen-results"], "Identifies a results file."]
    version: Annotated[Literal[1], "Version of this schema."]
    unseen: Annotated[str, "Version of the package that wrote the file."]
    records: Sequence[ResultRecord]
    studies: Annotated[
        Sequence[str],
        "The studies of the runs as TOML, with every setting; of files there are only names and hashes.",
    ] = ()
    study_settings: Annotated[
        Sequence[Mapping[str, Setting]],
        "The settings in each of `studies` by their places, such as `knn.k`; empty in files of earlier versions.",
    ] = ()
