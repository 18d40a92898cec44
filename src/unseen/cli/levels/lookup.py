"""`unseen levels lookup` and `unseen levels similarity`."""

from typing import Annotated, get_args

import typer

from unseen.cli.choices import choose, one_of
from unseen.cli.output import Json, console, print_json, print_table


def lookup(
    key: Annotated[str, typer.Argument(help="Id (n02123159), name (tiger_cat.n.02), or word (tiger cat).")],
    gloss: Annotated[bool, typer.Option("--gloss", help="Search the glosses for this text.")] = False,
    as_json: Json = False,
) -> None:
    """Look up a concept in WordNet 3.0."""
    from unseen.errors import UserError
    from unseen.ontology.wordnet import CONCEPT_SETS, wordnet

    if not key.strip():
        raise UserError("give an id, a name or a word, or a text with --gloss")
    net = wordnet()
    found = net.search(key) if gloss else net.find(key)
    if not found:
        if gloss:
            raise UserError(f"no gloss of a WordNet 3.0 noun contains '{key}'")
        found = [net.synset(key)]
    members = {name: frozenset(net.members(name)) for name in CONCEPT_SETS}
    records = [
        {
            "wnid": synset.wnid,
            "name": synset.name,
            "lemmas": list(synset.lemmas),
            "gloss": synset.gloss,
            "parents": [net.names[net.position[parent]] for parent in synset.parents],
            "depth": int(net.taxonomy.depth[net.position[synset.wnid]]),
            "in": [name for name, ids in members.items() if synset.wnid in ids],
        }
        for synset in found
    ]
    if as_json:
        print_json(records)
        return
    columns = ("wnid", "name", "in", "parents", "gloss")
    cell = {"in": ", ".join, "parents": ", ".join}
    rows = ([cell.get(column, str)(record[column]) for column in columns] for record in records)  # type: ignore[arg-type]
    print_table(f"{len(records)} concept{'s' * (len(records) > 1)} for '{key}'", columns, rows)


def similarity(
    a: Annotated[str, typer.Argument(help="Id or name of a concept.")],
    b: Annotated[str, typer.Argument(help="Id or name of another concept.")],
    measure: Annotated[str, typer.Option(help="Similarity measure (unseen ls measures), or all.")] = "lin",
    lcs: Annotated[
        str,
        one_of(
            "depth",
            "information",
            help="Rule that chooses the lowest common ancestor: greatest depth or greatest information content.",
        ),
    ] = "depth",
    over: Annotated[
        str, one_of("imagenet", "wordnet", help="Taxonomy that information content is computed over.")
    ] = "imagenet",
    as_json: Json = False,
) -> None:
    """Compute the similarity of two concepts.

    Information content is computed as for the cog-v2 levels, over ImageNet-21K and its ancestors. For other concepts,
    add --over wordnet.
    """
    from unseen.errors import UserError
    from unseen.ontology.class_names import concept_of_word
    from unseen.ontology.measures import all_measures, get_measure
    from unseen.ontology.measures import similarity as measure_pair
    from unseen.ontology.space import LcsRule, Space
    from unseen.ontology.wordnet import imagenet_taxonomy, wordnet

    net = wordnet()
    ids = [concept_of_word(a), concept_of_word(b)]
    choose("--over", over, ("imagenet", "wordnet"))
    taxonomy = net.taxonomy if over == "wordnet" else imagenet_taxonomy()
    for wnid in ids:
        if wnid not in taxonomy.position:
            raise UserError(f"{wnid} is not an ImageNet-21K concept or an ancestor of one; add --over wordnet")
    space = Space(taxonomy, lcs=choose("--lcs", lcs, get_args(LcsRule)))
    if measure == "all":
        names = [name for name, known in all_measures().items() if known.uses != "vectors"]
    elif get_measure(measure).uses == "vectors":
        raise UserError(
            f"{measure} compares word vectors; use it with unseen levels build --measure {measure} --set "
            "word-vectors=FILE"
        )
    else:
        names = [measure]
    values = {name: measure_pair(space, ids[0], ids[1], name) for name in names}
    if as_json:
        titles = [net.names[net.position[wnid]] for wnid in ids]
        print_json({"a": ids[0], "b": ids[1], "names": titles, "similarity": values})
    elif len(values) == 1:
        console().print(f"{values[names[0]]:.6f}")
    else:
        print_table(
            "", ("measure", "similarity"), ((name, f"{value:.6f}") for name, value in values.items()), ["similarity"]
        )
