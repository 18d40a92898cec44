"""Releases of ImageNet, recognised by their numbers of classes and images."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from unseen.ontology.wordnet import wordnet

WNID = re.compile(r"n[0-9]{8}")


@dataclass(frozen=True)
class Release:
    """A release, with its numbers of images and classes; several counts may be valid, depending on how files are
    counted.

    Attributes:
        code: its name in runs.
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
    """The release recorded in a source's `about`; None if it was not recognised."""
    return next((release for release in RELEASES if release.name == about.get("release")), None)


def recognise(classes: Collection[str], images: int) -> str | None:
    """The release with exactly these numbers of classes and images, or None.

    Classes must be synset ids, and 1,000 classes must be those of ImageNet-1K. Altered copies with the same files
    (ImageNet-C) have the same counts and cannot be distinguished.
    """
    release = next((r for r in RELEASES if len(classes) == r.classes and images in r.images), None)
    if release is None or not all(WNID.fullmatch(name) for name in classes):
        return None
    if release.classes == 1000 and set(classes) != set(wordnet().members("imagenet-1k")):
        return None
    return release.name


def provenance(kind: str, classes: Collection[str], images: int, **more: str) -> dict[str, str]:
    """The provenance of a source: its kind, its size, and its release if recognised."""
    release = recognise(classes, images)
    about = {"kind": kind, "classes": str(len(classes)), "images": str(images)} | more
    return about | ({"release": release} if release else {})
