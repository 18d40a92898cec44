"""The unseen domains of a user's own concept study: levels that are built from its classes, or domains by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from unseen.data.own.concept_file import ConceptDescription
from unseen.errors import UserError, did_you_mean, names_of
from unseen.ontology.class_names import NamedConcepts, concepts_of_classes
from unseen.ontology.edges import read_taxonomy
from unseen.ontology.information import information_content
from unseen.ontology.levels import Concept, Levels, build_levels, nearest_seen
from unseen.ontology.recipes import Recipe
from unseen.ontology.space import Space
from unseen.ontology.taxonomy import Taxonomy
from unseen.ontology.wordnet import imagenet_taxonomy
from unseen.text.words import counted


@dataclass(frozen=True)
class OwnDomains:
    """The unseen domains of a file.

    Attributes:
        levels: the unseen classes; each named domain is a level too, in the order of the file.
        domains: name of each domain → its classes, sorted.
        numbers: name of a domain → its level in `levels`.
        told: sentences to show to the user.
    """

    levels: Levels
    domains: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, int]
    told: Sequence[str]


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
