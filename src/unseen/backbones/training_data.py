"""The training data of a backbone, as far as its source and the tag of its weights reveal it."""

import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from functools import cache
from typing import Literal

from unseen.backbones.backbone import RANDOM
from unseen.backbones.catalogue import Published, catalogue

TrainingData = Literal["imagenet-21k", "web", "unknown"]
"""Training data other than ImageNet-1K; ImageNet-21K contains the concepts of the levels."""
TAGGED = ("timm", "torchvision")
"""Sources whose tags name the training data."""
OTHER_DATA: dict[TrainingData, re.Pattern[str]] = {
    "web": re.compile(
        r"yfcc|ig1b|swag|seer|laion|openai|datacomp|dfn|clip|webli|lvd|jft|merged2b|m30m|m38m|cc12m|sa1b|pali"
    ),
    # SSLD distils on images selected from ImageNet-21K.
    "imagenet-21k": re.compile(r"in21k|in22k|in12k|inw21k|ssld"),
}
IMAGENET_1K = ("imagenet1k", "imagenet", "in1k", "ilsvrc2012")
"""Its names without signs."""
ALIKE, SHORTEST = 0.82, 4
"""An unknown name is taken for a mistake if it has so many letters, and so many of them are those of a known one."""
ALONE = re.compile(r"in1k|imagenet1k|^(fb_)?(dino|mae|fcmae)$")


def trained_on(name: str, weights: str) -> tuple[TrainingData, ...]:
    """The training data of a backbone other than ImageNet-1K; empty if there is none.

    Args:
        name: its id, `source:name`; a Python file has no known source, and neither do features from a file.
        weights: identifier of the weights (`Spec.weights`).
    """
    source = name.partition(":")[0]
    if (
        weights.startswith(RANDOM) or source == "registry"
    ):  # the registry's packages have weights trained on ImageNet-1K
        return ()
    if source == "openclip":
        return ("web",)
    if source not in TAGGED or weights.startswith("sha256:"):
        return ("unknown",)
    tag = weights.partition(".")[2].lower()
    seen = tuple(data for data, words in OTHER_DATA.items() if words.search(tag))
    return seen or (() if ALONE.search(tag) else ("unknown",))


def same_data(one: str, other: str) -> bool:
    """Whether two names are of the same images, however they are written: `CIFAR-10` and `cifar10`, or `pcam`.

    Samples are of the images of their data set, and tasks with other labels of the same images too.
    """
    return bool(_names(one) & _names(other))


def resembled(name: str) -> tuple[str, ...]:
    """The names of data sets that an unknown name of training data resembles; empty for a known one."""
    letters, written = _letters(name), _written_names()
    if letters in {*_known_names(), *written.values(), *IMAGENET_1K} or len(letters) < SHORTEST:
        return ()
    alike = [each for each, of in written.items() if SequenceMatcher(None, letters, of).ratio() >= ALIKE]
    return tuple(alike[:3])


def _names(name: str) -> frozenset[str]:
    """A name and all names of the same images, without signs."""
    letters = _letters(name)
    return _known_names().get(letters, frozenset()) | {letters}


@cache
def _known_names() -> Mapping[str, frozenset[str]]:
    """The name of a data set, and its title → all names of its images; without signs."""
    from unseen.data.registry import DATASETS

    found = dict[str, frozenset[str]]()
    for dataset in DATASETS.values():
        full = DATASETS.get(dataset.sample_of, dataset)
        names = (dataset.name, dataset.title, full.name, full.title, *full.also_called)
        letters = frozenset(map(_letters, names))
        for each in map(_letters, (dataset.name, dataset.title)):
            found[each] = found.get(each, frozenset()) | letters
    return found


@cache
def _written_names() -> Mapping[str, str]:
    """The names by which data sets other than test sets of shifts are given → the same without signs."""
    from unseen.data.registry import DATASETS

    known = [each for each in DATASETS.values() if each.shifted is None and not each.sample_of]
    names = [name for each in known for name in (each.name, *each.also_called)]
    return {name: _letters(name) for name in dict.fromkeys(names)}


def is_imagenet_1k(name: str) -> bool:
    """Whether a name of training data is ImageNet-1K, the data that backbones usually are trained on."""
    return _letters(name) in IMAGENET_1K


def _letters(name: str) -> str:
    return re.sub(r"[\W_]+", "", name.casefold())


def published_as(name: str, weights: str) -> Published | None:
    """The ImageNet-CoG model that a backbone corresponds to: same source and same weights."""
    # The part after a comma describes how the network was built for the weights.
    wanted = f"{name.partition(':')[0]}:{weights.partition(',')[0]}"
    return next((model for model in catalogue("cog-v2") if model.id == wanted), None)
