"""Images and levels of a user's own concept study, checked before anything is computed."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from unseen.errors import UserError, did_you_mean, names_of
from unseen.images.domains import DRAWN_BY, SOMEBODY_ELSE, LeftOut, OnMissing, level_domains, open_domain
from unseen.images.entries import EntryTable
from unseen.images.manifest import Manifest
from unseen.images.open_dataset import OpenDataset
from unseen.images.open_source import open_images
from unseen.images.own.concept_file import ConceptDescription
from unseen.images.own.contents import SharedImages, Track, digests, untracked
from unseen.images.source import ImageSource
from unseen.images.splits import SplitRule
from unseen.images.tars.index import Watch
from unseen.ontology.class_names import NamedConcepts, concepts_of_classes
from unseen.ontology.edges import read_taxonomy
from unseen.ontology.information import information_content
from unseen.ontology.levels import Concept, Levels, build_levels, nearest_seen
from unseen.ontology.recipes import Recipe
from unseen.ontology.space import Space
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import imagenet_taxonomy
from unseen.words import counted

TEST_SHARE = 5
"""One in this many images is for testing, if the file gives no number."""
MOST = 10**9
Side = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class ConceptData:
    """The classes of a study and the sources of their images.

    Attributes:
        levels: the unseen classes; each named domain is a level too, in the order of the file.
        domains: name of each unseen domain → its classes, sorted.
        numbers: name of a domain → its level in `levels`.
        counts: class → number of images in all sources.
        told: sentences to show to the user.
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


@dataclass(frozen=True)
class OwnDomains:
    """The unseen domains of a file; the attributes are those of `ConceptData`."""

    levels: Levels
    domains: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, int]
    told: Sequence[str]


def open_concept_data(description: ConceptDescription, watch: Watch = iter) -> ConceptData:
    """Open and check the images, and build the levels unless domains are given.

    Args:
        watch: see `open_images`.
    """
    sources = dict(_sources(description, watch))
    counts = Counter(entry.label for source in sources.values() for entry in source.entries)
    own = own_domains(description, counts)
    return ConceptData(description, sources, own.levels, own.domains, own.numbers, counts, own.told)


def own_domains(description: ConceptDescription, counts: Mapping[str, int]) -> OwnDomains:
    """The domains of the file, or levels built from its classes.

    Args:
        counts: class → number of images.
    """
    told, named = list[str](), description.domains
    known = {*description.seen, *description.unseen, *(name for classes in named.values() for name in classes)}
    unknown = next((name for name in description.file.concepts if name not in {*counts, *known}), None)
    if unknown is not None:
        hint = did_you_mean(unknown, {*counts, *known})
        raise UserError(f"{description.path}: [concepts] contains {unknown}, which is not a class{hint}")
    others = sorted({*counts} - known)
    if named or description.unseen:
        if others:
            images, classes = counted(sum(counts[name] for name in others), "image"), counted(len(others), "class")
            told.append(f"In no domain: {images} of {classes} ({names_of(others)}).")
        unseen = description.unseen
    else:
        unseen = tuple(others)
    levels, more = _named_levels(description, counts) if named else _built(description, unseen, counts)
    domains = {name: tuple(sorted(classes)) for name, classes in named.items()} or {
        f"l{number}": levels.ids(number) for number in levels.numbers
    }
    numbers = {name: number for number, name in enumerate(domains, start=1)}
    return OwnDomains(levels, domains, numbers, [*told, *more])


def _sources(description: ConceptDescription, watch: Watch) -> Iterator[tuple[str, ImageSource]]:
    places, file = description.images, description.file
    if file.train_split:
        test = places.get("test", places["train"])
        yield "train", open_images(places["train"], split=file.train_split, watch=watch)
        yield "test", open_images(test, split=file.test_split, watch=watch)
        return
    for side, place in places.items():
        yield side, open_images(place, watch=watch)


