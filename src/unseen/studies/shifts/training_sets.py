"""Training sets of the models of a pool, and of fine-tuning: images with classes or with captions.

They are read by `unseen.data.own.one_split`. Images that are used for testing are excluded by their ids, as listed
by `unseen shifts captions`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from os import PathLike
from pathlib import Path, PurePosixPath

from unseen.data.captions.files import column_names
from unseen.data.core.chosen import choose_images
from unseen.data.core.manifest import whole
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import ImageSource
from unseen.data.own.contents import digests, shared_images
from unseen.data.own.one_split import mapped_rows, missing_images, own_listing, own_set, refuse_unlisted
from unseen.data.own.own_data import OwnData
from unseen.data.sources.columns import CAPTION_COLUMNS
from unseen.data.sources.image_tables import SUFFIXES
from unseen.errors import UserError, names_of
from unseen.features.fingerprint import names_and_pixels
from unseen.files import read_table
from unseen.ontology.class_lists import CLASS_LISTS, class_list

TRAIN, IMAGENET = "train", "imagenet-1k"


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Images to train on.

    Attributes:
        source: the labels of its entries are captions if it is `captioned`, and otherwise classes.
        notes: notes for the user.
    """

    name: str
    source: ImageSource
    captioned: bool
    notes: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.source.entries)

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the images, sorted; none for a captioned set."""
        return () if self.captioned else tuple(sorted({entry.label for entry in self.source.entries}))

    def content(self) -> str:
        """Hash of everything that determines a training: ids, labels and pixels."""
        return names_and_pixels(self.source, whole(self.source, TRAIN), (TRAIN,))


def open_training_set(
    place: str | PathLike[str] | OwnData, *, captions: bool = False, without: Collection[str] = ()
) -> TrainingSet:
    """Open a training set; missing images and labels outside its class list are refused.

    Args:
        captions: use captions instead of classes, if it has any.
        without: ids of images to exclude: paths with or without the suffix of the file, or names of files.
    """
    own = own_set(place, "train")
    captioned = captions and _has_captions(own)
    listing = own_listing(own, captions=captioned)
    if absent := missing_images(own, listing):
        raise UserError(f"{absent}; remove them from the table, or add the files")
    rows, notes = (listing.rows, ()) if captioned else mapped_rows(own, listing.rows)
    if own.classes is not None and not captioned:
        refuse_unlisted(own, [row.label for row in rows])
    held_out = _held_out(own.name, [row.id for row in rows], without)
    if held_out:
        notes = (*notes, f"{own.name}: {len(held_out):,} images are held out of training")
    place_of = {row.id: number for number, row in enumerate(listing.rows)}
    kept = [row for row in rows if row.id not in held_out]
    if not kept:
        raise UserError(f"{own.name}: all of its images are held out, so none are left to train on")
    source = choose_images(listing.open(), [place_of[row.id] for row in kept], [row.label for row in kept], own.name)
    return TrainingSet(own.name, source, captioned, notes)


def read_held_out(files: Iterable[Path]) -> set[str]:
    """The ids in CSV files with a column id, such as remove.csv of `unseen shifts captions`."""
    return {row["id"] for file in files for _, row in read_table(file, ("id",)) if row["id"]}


def class_names_of(sets: Sequence[TrainingSet], classes: str | None = None) -> dict[str, str]:
    """Class → its name, for the outputs of models that are trained on the sets.

    Args:
        classes: name of a list of classes, or a CSV file with the columns class and name. By default the labels of the
            sets, or the classes of ImageNet if there are only captions.
    """
    from unseen.backbones.zero_shot import imagenet_class_names, read_class_names

    labels = sorted({label for each in sets for label in each.classes})
    given = classes or ("" if labels else IMAGENET)
    if given and given not in CLASS_LISTS:
        return read_class_names(Path(given))
    found = class_list(given) if given else labels
    of_imagenet = set(class_list(IMAGENET)) & set(found) and find_spec("open_clip")  # it has CLIP's class names
    names = imagenet_class_names() if of_imagenet else {}
    return {label: names.get(label, label.replace("_", " ")) for label in found}


def refuse_same_sets(sets: Sequence[TrainingSet]) -> None:
    """Refuse two sets with one name, which would be one group of models."""
    names = [each.name for each in sets]
    if len(set(names)) < len(names):
        raise UserError(
            f"two training sets are called '{names[0]}'; give one of them another name (name, in its TOML file)"
        )


def refuse_tested(sets: Sequence[TrainingSet], tests: Sequence[OpenDataset]) -> None:
    """Refuse training images that are also test images, by their bytes, regardless of their names."""
    for test in tests:
        name, shown = test.dataset.name, digests(test.source, range(len(test.source.entries)))
        for each in sets:
            found = digests(each.source, range(len(each)))
            ids = [entry.id for source in (each.source, test.source) for entry in source.entries]
            # The space distinguishes the test set from a training set of the same name.
            splits = [each.name] * len(each) + [f"{name} "] * len(test.source.entries)
            both = found | {len(each) + number: digest for number, digest in shown.items()}
            shared = shared_images(both, ids, splits, each.name, f"{name} ")
            if shared.pairs:
                first = ", ".join(f"{one} is {other} of {name}" for one, other in shared.pairs[:3])
                raise UserError(
                    f"{each.name}: {len(shared.pairs):,} images of the test set {name} are among its training images "
                    f"({first}{', …' if len(shared.pairs) > 3 else ''}); leave them out (--without)"
                )


def _has_captions(own: OwnData) -> bool:
    if own.caption is not None:
        return True
    file = Path(own.images)
    table = file.suffix.lower() in SUFFIXES and file.is_file() and own.label is None
    return table and any(name in CAPTION_COLUMNS for name in column_names(file))


def _held_out(name: str, ids: Sequence[str], without: Collection[str]) -> set[str]:
    """The named images; an ambiguous name is an error, since it would remove several images."""
    if not without:
        return set()
    found = dict[str, list[str]]()
    for id_ in ids:
        path = PurePosixPath(id_)
        # The part of a path below the first folder matches too: the key of a sample after the name of its shard.
        forms = dict.fromkeys((id_, str(path.with_suffix("")), path.name, path.stem, id_.partition("/")[2]))
        for form in forms:
            if form in without:
                found.setdefault(form, []).append(id_)
    several = [form for form, own in found.items() if len(own) > 1 and form not in own]
    if several:
        raise UserError(f"{name}: images to leave out are ambiguous: {names_of(several)}; give their paths")
    return {own[0] if form not in own else form for form, own in found.items()}
