"""A labelled test set drawn from the captions of a training set, and the list of images to remove from training.

An image gets a class if its caption (or its tags) names exactly one. For every class with enough such images, a fixed
number is held out: those with the smallest SHA-256 of `seed/class/id`. The same captions therefore give the same test
set on any machine, in any order and with any number of processes. Only counts are kept of the other images.

An image with several captions that give different classes is unlabelled. Such conflicts are detected among the
candidates kept per class, which are a few more than are held out; other labels are not stored.
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

from unseen.data.captions.files import Batch, Columns, read_captions
from unseen.data.captions.matcher import CaptionMatcher, ClassNames, tag_texts
from unseen.data.captions.rule import CaptionRule
from unseen.errors import UserError
from unseen.files import write_table, write_text
from unseen.orphans import end_with_parent

TEST, REMOVE, COVERAGE, CLASSES = "test.csv", "remove.csv", "coverage.csv", "classes.csv"
TEST_SET_FILE = "test-set.toml"
"""The file name that `unseen.data.own.one_split` expects in a folder."""

Held = tuple[str, str, str]
"""A candidate for the test set: hash, id, text."""


@dataclass
class Tally:
    """Counts and candidates from a set of captions.

    Attributes:
        captions, damaged: numbers of rows read, and of rows that could not be read.
        matched: number of classes named (0, 1, or 2 for several) → number of captions.
        labelled: class index → captions that name only this class.
        ambiguous: class index → captions that name this class and others.
        held: class index → the candidates with the smallest hashes, ascending and unique; at most `rule.kept`.
    """

    captions: int = 0
    damaged: int = 0
    matched: Counter[int] = field(default_factory=Counter)
    labelled: Counter[int] = field(default_factory=Counter)
    ambiguous: Counter[int] = field(default_factory=Counter)
    held: dict[int, list[Held]] = field(default_factory=dict)

    def add(self, other: "Tally", kept: int) -> None:
        """Add the counts and candidates of other captions."""
        self.captions += other.captions
        self.damaged += other.damaged
        self.matched += other.matched
        self.labelled += other.labelled
        self.ambiguous += other.ambiguous
        for number, images in other.held.items():
            self.held[number] = _least(chain(self.held.get(number, ()), images), kept)


@dataclass(frozen=True)
class CaptionSet:
    """The test set, and the counts it was drawn from."""

    names: ClassNames
    rule: CaptionRule
    tally: Tally
    unlabelled: tuple[str, ...]

    @property
    def test(self) -> dict[str, list[Held]]:
        """Class → its held-out images in order of hash, for classes with enough images; no image occurs twice."""
        classes = Counter(image for images in self.tally.held.values() for _, image, _ in images)
        chosen = {}
        for number, label in enumerate(self.names):
            images = [held for held in self.tally.held.get(number, ()) if classes[held[1]] == 1]
            if len(images) >= self.rule.least:
                chosen[label] = images[: self.rule.held_out]
        return chosen

    @property
    def ambiguous_share(self) -> float:
        """Share of the captions naming any class that name several."""
        return self.tally.matched[2] / max(1, self.tally.matched[1] + self.tally.matched[2])

    def write(self, folder: Path, images: Path | None = None) -> None:
        """Write the test set so that `unseen run shifts --datasets FOLDER` can read it.

        `test.csv`: id, class, caption; `remove.csv`: ids to exclude from training; `coverage.csv`: counts for every
        class; `classes.csv`: the classes of the test set and their names; `test-set.toml`: the description of the test
        set.

        Args:
            images: the folder or WebDataset shards that contain the images by id, if known.
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
        write_text(folder / TEST_SET_FILE, f'images = "{TEST}"\n{root}classes = "{CLASSES}"\nshifted = false\n')
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
    """Label the images of caption files and draw the test set.

    Args:
        names: names of each class; see `read_names`.
        workers: number of matching processes; this process reads the files.
        watch: receives the counts of each batch, to show progress.
    """
    rule = rule or CaptionRule()
    matcher = CaptionMatcher(names)
    batches = (batch for path in files for batch in read_captions(path, columns))
    total = Tally()
    for tally in watch(_tallies(batches, matcher, rule, workers)):
        total.add(tally, rule.kept)
    if not total.captions:
        raise UserError(f"{files[0] if files else 'no file'}: contains no readable captions")
    return CaptionSet(names, rule, total, tuple(matcher.shared_only()))


def tally_batch(batch: Batch, matcher: CaptionMatcher, rule: CaptionRule) -> Tally:
    """Match the captions of one batch."""
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
    tally.held = {number: _least(candidates, rule.kept) for number, candidates in images.items()}
    return tally


def _least(images: Iterable[Held], count: int) -> list[Held]:
    """The candidates with the smallest hashes, ascending; a repeated image is kept once, with its first text in sorted
    order.
    """
    once: dict[str, Held] = {}
    for candidate in images:
        once[candidate[0]] = min(candidate, once.get(candidate[0], candidate))
    return heapq.nsmallest(count, once.values())


def _tallies(batches: Iterator[Batch], matcher: CaptionMatcher, rule: CaptionRule, workers: int) -> Iterator[Tally]:
    if workers <= 1:
        yield from (tally_batch(batch, matcher, rule) for batch in batches)
        return
    context = get_context("spawn")  # a forked process would inherit library threads in an unknown state
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_start, initargs=(matcher, rule))
    waiting: set[Future[Tally]] = set()
    try:
        for batch in batches:
            waiting.add(pool.submit(_tally_here, batch))
            if len(waiting) >= 2 * workers:  # keeps only a few batches in memory
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        yield from (future.result() for future in waiting)
        pool.shutdown()
    except BrokenProcessPool:
        raise UserError(
            "a caption-matching process was killed, perhaps because memory ran out; run the command again"
        ) from None
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


_process: tuple[CaptionMatcher, CaptionRule] | None = None
"""In a matching process: the arguments it was started with."""


def _start(matcher: CaptionMatcher, rule: CaptionRule) -> None:
    end_with_parent()
    global _process  # noqa: PLW0603  (the names are sent once to a process, not with every batch)
    _process = matcher, rule


def _tally_here(batch: Batch) -> Tally:
    assert _process is not None
    return tally_batch(batch, *_process)
