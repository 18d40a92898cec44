"""Labels of test sets, and folders named after them."""

from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path

from unseen.data.core.entries import EntryTable
from unseen.data.core.folder import FileImages, folder_images
from unseen.data.core.rows import ALL, Listing, Row
from unseen.errors import UserError
from unseen.ontology.wordnet import wordnet

CIFAR_10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
"""Classes of CIFAR-10 in the order of their indices, which its successors share."""


@cache
def imagenet_classes() -> tuple[str, ...]:
    """Synset ids of ImageNet-1K in the order of its class indices, which is sorted order."""
    return wordnet().members("imagenet-1k")


def synset_folders(place: Path) -> Listing:
    """One folder per class, named by its synset id."""
    return labelled_folders(place, {wnid: wnid for wnid in imagenet_classes()}, "synset ids such as n01440764")


def numbered_folders(place: Path) -> Listing:
    """One folder per class, named by its index from 0 to 999."""
    numbers = {str(number): wnid for number, wnid in enumerate(imagenet_classes())}
    return labelled_folders(place, numbers, "numbers of classes, 0 to 999")


def cifar_folders(place: Path, keep: Callable[[str], bool] = lambda _: True) -> Listing:
    """One folder per class of CIFAR-10; `keep` selects files by name."""
    return labelled_folders(place, {name: name for name in CIFAR_10}, f"classes: {', '.join(CIFAR_10)}", keep)


def labelled_folders(
    place: Path, labels: Mapping[str, str], called: str, keep: Callable[[str], bool] = lambda _: True
) -> Listing:
    """Images in folders, with the label that each folder name stands for.

    Args:
        called: what the folders are named after, for the error message.
        keep: whether a file with this name belongs to the test set.
    """
    source = folder_images(place)
    refuse_unknown(place, source.entries.classes, labels, called)
    rows = [Row(entry.id, labels[entry.label], ALL) for entry in source.entries if keep(entry.id.rpartition("/")[2])]
    entries = EntryTable.of(((row.id, row.label) for row in rows), str(place))
    return Listing(rows, lambda: FileImages(place, entries, source.about))


def refuse_unknown(place: Path, names: Collection[str], known: Collection[str], called: str) -> None:
    """Refuse an unexpected folder name, which indicates another layout or another data set."""
    odd = sorted(set(names) - set(known))
    if odd:
        raise UserError(f"{place}: unexpected folder {odd[0]}; folders are named by {called}")
