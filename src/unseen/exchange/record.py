"""The records of a results file: one for each backbone, protocol and domain, data set or test set.

These types are the schema. `results.schema.json` is made from them (`scripts/build_results_schema.py`), docs/results.md
explains it, and files are read into them; whoever changes a field here raises `VERSION`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from unseen.images.transform import Channels, Interpolation
from unseen.papers.comparability import Draw
from unseen.runs.data import Study
from unseen.runs.setup import Setting

SCHEMA: Literal["unseen-results"] = "unseen-results"
VERSION: Literal[1] = 1
Over = Literal["seeds", "concepts", "episodes", "images"]
"""What is drawn anew for an interval; those over concepts are over seeds too."""


@dataclass(frozen=True)
class Told:
    """A notice or a caution."""

    code: Annotated[str, "What it is: a word that stays the same when the text is put better."]
    arguments: Annotated[Mapping[str, str | int | float], "The names and numbers in the text."]
    text: Annotated[str, "For a reader."]


@dataclass(frozen=True)
class Preprocessing:
    """What was done to images."""

    size: Annotated[int, "Side of the square that the backbone gets, in pixels."]
    resize: Annotated[int | None, "Shortest side before the crop; null where images stay as they are."]
    interpolation: Interpolation
    mean: Annotated[Channels, "Subtracted from pixels between 0 and 1, by channel."]
    std: Annotated[Channels, "What pixels are then divided by."]
    channels: Literal["RGB", "BGR"]
    squash: Annotated[bool, "Whether both sides go to `resize` pixels, whatever the proportions."]


@dataclass(frozen=True)
class BackboneFacts:
    """A backbone and how its features were made. What is null is not known."""

    name: Annotated[str, "What tables and pages call it."]
    id: Annotated[str | None, "`source:name`, as `--backbone` takes it."]
    category: Annotated[str, "What it is grouped by."]
    description: str
    weights: Annotated[str | None, "What identifies the weights: a tag, a revision, or the SHA-256 of their file."]
    digest: Annotated[str | None, "SHA-256 of the tensors."]
    classifier: Annotated[str | None, "Of a model that classifies itself: hash of what decides its outputs."]
    layer: Annotated[str | None, "Where features are taken."]
    pool: Annotated[str | None, "How positions become one vector."]
    dimension: Annotated[int | None, "Of the features."]
    parameters: Annotated[int | None, "Of the backbone without its classifier."]
    preprocessing: Preprocessing | None
    precision: Annotated[str | None, "Of the network's arithmetic: `half`, `bfloat` or `single`."]
    decoder: Annotated[Literal["cpu", "gpu"] | None, "What decoded JPEG files."]
    resizer: Annotated[Literal["pillow", "pytorch"] | None, "What resized images: `pytorch` with `--fast`."]
    exif: Annotated[bool | None, "Whether images were turned as their EXIF orientation says."]
    training_data: Annotated[
        Sequence[str] | None, "What it saw beside ImageNet-1K: data sets, `web`, `imagenet-21k` or `unknown`."
    ]
    imagenet_top1: Annotated[float | None, "Top-1 accuracy on ImageNet that its user states, a share."]
    finetuned: Annotated[bool, "Whether the backbone itself was trained on the data, instead of a probe alone."]
    cautions: Annotated[Sequence[Told], "Why it is not fair to compare it with others."]


@dataclass(frozen=True)
class Levels:
    """Levels of unseen concepts."""

    name: str
    hash: Annotated[str, "Of which concepts are in which level."]


@dataclass(frozen=True)
class Splits:
    """Which images of the levels train and which test."""

    seed: Annotated[int | None, "Of the draw; null for somebody else's splits."]
    test: Annotated[int | None, "Test images of each concept."]
    max_train: Annotated[int | None, "Training images of each concept, at most."]
    hash: Annotated[str | None, "Of what a file of splits says."]


@dataclass(frozen=True)
class ImageSource:
    """Where the images of a split come from."""

    split: str
    images: Annotated[int | None, "How many there are in that place, of all domains together."]
    release: Annotated[str | None, "The release of ImageNet that they were recognised as."]
    blurred: Annotated[bool | None, "Whether faces are blurred in that release."]
    hash: Annotated[str | None, "Of the names of the images and their splits."]
    fingerprint: Annotated[str | None, "Of what some of the images show."]


@dataclass(frozen=True)
class DataFacts:
    """The domain, data set or test set that scores are on."""

    name: Annotated[str, "`in1k`, `l5`, `cifar10`, `imagenet-v2` …"]
    title: str
    seen: Annotated[bool, "Whether these are the concepts that backbones were trained on."]
    similarity: Annotated[float | None, "Mean similarity of a level to the seen concepts."]
    shifted: Annotated[bool | None, "Of a test set of the shift study, whether it is out of distribution."]
    classes: Annotated[int | None, "How many are told apart."]
    images: Annotated[Mapping[str, int], "Split → number of images; empty where that is not known."]
    draw: Annotated[Draw, "Who chose the images."]
    variant: Annotated[str, "How the images of a concept were chosen; `plain` for all."]
    limit: Annotated[int | None, "At most so many images of each class, where the rest was left out."]
    licence: str
    levels: Levels | None
    splits: Splits | None
    sources: Sequence[ImageSource]
    features: Annotated[Mapping[str, str], "Split → key of what decided the features."]
    published: Annotated[str, "Whose levels these are: `cog-v2`, `cog-v1` or empty."]


@dataclass(frozen=True)
class Interval95:
    """An interval of 95%."""

    over: Annotated[Over, "What is drawn anew; `concepts` are drawn together with seeds."]
    low: float
    high: float


@dataclass(frozen=True)
class ScoreFacts:
    """One metric of one probe."""

    probe: Annotated[str, "As `unseen ls probes` has it, or a variant."]
    shots: Annotated[int | None, "Training images per class; null for all."]
    metric: Annotated[str, "`top1`, `mean-per-class` …"]
    value: Annotated[float, "The mean of `values`; shares are between 0 and 1."]
    deviation: Annotated[float | None, "Sample standard deviation over seeds; null for a single one."]
    seeds: Sequence[int]
    values: Annotated[Sequence[float], "One for each seed."]
    intervals: Sequence[Interval95]


@dataclass(frozen=True)
class Made:
    """When, with what and on what."""

    first: Annotated[str, "When the run was first written: ISO 8601, UTC; empty where that is not known."]
    last: Annotated[str, "When it was last changed."]
    versions: Annotated[Mapping[str, str], "Package → version."]
    device: Annotated[str, "The GPU or processor."]
    seconds: Annotated[float, "What the jobs of these scores took, one after another; without the features."]


@dataclass(frozen=True)
class ResultRecord:
    """What was measured of one backbone under one protocol on one domain, data set or test set."""

    study: Study
    protocol: Annotated[str, "Name and version; a shortened form has a name of its own."]
    settings: Annotated[
        Mapping[str, Mapping[str, Setting]], "Probe → everything in its protocol that can change a number."
    ]
    backbone: BackboneFacts
    data: DataFacts
    scores: Sequence[ScoreFacts]
    made: Made
    notices: Annotated[Sequence[Told], "What a reader must know before the scores."]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What it is of; a file has one record of each."""
        return self.study, self.backbone.name, self.protocol, self.data.name


@dataclass(frozen=True)
class ResultsFile:
    """A results file."""

    schema: Annotated[Literal["unseen-results"], "What this file is."]
    version: Annotated[Literal[1], "Of this schema."]
    unseen: Annotated[str, "Version of the package that wrote it."]
    records: Sequence[ResultRecord]
