"""The keys of a study and of the backbones in it: their types, defaults, allowed values and meanings."""

from dataclasses import dataclass
from typing import Literal

from unseen.reading.keys import key
from unseen.runs.shots import MOST_SEEDS

Names = tuple[str, ...]
ShotWords = tuple[int | Literal["all"], ...]
"""Training samples per class: numbers, or "all"."""
ALL = "all"
"""The word for all data sets, and for all samples."""


@dataclass(frozen=True)
class StudyKeys:
    """What is measured on which images; see docs/studies.md."""

    title: str = key("", "heading of the page; unset: from what is measured")
    based_on: str = key("", "shipped study that this one follows; pages show how it differs from that")
    datasets: Names = key(
        (ALL,), "data sets: names (unseen ls datasets), paths of your own, or all", path=True, repeats=True
    )
    backbones: Names = key(
        (),
        "backbones: ids such as timm:resnet50, names of [backbone.NAME], or a CSV of models",
        path=True,
        repeats=True,
    )
    probes: Names = key((), "probes: names (unseen ls probes), or Python files of your own", path=True)
    metrics: Names = key(
        (),
        "further metrics, for probes that give class scores: macro-f1, matthews, or Python files of your own",
        path=True,
    )
    shots: ShotWords | None = key(None, "training samples per class; unset: what each probe usually takes", least=1)
    seeds: int = key(5, "number of seeds", least=1, most=MOST_SEEDS)
    limit: int | None = key(None, "most images per class and split, for a quick look", least=1)
    levels: str | None = key(
        None,
        "levels of unseen concepts: cog-v2, cog-v1, drawings, drawings-imagenet, random, a measure, or a CSV or TOML "
        "file of your own",
        path=True,
    )
    word_vectors: str | None = key(None, "file of word vectors, for levels ranked by the measure cosine", path=True)
    seen: str | None = key(None, "name of the seen concepts, for levels of your own")
    splits: str | None = key(None, "file with the training and test images of levels (unseen levels splits)", path=True)
    class_balanced: bool = key(False, "732 training images for each unseen concept")
    missing_classes: Literal["stop", "skip"] = key("stop", "what to do about concepts with too few images")
    classes: Names = key(
        ("own",), "classes to score test sets on: own, shared, the name of a test set, or a list of classes", path=True
    )
    mapping: str | None = key(None, "coarser classes for test sets: cifar-10, or a CSV with wnid,class", path=True)
    complete: bool = key(True, "refuse incomplete copies of test sets")
    examples: int | None = key(
        None, "single images per data set; unset: 1 per data set, 8 drawings, or all of a folder", least=1
    )
    patches: int | Literal["all"] = key(ALL, "patches of each training image that are stored and trained on", least=1)
    preprocessing: Literal["published", "own"] = key(
        "published", "shortest side to the crop size and centre crop, as in both papers, or that of each backbone"
    )
    precision: Literal["half", "bfloat", "single"] | None = key(None, "of features; unset: half on a GPU, else single")
    batch: int = key(128, "images per batch of the extraction", least=1)
    on_error: Literal["stop", "skip"] = key("stop", "what to do about damaged images")
    fast: bool = key(
        False, "decode JPEGs on a GPU if it can, otherwise resize with PyTorch, which changes pixels a bit"
    )
    exif: bool = key(False, "rotate images by their EXIF orientation")
    decode: Literal["cpu", "gpu"] | None = key(None, "where JPEGs are decoded; unset: on the CPU, or as fast decides")


@dataclass(frozen=True)
class BackboneKeys:
    """How a backbone is loaded; keys under `backbone` are for all, those under `backbone.NAME` for one."""

    id: str | None = key(None, "source:name, or file.py:function; only for a backbone with a name", path=True)
    checkpoint: str | None = key(None, "file of weights for an architecture of timm or torchvision", path=True)
    layers: Names = key((), "modules to take features from; several give a row each; unset: before the classifier")
    pool: Names = key((), "avg, cls, cls+avg or none; several give a row each; unset: the network's own")
    size: int | None = key(None, "side of the images in pixels; unset: the authors'", least=1)
    weights: Literal["pretrained", "random"] = key("pretrained", "random for an untrained network")
    normalize: Literal["imagenet", "none", "half", "clip"] | None = key(
        None, "pixel normalization; unset: the network's own"
    )
    patches: int | Literal["all"] | None = key(
        None, "only for extraction: features of all patches, or of so many; unset: one vector per image", least=1
    )
    imagenet_top1: float | None = key(None, "its ImageNet accuracy in percent, to correlate with")
    group: str | None = key(None, "group of models on pages and in fits of effective robustness")
    head: str = key(
        "own", "classifier: own, zero-shot, linear, or a file with a linear probe (unseen export)", path=True
    )
    outputs: str = key(
        "imagenet-1k", "classes of the outputs: imagenet-1k, cifar-10, or a CSV with class,name", path=True
    )
    templates: str = key(
        "openai", "prompts of a zero-shot classifier: openai, simple, photo, plain, or a file", path=True
    )


@dataclass(frozen=True)
class ProbeKeys:
    """Keys that every probe has beside its own."""

    shots: ShotWords | None = key(None, "training samples per class, instead of the study's", least=1)
    seeds: int | None = key(None, "number of seeds, instead of the study's", least=1, most=MOST_SEEDS)
