"""Images and levels of a concept study of the user's own, looked through before anything is computed."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from unseen.errors import UserError, did_you_mean, names_of
from unseen.images.concept_file import Description
from unseen.images.domains import DRAWN_BY, SOMEBODY_ELSE, DomainImages, LeftOut, OnMissing, level_domains
from unseen.images.entries import EntryTable
from unseen.images.manifest import Manifest
from unseen.images.open_source import open_images
from unseen.images.own.contents import SharedImages, digests
from unseen.images.source import ImageSource
from unseen.images.splits import SplitRule
from unseen.images.tar_index import Watch
from unseen.ontology.class_names import NamedConcepts, concepts_of_classes
from unseen.ontology.edges import read_taxonomy
from unseen.ontology.information import information_content
from unseen.ontology.levels import Concept, Levels, build_levels, nearest_seen
from unseen.ontology.recipes import Recipe
from unseen.ontology.space import Space
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import imagenet_taxonomy

TEST_SHARE = 5
"""One image of so many tests, where the file does not say how many."""
MOST = 10**9
Side = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class ConceptData:
    """A study's classes, and where their images are.

    Attributes:
        levels: the unseen classes; a domain by name is a level too, in the order of the file.
        domains: name of each unseen domain → its classes, sorted.
        numbers: name of a domain → its level in `levels`.
        counts: class → images, of all places.
        told: sentences on what the user should know.
    """

    description: Description
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
        """Those of every domain, the seen one first."""
        return {self.seen_domain: self.seen, **self.domains}

    @property
    def rule(self) -> SplitRule | None:
        """How images are drawn; None where the file says which train and which test."""
        file = self.description.file
        if len(self.sources) > 1:
            return None
        used = [self.counts.get(name, 0) for classes in self.classes.values() for name in classes]
        fewest = min((count for count in used if count > 1), default=2)
        return SplitRule(file.test or max(1, fewest // TEST_SHARE), file.least, file.train or MOST)

    @property
    def least(self) -> int:
        """Fewest images that a class needs."""
        return self.description.file.least + (self.rule.test if self.rule else 0)

    def open(self, names: Sequence[str], on_missing: OnMissing = "fail") -> tuple[list[DomainImages], LeftOut]:
        """The images of some domains, and which classes had to be left out; duplicates across splits are refused.

        Args:
            on_missing: "report" leaves out classes without enough images.
        """
        wanted, where = {name: self.classes[name] for name in names}, str(self.description.images["train"])
        absent = next((name for classes in wanted.values() for name in classes if name not in self.counts), "")
        hint = did_you_mean(absent, self.counts).removeprefix("; ").replace("?", "? Or ")
        advice = f"{hint}give more images, or leave them out: --on-missing report"
        if self.rule is not None:
            found, lost = level_domains(
                self.sources["train"], wanted, where, rule=self.rule, on_missing=on_missing, advice=advice
            )
        else:
            found, lost = self._given(wanted, where, on_missing, advice)
        if repeated := self.repeated(found):
            raise UserError(f"{where}: {repeated}; remove them, or say allow_duplicates = true")
        return found, lost

    def repeated(self, domains: Sequence[DomainImages]) -> str:
        """How many test images of domains train too, with a few of them; empty where none do, or where they may."""
        if self.description.file.allow_duplicates:
            return ""
        pairs = [pair for domain in domains for pair in repeated_images(domain)]
        return SharedImages("training", "test", pairs).sentence if pairs else ""

    def _given(
        self, wanted: Mapping[str, Collection[str]], where: str, on_missing: OnMissing, advice: str
    ) -> tuple[list[DomainImages], LeftOut]:
        """Domains whose images are split already."""
        sides = {side: Counter(entry.label for entry in source.entries) for side, source in self.sources.items()}
        needed = {name for classes in wanted.values() for name in classes}
        least = self.description.file.least
        absent = {name for name in needed if not all(found[name] for found in sides.values())}
        few = {name: sides["train"][name] for name in sorted(needed - absent) if sides["train"][name] < least}
        lost = LeftOut(tuple(sorted(absent)), few)
        if lost and on_missing == "fail":
            raise UserError(f"{where}: {lost.sentence(len(needed), least)}, to train or to test; {advice}")
        found = []
        for source in self.sources.values():
            source.about[DRAWN_BY] = SOMEBODY_ELSE
        for name, classes in wanted.items():
            kept = tuple(sorted(set(classes).difference(lost.absent, lost.few)))
            if len(kept) < 2:
                raise UserError(f"{where}: {len(kept)} classes of {name} have enough images; a classifier needs two")
            parts = {side: (source, _manifest(source, {*kept}, side)) for side, source in self.sources.items()}
            rows = {side: len(manifest) for side, (_, manifest) in parts.items()}
            found.append(DomainImages(name, kept, parts, rows))
        return found, lost


def open_concept_data(description: Description, watch: Watch = iter) -> ConceptData:
    """Look through the images, and build the levels where they are to be built.

    Args:
        watch: as of `open_images`.
    """
    sources = dict(_sources(description, watch))
    counts = Counter(entry.label for source in sources.values() for entry in source.entries)
    told, named = list[str](), description.domains
    known = {*description.seen, *description.unseen, *(name for classes in named.values() for name in classes)}
    unknown = next((name for name in description.file.concepts if name not in {*counts, *known}), None)
    if unknown is not None:
        hint = did_you_mean(unknown, {*counts, *known})
        raise UserError(f"{description.path}: [concepts] has {unknown}, which is no class{hint}")
    others = sorted({*counts} - known)
    if named or description.unseen:
        if others:
            images = sum(counts[name] for name in others)
            told.append(f"{images:,} images of {len(others):,} classes are in no domain: {names_of(others)}.")
        unseen = description.unseen
    else:
        unseen = tuple(others)
    levels, more = _named_levels(description, counts) if named else _built(description, unseen, counts)
    domains = {name: tuple(sorted(classes)) for name, classes in named.items()} or {
        f"l{number}": levels.ids(number) for number in levels.numbers
    }
    numbers = {name: number for number, name in enumerate(domains, start=1)}
    return ConceptData(description, sources, levels, domains, numbers, counts, [*told, *more])


def _sources(description: Description, watch: Watch) -> Iterator[tuple[str, ImageSource]]:
    places, file = description.images, description.file
    if file.train_split:
        test = places.get("test", places["train"])
        yield "train", open_images(places["train"], split=file.train_split, watch=watch)
        yield "test", open_images(test, split=file.test_split, watch=watch)
        return
    for side, place in places.items():
        yield side, open_images(place, watch=watch)


def _built(description: Description, unseen: Sequence[str], counts: Mapping[str, int]) -> tuple[Levels, list[str]]:
    """Levels of the unseen classes, by similarity of their concepts to those of the seen ones."""
    file, where = description.file, str(description.path)
    if not unseen:
        raise UserError(f"{where}: no classes are left to build levels from, all of the images are seen")
    named, taxonomy = _concepts(description, unseen)
    seen = [named.ids[name] for name in description.seen]
    above = taxonomy.above(taxonomy.index(seen))
    wider = [name for name in unseen if above[taxonomy.position[named.ids[name]]]]
    kept = [name for name in unseen if name not in wider]
    told = [f"Not unseen, as seen classes are of that kind: {names_of(wider)}."] if wider else []
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
    told += [f"In gaps between levels: {names_of(between)}."] if between else []
    concepts = tuple(
        replace(each, wnid=label[each.wnid], nearest=label[each.nearest]) for each in built.levels.concepts
    )
    return Levels(description.name, concepts), [*told, *([_guesses(named)] if named.guessed else [])]


def _concepts(description: Description, classes: Sequence[str]) -> tuple[NamedConcepts, Taxonomy]:
    """The concepts of the seen and of other classes, and the taxonomy that information content is counted over.

    With WordNet that is ImageNet-21K with these concepts: counted over a few classes alone, most similarities are ties.
    """
    file, own = description.file, None if description.taxonomy is None else read_taxonomy(description.taxonomy)
    labels = [*description.seen, *classes]
    named = concepts_of_classes(labels, file.concepts, own, str(description.path), first_sense=file.first_sense)
    return named, own or imagenet_taxonomy(named.ids.values())


def _guesses(named: NamedConcepts) -> str:
    said = [f"{name} is {concept}" for name, concept in named.guessed.items()]
    return f"Words with several meanings: {names_of(said)}. If one is meant otherwise, say so in [concepts]."


def _named_levels(description: Description, counts: Mapping[str, int]) -> tuple[Levels, list[str]]:
    """A level for each domain of the file, with similarities to the seen classes where the taxonomy has all of them."""
    classes = [name for members in description.domains.values() for name in members]
    try:
        similar, told = _similarities(description, classes)
    except UserError as error:
        if description.taxonomy or description.file.concepts:
            raise
        first = str(error).removeprefix(f"{description.path}: ").partition(";")[0]
        similar, told = {}, [f"Without similarities to the seen classes, as not all have one concept: {first}."]
    concepts, rank = list[Concept](), 0
    for level, members in enumerate(description.domains.values(), start=1):
        for name in sorted(members, key=lambda each: (-(similar[each][0] if each in similar else 0), each)):
            similarity, nearest = similar.get(name, (None, ""))
            concepts.append(Concept(level, rank, name, name, similarity, nearest, counts.get(name, 0)))
            rank += 1
    return Levels(description.name, tuple(concepts)), told


def _similarities(description: Description, classes: Sequence[str]) -> tuple[dict[str, tuple[float, str]], list[str]]:
    """Class → similarity to the nearest seen class, and which that is."""
    named, taxonomy = _concepts(description, classes)
    rows, columns = (taxonomy.index([named.ids[name] for name in part]) for part in (classes, description.seen))
    best, values = nearest_seen(Space(taxonomy), description.file.measure, rows, columns)
    found = {
        name: (float(value), description.seen[place])
        for name, value, place in zip(classes, values, best.tolist(), strict=True)
    }
    return found, [_guesses(named)] if named.guessed else []


def _manifest(source: ImageSource, classes: Collection[str], side: str) -> Manifest:
    rows = [(entry.id, entry.label) for entry in source.entries if entry.label in classes]
    return Manifest(EntryTable.of(rows, side), [side] * len(rows))


def repeated_images(domain: DomainImages) -> list[tuple[str, str]]:
    """Ids of a training and a test image with the same bytes, for each such test image; all are read."""
    trained, tested = (_digests(*domain.sides[side], side) for side in ("train", "test"))
    first = {digest: id_ for id_, digest in reversed(trained)}
    return [(first[digest], id_) for id_, digest in tested if digest in first]


def _digests(source: ImageSource, manifest: Manifest, side: str) -> list[tuple[str, bytes]]:
    numbers = manifest.numbers(source, side)
    found = digests(source, numbers)
    return [(source.entries[number].id, found[number]) for number in numbers]
