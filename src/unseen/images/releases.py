"""Releases of ImageNet, known by their numbers of classes and images."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from unseen.ontology.wordnet import wordnet

WNID = re.compile(r"n[0-9]{8}")


@dataclass(frozen=True)
class Release:
    """A release, and how many images it has in how many classes; counts differ by how files are counted.

    Attributes:
        code: what runs call it.
        blurred: whether faces are blurred.
    """

    code: str
    name: str
    classes: int
    images: tuple[int, ...]
    blurred: bool = False


RELEASES = (
    Release("imagenet-21k-winter-2021", "ImageNet-21K, Winter 2021", 19_167, (13_153_500,)),
    Release("imagenet-21k-fall-2011", "ImageNet-21K, Fall 2011", 21_841, (14_197_122, 14_197_114)),
    Release("imagenet-1k-train", "ImageNet-1K, training", 1000, (1_281_167,)),
    Release("imagenet-1k-val", "ImageNet-1K, validation", 1000, (50_000,)),
    Release("imagenet-1k-blurred-train", "ImageNet-1K with blurred faces, training", 1000, (1_281_066,), True),
    Release("imagenet-1k-blurred-val", "ImageNet-1K with blurred faces, validation", 1000, (49_997,), True),
)


def release_of(about: Mapping[str, str]) -> Release | None:
    """The release that a source says it is; None where it was not recognised."""
    return next((release for release in RELEASES if release.name == about.get("release")), None)


def recognise(classes: Collection[str], images: int) -> str | None:
    """The release with just these numbers of classes and images, None if there is none.

    Classes must be synset ids, and where there are 1,000 they must be those of ImageNet-1K. Altered copies with the
    same files (ImageNet-C) have the same counts and are not told apart.
    """
    release = next((r for r in RELEASES if len(classes) == r.classes and images in r.images), None)
    if release is None or not all(WNID.fullmatch(name) for name in classes):
        return None
    if release.classes == 1000 and set(classes) != set(wordnet().members("imagenet-1k")):
        return None
    return release.name


def provenance(kind: str, classes: Collection[str], images: int, **more: str) -> dict[str, str]:
    """What a source says of itself: its kind, its size, the release where one was recognised."""
    release = recognise(classes, images)
    about = {"kind": kind, "classes": str(len(classes)), "images": str(images)} | more
    return about | ({"release": release} if release else {})
