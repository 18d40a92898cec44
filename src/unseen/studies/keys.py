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

    title: str = key("", "heading of the page; unset: what is measured")
    based_on: str = key("", "shipped study to compare this one with on pages")
    datasets: Names = key((ALL,), "names (unseen ls datasets), paths of your own, or all", path=True, repeats=True)
    backbones: Names = key((), "ids, names of [backbone.NAME], or a CSV of models", path=True, repeats=True)
    probes: Names = key((), "names (unseen ls probes), or Python files of your own", path=True)
    metrics: Names = key((), "further metrics of class scores: names or Python files", path=True)
    shots: ShotWords | None = key(None, "training samples per class; unset: as each probe does", least=1)
    seeds: int = key(5, "number of seeds", least=1, most=MOST_SEEDS)
    limit: int | None = key(None, "most images per class and split, for a quick look", least=1)
    levels: str | None = key(None, "levels of concepts: a name, a measure, or your own file", path=True)
    word_vectors: str | None = key(None, "file of word vectors, for levels by the measure cosine", path=True)
    seen: str | None = key(None, "name of the seen concepts, for levels of your own")
    splits: str | None = key(None, "file of training and test images (unseen levels splits)", path=True)
    class_balanced: bool = key(False, "732 training images for each unseen concept")
    missing_classes: Literal["stop", "skip"] = key("stop", "concepts with few images: stop, or skip them and say so")
    classes: Names = key(("own",), "to score test sets on: own, shared, a test set, or a list", path=True)
    mapping: str | None = key(None, "coarser classes: cifar-10, or a CSV with wnid,class", path=True)
    follow_links: bool = key(False, "follow links that lead out of the folder of a data set")
    complete: bool = key(True, "refuse incomplete copies of test sets")
    examples: int | None = key(None, "single images per data set; unset: 1, 8 drawings, a folder", least=1)
    patches: int | Literal["all"] = key(ALL, "patches of each training image to train on", least=1)
    preprocessing: Literal["published", "own"] = key("published", "as in both papers, or as each backbone's own")
    precision: Literal["half", "bfloat", "single"] | None = key(None, "of features; unset: half on a GPU, else single")
    batch: int = key(128, "images per batch of the extraction", least=1)
    on_error: Literal["stop", "skip"] = key("stop", "damaged images: stop, or skip and list them")
    fast: bool = key(False, "decode or resize images faster; changes pixels slightly")
    exif: bool = key(False, "rotate images by their EXIF orientation")
    decode: Literal["cpu", "gpu"] | None = key(None, "where JPEGs are decoded; unset: cpu, or as fast decides")


@dataclass(frozen=True)
class BackboneKeys:
    """How a backbone is loaded; keys under `backbone` are for all, those under `backbone.NAME` for one."""

    id: str | None = key(None, "source:name or file.py:function, in [backbone.NAME] only", path=True)
    checkpoint: str | None = key(None, "file of weights for a timm or torchvision architecture", path=True)
    layers: Names = key((), "modules, all, last-4, a+b; one row each; unset: own")
    pool: Names = key((), "avg, cls, cls+avg, none; several: one row each; unset: own")
    size: int | None = key(None, "side of the images in pixels; unset: the authors'", least=1)
    weights: Literal["pretrained", "random"] = key("pretrained", "random for an untrained network")
    normalize: Literal["imagenet", "none", "half", "clip"] | None = key(None, "of pixels; unset: the network's own")
    patches: int | Literal["all"] | None = key(None, "only for unseen extract: features of so many patches", least=1)
    imagenet_top1: float | None = key(None, "its ImageNet accuracy in percent, to correlate with")
    trained_on: Names = key((), "data sets it was trained on: imagenet-1k, cifar10, web …")
    group: str | None = key(None, "group of models on pages and in robustness fits")
    head: str = key("own", "own, zero-shot, linear, or a file with a linear probe", path=True)
    outputs: str = key("imagenet-1k", "its classes: imagenet-1k, cifar-10, or a CSV with class,name", path=True)
    templates: str = key("openai", "zero-shot prompts: openai, simple, photo, plain, or a file", path=True)


@dataclass(frozen=True)
class ProbeKeys:
    """Keys that every probe has beside its own."""

    shots: ShotWords | None = key(None, "training samples per class, instead of the study's", least=1)
    seeds: int | None = key(None, "number of seeds, instead of the study's", least=1, most=MOST_SEEDS)
