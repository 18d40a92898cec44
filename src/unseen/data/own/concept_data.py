"""The images of a user's own concept study, checked before anything is computed."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from unseen.data.concepts.domains import DRAWN_BY, SOMEBODY_ELSE, LeftOut, OnMissing, level_domains, open_domain
from unseen.data.core.entries import EntryTable
from unseen.data.core.links import links_within
from unseen.data.core.manifest import Manifest
from unseen.data.core.open_dataset import OpenDataset
from unseen.data.core.source import ImageSource
from unseen.data.core.splits import SplitRule
from unseen.data.core.tars.index import Watch
from unseen.data.own.concept_domains import own_domains
from unseen.data.own.concept_file import ConceptDescription
from unseen.data.own.contents import SharedImages, Track, digests, untracked
from unseen.data.sources.open_source import open_images
from unseen.errors import UserError, did_you_mean
from unseen.ontology.levels import Levels

TEST_SHARE = 5
"""One in this many images is for testing, if the file gives no number."""
MOST = 10**9
Side = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class ConceptData:
    """The classes of a study and the sources of their images.

    Attributes:
        levels, domains, numbers, told: those of `OwnDomains`.
        counts: class → number of images in all sources.
    """

    description: ConceptDescription
    sources: Mapping[str, ImageSource]
    levels: Levels
    domains: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, int]
    counts: Mapping[str, int]
    told: Sequence[str]

    @property
    def seen(self) -> tuple[str, ...]:
        return tuple(sorted(self.description.seen))

    @property
    def seen_domain(self) -> str:
        return self.description.file.seen_name

    @property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """The classes of every domain, the seen domain first."""
        return {self.seen_domain: self.seen, **self.domains}

    @property
    def rule(self) -> SplitRule | None:
        """How images are drawn; None if the file gives the training and test images."""
        file = self.description.file
        if len(self.sources) > 1:
            return None
        used = [self.counts.get(name, 0) for classes in self.classes.values() for name in classes]
        fewest = min((count for count in used if count > 1), default=2)
        return SplitRule(file.test or max(1, fewest // TEST_SHARE), file.least, file.train or MOST)

    @property
    def least(self) -> int:
        """Minimum number of images per class."""
        return self.description.file.least + (self.rule.test if self.rule else 0)

    def open(
        self, names: Sequence[str], on_missing: OnMissing = "fail", track: Track = untracked
    ) -> tuple[list[OpenDataset], LeftOut]:
        """The images of some domains, and the classes that were left out; duplicates across splits are refused.

        Args:
            on_missing: "report" leaves out classes without enough images instead of refusing them.
            track: shows progress while images are compared.
        """
        wanted, where = {name: self.classes[name] for name in names}, str(self.description.images["train"])
        absent = next((name for classes in wanted.values() for name in classes if name not in self.counts), "")
        advice = f'add images, or leave the classes out (on_missing = "report"){did_you_mean(absent, self.counts)}'
        if self.rule is not None:
            domains, lost = level_domains(
                self.sources["train"], wanted, where, rule=self.rule, on_missing=on_missing, advice=advice
            )
        else:
            domains, lost = self._given(wanted, where, on_missing, advice)
        if repeated := self.repeated(domains, track):
            raise UserError(f"{where}: {repeated}; remove them, or set allow_duplicates = true")
        return domains, lost

    def repeated(self, domains: Sequence[OpenDataset], track: Track = untracked) -> str:
        """Number of test images that are also training images, with examples; empty if there are none or they are
        allowed.
        """
        if self.description.file.allow_duplicates:
            return ""
        pairs = [pair for domain in domains for pair in repeated_images(domain, track)]
        return SharedImages("training", "test", pairs).sentence if pairs else ""

    def _given(
        self, wanted: Mapping[str, Collection[str]], where: str, on_missing: OnMissing, advice: str
    ) -> tuple[list[OpenDataset], LeftOut]:
        """Domains whose images are already split."""
        sides = {side: Counter(entry.label for entry in source.entries) for side, source in self.sources.items()}
        needed = {name for classes in wanted.values() for name in classes}
        least = self.description.file.least
        absent = {name for name in needed if not all(counts[name] for counts in sides.values())}
        few = {name: sides["train"][name] for name in sorted(needed - absent) if sides["train"][name] < least}
        lost = LeftOut(tuple(sorted(absent)), few)
        if lost and on_missing == "fail":
            raise UserError(f"{where}: {lost.sentence(len(needed), least)}for training or for testing; {advice}")
        domains = []
        for source in self.sources.values():
            source.about[DRAWN_BY] = SOMEBODY_ELSE
        for name, classes in wanted.items():
            kept = tuple(sorted(set(classes).difference(lost.absent, lost.few)))
            if len(kept) < 2:
                raise UserError(f"{where}: {len(kept)} classes of {name} have enough images; a classifier needs two")
            parts = {side: (source, _manifest(source, {*kept}, side)) for side, source in self.sources.items()}
            domains.append(open_domain(name, kept, parts["train"], tests=parts["test"]))
        return domains, lost


def open_concept_data(description: ConceptDescription, watch: Watch = iter) -> ConceptData:
    """Open and check the images, and build the levels unless domains are given.

    Args:
        watch: see `open_images`.
    """
    with links_within(*description.images.values(), follow=description.file.follow_links):
        sources = dict(_sources(description, watch))
    counts = Counter(entry.label for source in sources.values() for entry in source.entries)
    own = own_domains(description, counts)
    return ConceptData(description, sources, own.levels, own.domains, own.numbers, counts, own.told)


def _sources(description: ConceptDescription, watch: Watch) -> Iterator[tuple[str, ImageSource]]:
    places, file = description.images, description.file
    if file.train_split:
        test = places.get("test", places["train"])
        yield "train", open_images(places["train"], split=file.train_split, watch=watch)
        yield "test", open_images(test, split=file.test_split, watch=watch)
        return
    for side, place in places.items():
        yield side, open_images(place, watch=watch)


def _manifest(source: ImageSource, classes: Collection[str], side: str) -> Manifest:
    rows = [(entry.id, entry.label) for entry in source.entries if entry.label in classes]
    return Manifest(EntryTable.of(rows, side), [side] * len(rows))


def repeated_images(domain: OpenDataset, track: Track = untracked) -> list[tuple[str, str]]:
    """(training id, test id) for each test image that has the same bytes as a training image; all images are read."""
    trained, tested = (_digests(*domain.part(side), side, track) for side in ("train", "test"))
    first = {digest: id_ for id_, digest in reversed(trained)}
    return [(first[digest], id_) for id_, digest in tested if digest in first]


def _digests(source: ImageSource, manifest: Manifest, side: str, track: Track) -> list[tuple[str, bytes]]:
    numbers = manifest.numbers(source, side)
    by_number = digests(source, numbers, track)
    return [(source.entries[number].id, by_number[number]) for number in numbers if number in by_number]