def _built(
    description: ConceptDescription, unseen: Sequence[str], counts: Mapping[str, int]
) -> tuple[Levels, list[str]]:
    """Levels of the unseen classes, by the similarity of their concepts to the seen concepts."""
    file, where = description.file, str(description.path)
    if not unseen:
        raise UserError(f"{where}: no classes are left to build levels from: all classes of the images are seen")
    try:
        named, taxonomy = _concepts(description, unseen)
    except UserError as error:
        raise UserError(f"{error}; classes without a concept can be used in [domains] instead of levels") from None
    seen = [named.ids[name] for name in description.seen]
    above = taxonomy.above(taxonomy.index(seen))
    wider = [name for name in unseen if above[taxonomy.position[named.ids[name]]]]
    kept = [name for name in unseen if name not in wider]
    told = [f"Not unseen, because they include seen classes: {names_of(wider)}."] if wider else []
    size = file.size or len(kept) // file.levels
    if size * file.levels > len(kept) or size < 2:
        raise UserError(f"{where}: {len(kept)} classes are too few for {file.levels} levels of {max(size, 2)}")
    recipe = Recipe(
        description.name, universe="unseen", seen="seen", measure=file.measure, levels=file.levels, size=size,
        leaves="any",
    )  # fmt: skip
    label = {concept: name for name, concept in named.ids.items()}
    built = build_levels(
        recipe,
        taxonomy,
        [named.ids[name] for name in kept],
        seen,
        counts={named.ids[name]: counts.get(name, 0) for name in kept},
        information=information_content(taxonomy),
    )
    between = [label[each.wnid] for each in built.ranking if not each.level]
    told += [f"Not used, because they fall between two levels: {names_of(between)}."] if between else []
    concepts = tuple(
        replace(each, wnid=label[each.wnid], nearest=label[each.nearest]) for each in built.levels.concepts
    )
    return Levels(description.name, concepts), [*told, *([_guesses(named)] if named.guessed else [])]


def _concepts(description: ConceptDescription, classes: Sequence[str]) -> tuple[NamedConcepts, Taxonomy]:
    """The concepts of the seen and the other classes, and the taxonomy over which information content is computed.

    With WordNet this is ImageNet-21K plus these concepts: over a few classes alone, most similarities would be ties.
    """
    file, own = description.file, None if description.taxonomy is None else read_taxonomy(description.taxonomy)
    labels = [*description.seen, *classes]
    named = concepts_of_classes(labels, file.concepts, own, str(description.path), first_sense=file.first_sense)
    return named, own or imagenet_taxonomy(named.ids.values())


def _guesses(named: NamedConcepts) -> str:
    chosen = [f"{name} is {concept}" for name, concept in named.guessed.items()]
    return f"Words with several meanings: {names_of(chosen)}. To choose another meaning, set it in [concepts]."


def _named_levels(description: ConceptDescription, counts: Mapping[str, int]) -> tuple[Levels, list[str]]:
    """One level per domain of the file, with similarities to the seen classes if the taxonomy contains all of them."""
    classes = [name for members in description.domains.values() for name in members]
    try:
        similar, told = _similarities(description, classes)
    except UserError as error:
        if description.taxonomy or description.file.concepts:
            raise
        similar, told = {}, [f"Similarities to the seen classes are not computed ({error})."]
    concepts, rank = list[Concept](), 0
    for level, members in enumerate(description.domains.values(), start=1):
        for name in sorted(members, key=lambda each: (-(similar[each][0] if each in similar else 0), each)):
            similarity, nearest = similar.get(name, (None, ""))
            concepts.append(Concept(level, rank, name, name, similarity, nearest, counts.get(name, 0)))
            rank += 1
    return Levels(description.name, tuple(concepts)), told


def _similarities(
    description: ConceptDescription, classes: Sequence[str]
) -> tuple[dict[str, tuple[float, str]], list[str]]:
    """Class → its similarity to the nearest seen class, and that class."""
    named, taxonomy = _concepts(description, classes)
    rows, columns = (taxonomy.index([named.ids[name] for name in part]) for part in (classes, description.seen))
    best, values = nearest_seen(Space(taxonomy), description.file.measure, rows, columns)
    nearest = {
        name: (float(value), description.seen[place])
        for name, value, place in zip(classes, values, best.tolist(), strict=True)
    }
    return nearest, [_guesses(named)] if named.guessed else []


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
    return [(source.entries[number].id, by_number[number]) for number in numbers]
