"""The domains of a concept study as data sets: the seen concepts, and each level of unseen ones.

The levels share one source of images, in which each concept is split by a draw. The seen concepts have two sources, as
in ImageNet-1K: one for training and one for testing.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from unseen.data.core.dataset import Dataset
from unseen.data.core.entries import EntryTable
from unseen.data.core.manifest import Manifest, whole
from unseen.data.core.open_dataset import Images, OpenDataset
from unseen.data.core.source import ImageSource
from unseen.data.core.splits import COG, ClassSplit, SplitRule, Splits, draw_splits
from unseen.errors import UserError

SEEN = "in1k"
"""The domain of the seen concepts."""
DRAWN_BY = "drawn by"
"""The key in a source's `about` for who chose the training and test images; manifests of features keep it."""
US, SOMEBODY_ELSE = "us", "somebody else"
SHOWN = 3
OnMissing = Literal["fail", "report"]


@dataclass(frozen=True)
class LeftOut:
    """Concepts without images, and concepts with too few images together with their counts."""

    absent: tuple[str, ...] = ()
    few: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.absent) + len(self.few)

    def sentence(self, wanted: int, least: int) -> str:
        """A sentence on what is missing, with a few names."""
        parts = []
        if self.absent:
            parts.append(f"no images of {len(self.absent):,} of {wanted:,} concepts ({_few(self.absent)})")
        if self.few:
            named = [f"{name} has {count}" for name, count in self.few.items()]
            parts.append(f"fewer than {least} images of {len(self.few):,} of {wanted:,} concepts ({_few(named)})")
        return " and ".join(parts)


def open_domain(name: str, concepts: Sequence[str], images: Images, *, tests: Images | None = None) -> OpenDataset:
    """A domain with training and test images.

    Args:
        concepts: ids of its classes, sorted.
        tests: the test images, if they have a source of their own.
    """
    apart = {} if tests is None else {"test": tests}
    return OpenDataset(Dataset(name, name, len(concepts), names=tuple(concepts)), *images, apart=apart)


def level_domains(
    source: ImageSource,
    levels: Mapping[str, Collection[str]],
    where: str,
    *,
    rule: SplitRule = COG,
    seed: int = 0,
    splits: Splits | None = None,
    on_missing: OnMissing = "fail",
    advice: str = "",
) -> tuple[list[OpenDataset], LeftOut]:
    """The images of each level, and the concepts that were left out.

    Reads the source twice, for any number of levels; a concept may be in several levels.

    Args:
        levels: name of a level → ids of its concepts.
        where: name of the source in error messages.
        splits: existing splits, used instead of a draw by `rule` and `seed`.
        on_missing: "report" leaves out concepts with no or too few images for the rule, instead of refusing them.
        advice: advice given in the error message.
    """
    wanted = set[str]().union(*levels.values())
    if splits is None:
        names = _names(source, wanted)
        least = rule.test + rule.min_train
        few = {label: len(images) for label, images in sorted(names.items()) if len(images) < least}
        lost = LeftOut(tuple(sorted(wanted - set(names))), few)
        _refuse(lost, wanted, least, where, on_missing, advice)
        kept = wanted.difference(lost.absent, lost.few)
        splits = draw_splits(names.items(), kept, source=where, rule=rule, seed=seed)
    else:
        lost = LeftOut(tuple(sorted(wanted - set(splits.classes))))
        _refuse(lost, wanted, 1, f"the splits of {splits.source}", on_missing, advice)
        kept = wanted.difference(lost.absent)
    source.about[DRAWN_BY] = US if splits.rule is not None else SOMEBODY_ELSE
    chosen = {level: tuple(sorted(kept.intersection(concepts))) for level, concepts in levels.items()}
    for level, concepts in chosen.items():
        if len(concepts) < 2:
            raise UserError(f"{where}: {len(concepts)} concepts of {level} have enough images; a classifier needs two")
    return list(_domains(source, chosen, splits, where)), lost


def seen_domain(
    train: ImageSource, test: ImageSource, expected: Collection[str] | None, where: str, name: str = SEEN
) -> OpenDataset:
    """All images of one source for training and all of another for testing; both must have the same classes.

    Args:
        expected: ids that the classes must have, if known.
    """
    classes = [{entry.label for entry in source.entries} for source in (train, test)]
    _same_classes(classes[0], classes[1], f"{where}: training and validation images", ("training", "validation"))
    if expected is not None:
        _same_classes(set(expected), classes[0], f"{where}: the seen domain and the images", ("seen", "images"))
    images, tests = (train, whole(train, "train")), (test, whole(test, "test"))
    return open_domain(name, sorted(classes[0]), images, tests=tests)


def _names(source: ImageSource, wanted: Collection[str]) -> dict[str, list[str]]:
    """Image names of every wanted class."""
    names: dict[str, list[str]] = {}
    for entry in source.entries:
        if entry.label in wanted:
            names.setdefault(entry.label, []).append(entry.id.rpartition("/")[2])
    return names


def _domains(
    source: ImageSource, levels: Mapping[str, Sequence[str]], splits: Splits, where: str
) -> Iterator[OpenDataset]:
    members: dict[str, list[str]] = {}
    for level, concepts in levels.items():
        for label in concepts:
            members.setdefault(label, []).append(level)
    ids: dict[str, list[tuple[str, str]]] = {level: [] for level in levels}
    words: dict[str, list[str]] = {level: [] for level in levels}
    for id_, label, word in _sides(source, {label: splits.classes[label] for label in members}, where):
        for level in members[label]:
            ids[level].append((id_, label))
            words[level].append(word)
    for level, concepts in levels.items():
        manifest = Manifest(EntryTable.of(ids.pop(level), f"{where}, {level}"), words[level])
        yield open_domain(level, concepts, (source, manifest))


def _sides(source: ImageSource, splits: Mapping[str, ClassSplit], where: str) -> Iterator[tuple[str, str, str]]:
    """(id, class, split) of the images named by splits, in the order of the source; a missing image is an error.

    The names of a class are only kept in memory from its first image to its last, so that one class is in memory at a
    time if the source stores classes contiguously.
    """
    waiting: dict[str, dict[str, str]] = {}
    done = set[str]()
    for entry in source.entries:
        label = entry.label
        if label not in splits or label in done:
            continue
        if label not in waiting:
            split = splits[label]
            waiting[label] = dict.fromkeys(split.train, "train") | dict.fromkeys(split.test, "test")
        word = waiting[label].pop(entry.id.rpartition("/")[2], None)
        if word is not None:
            yield entry.id, label, word
        if not waiting[label]:
            del waiting[label]
            done.add(label)
    for label in splits:
        if label not in done:
            left = waiting.get(label) or dict.fromkeys((*splits[label].train, *splits[label].test))
            lacking = f"{len(left):,} images of {label} are in the splits but missing"
            raise UserError(f"{where}: {lacking}, {next(iter(left))} for one")


def _refuse(lost: LeftOut, wanted: Collection[str], least: int, where: str, on_missing: OnMissing, advice: str) -> None:
    if lost and on_missing == "fail":
        raise UserError(f"{where}: {lost.sentence(len(wanted), least)}" + (f"; {advice}" if advice else ""))


def _same_classes(first: set[str], second: set[str], what: str, names: tuple[str, str]) -> None:
    for one, other, name in ((first, second, names[0]), (second, first, names[1])):
        only = sorted(one - other)
        if only:
            raise UserError(f"{what} have different classes: {len(only):,} occur only in {name} ({_few(only)})")


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:SHOWN]) + (", …" if len(names) > SHOWN else "")
