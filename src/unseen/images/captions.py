"""A labelled test set from the captions of a training set, and the list of what to remove from it.

An image has a class where its caption, or its tags, name exactly one. Of every class with enough such images a fixed
number is held out: those with the least SHA-256 of `seed/class/id`, so that the same captions give the same test set
on any machine, in any order, with any number of processes. Nothing is kept of other images but counts.

An image that several captions give different classes has none. That is seen among the images kept, which are some more
than are held out; no other labels are remembered.
"""

import hashlib
import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

from unseen.errors import UserError
from unseen.files import atomic_write, write_table
from unseen.images.caption_files import Batch, Columns, read_captions
from unseen.images.caption_matcher import CaptionMatcher, ClassNames, tag_texts
from unseen.orphans import end_with_parent

TEST, REMOVE, COVERAGE, CLASSES = "test.csv", "remove.csv", "coverage.csv", "classes.csv"
TEST_SET_FILE = "test-set.toml"
"""What `unseen.images.shift_sets.own` looks for in a folder."""

Held = tuple[str, str, str]
"""An image that may be held out: hash, id, text."""


@dataclass(frozen=True)
class CaptionRule:
    """How captions label, and how many images of a class must be there and are held out.

    The paper's: tags of YFCC, whole texts of LAION, 50 of classes with at least 100.
    """

    tags: bool = False
    least: int = 100
    held_out: int = 50
    seed: int = 0

    @property
    def kept(self) -> int:
        """Images of a class that are kept: enough to tell that there are `least`, and others for ambiguous ones."""
        return self.least + self.held_out

    def __post_init__(self) -> None:
        if not 1 <= self.held_out <= self.least:
            raise UserError(f"of at least {self.least} images {self.held_out} cannot be held out")


@dataclass
class Tally:
    """What some captions gave.

    Attributes:
        captions, damaged: rows read, and rows that could not be.
        matched: number of classes that a caption names, 0, 1 or 2 for several → captions.
        labelled: class number → captions that name it alone.
        ambiguous: class number → captions that name it and others.
        held: class number → the images of least hash, ascending, each once; at most as many as the rule keeps.
    """

    captions: int = 0
    damaged: int = 0
    matched: Counter[int] = field(default_factory=Counter)
    labelled: Counter[int] = field(default_factory=Counter)
    ambiguous: Counter[int] = field(default_factory=Counter)
    held: dict[int, list[Held]] = field(default_factory=dict)

    def add(self, other: "Tally", kept: int) -> None:
        """Take in what other captions gave."""
        self.captions += other.captions
        self.damaged += other.damaged
        self.matched += other.matched
        self.labelled += other.labelled
        self.ambiguous += other.ambiguous
        for number, images in other.held.items():
            self.held[number] = _least(chain(self.held.get(number, ()), images), kept)


@dataclass(frozen=True)
class CaptionSet:
    """The test set drawn, with the counts that it comes from."""

    names: ClassNames
    rule: CaptionRule
    tally: Tally
    unlabelled: tuple[str, ...]

    @property
    def test(self) -> dict[str, list[Held]]:
        """Class → its images held out, in order of hash, for the classes that have enough; no image is there twice."""
        classes = Counter(image for images in self.tally.held.values() for _, image, _ in images)
        found = {}
        for number, label in enumerate(self.names):
            images = [held for held in self.tally.held.get(number, ()) if classes[held[1]] == 1]
            if len(images) >= self.rule.least:
                found[label] = images[: self.rule.held_out]
        return found

    @property
    def ambiguous_share(self) -> float:
        """Of the captions that name any class, the part that names several."""
        return self.tally.matched[2] / max(1, self.tally.matched[1] + self.tally.matched[2])

    def write(self, folder: Path, images: Path | None = None) -> None:
        """Write the test set so that `unseen shifts run --test-set FOLDER` can read it.

        `test.csv`: id, class, caption; `remove.csv`: ids not to train on; `coverage.csv`: counts of every class;
        `classes.csv`: the classes of the test set and their names; `test-set.toml`: what the test set is.

        Args:
            images: the folder or the WebDataset shards where images are found by their ids, where that is known.
        """
        test = self.test
        write_table(folder / CLASSES, ["class", "name"], ((label, self.names[label][0]) for label in test))
        rows = ((image, label, text) for label, images in test.items() for _, image, text in images)
        write_table(folder / TEST, ["id", "class", "caption"], rows)
        ids = sorted({image for images in test.values() for _, image, _ in images})
        write_table(folder / REMOVE, ["id"], ([image] for image in ids))
        counts = (
            (label, several[0], self.tally.labelled[number], self.tally.ambiguous[number], len(test.get(label, ())))
            for number, (label, several) in enumerate(self.names.items())
        )
        root = f"root = {json.dumps(str(images.absolute()), ensure_ascii=False)}\n" if images else ""
        with atomic_write(folder / TEST_SET_FILE) as file:
            file.write(f'images = "{TEST}"\n{root}classes = "{CLASSES}"\nshifted = false\n'.encode())
        write_table(folder / COVERAGE, ["class", "name", "captions_labelled", "captions_ambiguous", "held_out"], counts)


