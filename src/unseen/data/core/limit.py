"""A small version of a data set for a quick look: a maximum number of images per class and split."""

import hashlib
from collections import Counter
from dataclasses import replace

from unseen.data.core.manifest import Manifest
from unseen.data.core.multi_label import shown_classes
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import Entry
from unseen.errors import UserError


def limited(opened: OpenDataset, limit: int) -> OpenDataset:
    """The data set with at most `limit` images per class in every split, the same images on every machine.

    Images are taken in the order of SHA-256 of split, class and id, so a larger limit includes the images of a smaller
    one. Among images with several classes, an image is taken if one of its classes still has fewer than `limit` images.
    A data set within the limit is returned unchanged and counts as complete.
    """
    if limit < 1:
        raise UserError(f"the limit must be at least 1 image per class, not {limit}")
    several = opened.dataset.multi_label
    manifest = _limited(opened.manifest, limit, several=several)
    apart = {split: (source, _limited(of, limit, several=several)) for split, (source, of) in opened.apart.items()}
    if manifest is opened.manifest and all(of is opened.apart[split][1] for split, (_, of) in apart.items()):
        return opened
    return replace(opened, manifest=manifest, apart=apart)


def _limited(manifest: Manifest, limit: int, *, several: bool) -> Manifest:
    """The manifest with at most `limit` images per class and split; the same one if it has no more."""
    rows = list(zip(manifest.entries, manifest.splits, strict=True))
    taken: Counter[tuple[str, str]] = Counter()
    chosen = set[int]()
    for number in sorted(range(len(rows)), key=lambda number: _place(rows[number][1], *_names(rows[number][0]))):
        entry, split = rows[number]
        classes = [(split, name) for name in (shown_classes(entry.label) if several else [entry.label])]
        if any(taken[each] < limit for each in classes):
            chosen.add(number)
            taken.update(classes)
    if len(chosen) == len(rows):
        return manifest
    kept = [rows[number] for number in sorted(chosen)]
    return Manifest([entry for entry, _ in kept], [split for _, split in kept], limit, manifest.contents)


def _names(entry: Entry) -> tuple[str, str]:
    return entry.label, entry.id


def _place(split: str, label: str, id_: str) -> bytes:
    return hashlib.sha256(f"{split}/{label}/{id_}".encode()).digest()
