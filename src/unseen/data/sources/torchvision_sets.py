"""torchvision data sets by name, such as `torchvision:CIFAR10`. Nothing is downloaded."""

import inspect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unseen.data.core.entries import EntryTable
from unseen.data.core.releases import provenance
from unseen.errors import UserError, did_you_mean
from unseen.extras import install_command
from unseen.reading.guard import cause

PREFIX = "torchvision:"


@dataclass(frozen=True)
class TorchvisionImages:
    """A data set that each process opens itself, by name, root and split."""

    name: str
    root: Path
    split: str | None
    entries: EntryTable
    about: dict[str, str]

    def read(self, number: int) -> NDArray[np.uint8]:
        data = _open(self.name, self.root, self.split)
        try:
            return np.array(data[number][0].convert("RGB"))
        except MemoryError:  # a fault of the machine, not of the image
            raise
        except Exception as error:  # torchvision decodes here, and decoders may raise anything
            reason = str(error).rstrip(".") or type(error).__name__
            raise UserError(f"{PREFIX}{self.name}: image {number} cannot be read from {self.root} ({reason})") from None


def torchvision_images(name: str, *, root: Path | None = None, split: str | None = None) -> TorchvisionImages:
    """Images of a torchvision classification data set, as torchvision decodes them.

    Args:
        name: name of its class in `torchvision.datasets`.
        root: the folder of its files; required.
        split: torchvision's name of the split, or "train" or "test" if it has only these. By default torchvision's own
            default (usually the training images).
    """
    name = name.removeprefix(PREFIX)
    if root is None:
        raise UserError(f"{PREFIX}{name}: give the folder of torchvision's files (root)")
    data = _open(name, root, split)
    labels = item_labels(f"{PREFIX}{name}", data)
    rows = ((f"{number:08d}", label) for number, label in enumerate(labels))
    entries = EntryTable.of(rows, f"{PREFIX}{name}")
    about = provenance(f"{PREFIX}{name}", entries.classes, len(entries), **({"split": split} if split else {}))
    return TorchvisionImages(name, root, split, entries, about)


@lru_cache(maxsize=4)
def _open(name: str, root: Path, split: str | None) -> Any:
    try:
        from torchvision import datasets
    except ImportError:
        raise UserError(f"{PREFIX}{name} needs torchvision: {install_command('torchvision')}") from None
    known = [n for n in datasets.__all__ if n not in {"DatasetFolder", "ImageFolder", "FakeData", "VisionDataset"}]
    if name not in known:
        raise UserError(f"torchvision has no data set '{name}'{did_you_mean(name, known)}")
    kind = getattr(datasets, name)
    parameters = inspect.signature(kind).parameters
    try:
        return kind(str(root), **_split_option(name, parameters, split))
    except (RuntimeError, OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise UserError(f"{PREFIX}{name} cannot be read from {root} ({reason}); download it there first") from None


def _split_option(name: str, parameters: Mapping[str, Any], split: str | None) -> dict[str, Any]:
    if split is None:
        return {}
    for option in ("split", "image_set"):
        if option in parameters:
            return {option: split}
    if "train" in parameters and split in {"train", "test"}:
        return {"train": split == "train"}
    choices = "its splits are train and test" if "train" in parameters else "it has no splits"
    raise UserError(f"{PREFIX}{name}: no split '{split}'; {choices}")


def item_labels(where: str, data: Any) -> list[str]:
    """Classes in order. Data sets store them under several names; if none is found, every item is read once.

    Numbers are those of the data set's `classes`, if it has them; texts are names of classes themselves.
    """
    numbers = _stored_numbers(data)
    if numbers is None:
        values = [_item_label(where, data, number) for number in range(len(data))]
        numbers = _whole_numbers(values, len(values))
        if numbers is None:
            return _texts(where, values)
    whole = data
    while is_subset(whole):
        whole = whole.dataset
    classes = getattr(whole, "classes", None)
    unlabelled = {*numbers} == {-1}
    if isinstance(classes, str) or not isinstance(classes, Sequence) or not classes or unlabelled:
        return [str(number) for number in numbers]
    outside = next((place for place, number in enumerate(numbers) if not 0 <= number < len(classes)), None)
    if outside is not None:
        raise UserError(
            f"{where}: image {outside} has the label {numbers[outside]}, outside of the {len(classes)} names in classes"
        )
    names = [each if isinstance(each, str) else ", ".join(map(str, each)) for each in classes]
    twice = next((name for name, count in Counter(names).items() if count > 1), None)
    if twice is not None and twice in classes:
        raise UserError(f"{where}: two classes are named '{twice}'; give each class a name of its own (classes)")
    # Lists of synonyms need not differ: ImageNet's two cranes are kept apart by their numbers.
    return [names[number] if twice is None else str(number) for number in numbers]


def _item_label(where: str, data: Any, number: int) -> Any:
    """The label of an item, which is read with its image."""
    try:
        return data[number][1]
    except MemoryError:  # a fault of the machine, not of the image
        raise
    except Exception as error:  # somebody else's code, and decoders may raise anything
        raise UserError(
            f"{where}: the label of image {number} of {len(data):,} cannot be read ({cause(error)})"
        ) from None


def _texts(where: str, values: Sequence[Any]) -> list[str]:
    """Labels that are the names of classes; an error says which label is neither a number nor a name."""
    for number, value in enumerate(values):
        if isinstance(value, str) and not (value and value.isprintable()):
            raise UserError(f"{where}: image {number} has the label {value!a:.60}, which is not a name in plain text")
        if not isinstance(value, str) and _whole_numbers([value], 1) is None:
            kind = f"{type(value).__name__} {value!r:.60}".replace("\n", " ")
            raise UserError(f"{where}: image {number} has the label {kind}; a class is one whole number or one text")
    odd = next((number for number, value in enumerate(values) if not isinstance(value, str)), None)
    if odd is not None:
        raise UserError(f"{where}: the label of image {odd} is a number, and others are texts; use one of the two")
    return [*map(str, values)]


def _stored_numbers(data: Any) -> list[int] | None:
    """The class numbers that a data set has in memory, by which no image needs to be decoded; None if it has none."""
    if is_subset(data):
        whole = _stored_numbers(data.dataset)
        return None if whole is None else [whole[place] for place in data.indices]
    labels = next((getattr(data, a) for a in ("targets", "_labels", "labels", "y") if hasattr(data, a)), None)
    numbers = _whole_numbers(labels, len(data))
    samples = getattr(data, "samples", None)
    if numbers is None and isinstance(samples, Sequence) and all(isinstance(each, tuple) for each in samples):
        return _whole_numbers([each[-1] for each in samples], len(data))
    return numbers


def is_subset(data: Any) -> bool:
    """Whether a data set is a choice of the items of another one, as `torch.utils.data.Subset`."""
    return hasattr(data, "dataset") and hasattr(data, "indices")


def is_image_folder(data: Any) -> bool:
    """Whether a data set is torchvision's folder of images, whose items are its files as PIL decodes them."""
    try:
        from torchvision.datasets import DatasetFolder
        from torchvision.datasets.folder import default_loader
    except ImportError:
        return False
    plain = isinstance(data, DatasetFolder) and type(data).__getitem__ is DatasetFolder.__getitem__
    return plain and data.loader is default_loader


def _whole_numbers(values: Any, count: int) -> list[int] | None:
    try:
        array = np.asarray(values)
    except (TypeError, ValueError):
        return None
    return array.tolist() if array.shape == (count,) and np.issubdtype(array.dtype, np.integer) else None