def label_captions(
    files: Sequence[Path],
    columns: Columns,
    names: ClassNames,
    rule: CaptionRule | None = None,
    *,
    workers: int = 1,
    watch: Callable[[Iterable[Tally]], Iterable[Tally]] = iter,
) -> CaptionSet:
    """Label the images of some files by their captions and draw the test set.

    Args:
        names: names of each class; see `read_names`.
        workers: processes that match; one reads here.
        watch: sees the counts of each batch go by.
    """
    rule = rule or CaptionRule()
    matcher = CaptionMatcher(names)
    batches = (batch for path in files for batch in read_captions(path, columns))
    total = Tally()
    for tally in watch(_tallies(batches, matcher, rule, workers)):
        total.add(tally, rule.kept)
    if not total.captions:
        raise UserError(f"{files[0] if files else 'no file'}: no captions in it that could be read")
    return CaptionSet(names, rule, total, tuple(matcher.shared_only()))


def tally_batch(batch: Batch, matcher: CaptionMatcher, rule: CaptionRule) -> Tally:
    """Match the captions of a batch."""
    tally = Tally(len(batch.ids), batch.damaged)
    images = dict[int, list[Held]]()
    for image, text in zip(batch.ids, batch.texts, strict=True):
        classes = matcher.classes_in(tag_texts(text) if rule.tags else (text,))
        tally.matched[min(2, len(classes))] += 1
        if len(classes) == 1:
            (number,) = classes
            tally.labelled[number] += 1
            key = f"{rule.seed}/{matcher.classes[number]}/{image}".encode()
            images.setdefault(number, []).append((hashlib.sha256(key).hexdigest(), image, text))
        elif classes:
            tally.ambiguous.update(classes)
    tally.held = {number: _least(found, rule.kept) for number, found in images.items()}
    return tally


def _least(images: Iterable[Held], count: int) -> list[Held]:
    """The images of least hash, ascending; an image that is there twice is taken once, with its first text by order."""
    once: dict[str, Held] = {}
    for found in images:
        once[found[0]] = min(found, once.get(found[0], found))
    return heapq.nsmallest(count, once.values())


def _tallies(batches: Iterator[Batch], matcher: CaptionMatcher, rule: CaptionRule, workers: int) -> Iterator[Tally]:
    if workers <= 1:
        yield from (tally_batch(batch, matcher, rule) for batch in batches)
        return
    context = get_context("spawn")  # a forked process would share the threads of libraries in an unknown state
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(matcher, rule))
    waiting: set[Future[Tally]] = set()
    try:
        for batch in batches:
            waiting.add(pool.submit(_tally_here, batch))
            if len(waiting) >= 2 * workers:  # memory stays that of a few batches
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in waiting)
        pool.shutdown()
    except BrokenProcessPool:
        raise UserError(
            "a process that matches captions was killed, perhaps for want of memory; run it again"
        ) from None
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


_process: tuple[CaptionMatcher, CaptionRule] | None = None
"""In a process that matches: what it was started with."""


def _start(matcher: CaptionMatcher, rule: CaptionRule) -> None:
    end_with_parent()
    global _process  # noqa: PLW0603  (the names are sent once to a process, not with every batch)
    _process = matcher, rule


def _tally_here(batch: Batch) -> Tally:
    assert _process is not None
    return tally_batch(batch, *_process)
