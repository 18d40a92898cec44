"""`unseen levels`: build, show and plot concept levels; look up concepts; draw training and test images."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.choices import one_of
from unseen.cli.levels import lookup, splits
from unseen.cli.output import Json, console, note, print_json, print_table
from unseen.cli.settings import setting_option
from unseen.ontology.recipe_keys import FILES, RecipeKeys
from unseen.reading.keys import with_texts

if TYPE_CHECKING:
    from unseen.ontology.levels import Built, Levels

app = typer.Typer(
    help="Build, show and plot concept levels: sets of unseen concepts, from similar to the seen ones to dissimilar.",
    no_args_is_help=True,
)
app.add_typer(splits.app, name="splits")

MOST_IMAGES = 1350
LevelsArgument = Annotated[str, typer.Argument(help="cog-v2, cog-v1, or a levels CSV.")]
OutOption = Annotated[Path | None, typer.Option(help="Write the levels to this CSV file.")]
VectorsOption = Annotated[Path | None, typer.Option(help="File of word vectors, for --measure cosine.")]


@app.command()
def build(
    recipe: Annotated[
        str | None, typer.Option(help="Published recipe to start from, cog-v2 or cog-v1; other options change it.")
    ] = None,
    counts: Annotated[Path | None, typer.Option(help="Number of images per concept: a CSV with wnid,images.")] = None,
    images: Annotated[
        Path | None,
        typer.Option(help="Folder to count images in, instead of --counts: one folder or tar file per class."),
    ] = None,
    seen: Annotated[
        str | None, typer.Option(help="Seen concepts: imagenet-1k, or a file with one id per line.")
    ] = None,
    measure: Annotated[str | None, typer.Option(help="Similarity measure (unseen ls measures).")] = None,
    levels: Annotated[int | None, typer.Option(help="Number of levels.")] = None,
    size: Annotated[int | None, typer.Option(help="Concepts per level.")] = None,
    settings: Annotated[list[str] | None, setting_option(RecipeKeys)] = None,
    explain: Annotated[list[str] | None, typer.Option(help="Explain why this concept is included or excluded.")] = None,
    out: OutOption = None,
    plot: Annotated[Path | None, typer.Option(help="Also plot the ranking: .png, .svg, .pdf or .html.")] = None,
    as_json: Json = False,
) -> None:
    """Rank unseen concepts by similarity to the seen ones and divide the ranking into levels.

    With --recipe, builds the published levels. Without it, builds your own: --seen is required, and everything else
    defaults to ImageNet-21K, Lin similarity, five levels of 1000 concepts and no minimum number of images.
    """
    from unseen.cli.levels.build import Inputs, build_from_inputs, changed_recipe

    keys = with_texts(RecipeKeys(), settings or ())
    chosen = changed_recipe(recipe, keys, seen=seen, measure=measure, levels=levels, size=size)
    files = {name: Path(place) for name in FILES if (place := getattr(keys, name))}
    inputs = Inputs(counts=counts, images=images, **files)
    built, explained = build_from_inputs(chosen, inputs, explain or [])
    if out:
        built.levels.write(out)
    if plot:
        from unseen.report.levels.charts import ranking_chart

        ranking_chart(built.levels, built.ranking).save(plot)
    if as_json:
        print_json(_summary(built) | {"explained": explained, "out": str(out) if out else None})
        return
    for sentence in explained:
        console().print(sentence)
    if not explained:
        _print_steps(built)
        _print_levels(built.levels)
    for written in filter(None, (out, plot)):
        note(f"Wrote {written}")
    if not (out or explained):
        note("To save these levels, add --out levels.csv.")


@app.command()
def show(
    levels: LevelsArgument = "cog-v2",
    level: Annotated[int | None, typer.Option(help="List the concepts of this level.")] = None,
    as_json: Json = False,
) -> None:
    """Summarise levels, or list the concepts of one level."""
    from unseen.ontology.levels import load_levels

    loaded = load_levels(levels)
    if level is not None:
        rows = [(c.rank, c.wnid, c.name, _number(c.similarity), c.nearest, c.images) for c in loaded[level]]
        columns = ("rank", "wnid", "name", "similarity", "nearest", "images")
        if as_json:
            print_json([dict(zip(columns, row, strict=True)) for row in rows])
        else:
            print_table(f"{loaded.name}, level {level}", columns, rows, ("rank", "similarity", "images"))
    elif as_json:
        print_json({"name": loaded.name, "levels": _level_records(loaded)})
    else:
        _print_levels(loaded)


@app.command()
def plot(
    levels: LevelsArgument = "cog-v2",
    figure: Annotated[str, one_of("ranking", "images", "examples", help="Plot to make.")] = "ranking",
    concept: Annotated[str, typer.Option(help="Concept to compare with, for --figure examples.")] = "n02123159",
    out: Annotated[Path, typer.Option(help="File to write: .png, .svg, .pdf or .html.")] = Path("levels.html"),
) -> None:
    """Plot the ranking with its levels, the images per concept, or examples by similarity to one concept."""
    from unseen.cli.choices import choose
    from unseen.ontology.levels import load_levels
    from unseen.report.levels.charts import examples_chart, images_chart, ranking_chart

    wanted = choose("--figure", figure, ("ranking", "images", "examples"))
    if wanted == "examples":
        from unseen.ontology.class_names import concept_of_word
        from unseen.ontology.space import Space
        from unseen.ontology.wordnet import imagenet_taxonomy, wordnet

        wnid = concept_of_word(concept)
        universe = wordnet().members("imagenet-21k")
        chart = examples_chart(Space(imagenet_taxonomy([wnid])), wnid, universe, "lin")
    else:
        loaded = load_levels(levels)
        chart = ranking_chart(loaded) if wanted == "ranking" else images_chart(loaded)
    chart.save(out)
    note(f"Wrote {out}")


@app.command()
def rerank(
    levels: LevelsArgument,
    measure: Annotated[str, typer.Option(help="Similarity measure (unseen ls measures).")] = "cosine",
    vectors: VectorsOption = None,
    seen: Annotated[
        str, typer.Option(help="Seen concepts: imagenet-1k, or a file with one id per line.")
    ] = "imagenet-1k",
    out: OutOption = None,
    as_json: Json = False,
) -> None:
    """Rank the same concepts by another measure and divide them into levels again.

    Works for levels of WordNet concepts. The paper compares word vectors with Lin similarity in this way.
    """
    from unseen.ontology.reranking import reranked

    _present(reranked(levels, measure, vectors, seen, tell=note), out, as_json)


@app.command()
def random(
    levels: LevelsArgument = "cog-v2",
    draws: Annotated[int, typer.Option(help="Number of random sets.")] = 15,
    size: Annotated[int, typer.Option(help="Concepts per set.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the draws.")] = 0,
    out: OutOption = None,
    as_json: Json = False,
) -> None:
    """Draw random sets of concepts from levels, as a baseline."""
    from unseen.ontology.levels import load_levels, random_levels

    _present(random_levels(load_levels(levels).concepts, draws, size, seed), out, as_json)


app.command("lookup")(lookup.lookup)
app.command("similarity")(lookup.similarity)


@app.command("import")
def import_(
    path: Annotated[Path, typer.Argument(help="The authors' file of levels (.pkl).")],
    out: Annotated[Path, typer.Option(help="Write the levels to this CSV file.")] = Path("levels.csv"),
) -> None:
    """Convert the authors' file of levels to CSV, without executing its pickle."""
    from unseen.data.concepts.cog_files import import_levels

    imported = import_levels(path)
    imported.write(out)
    note(f"Wrote {out}: {len(imported)} levels, {len(imported.concepts)} concepts, named {imported.name}")


def _present(levels: "Levels", out: Path | None, as_json: bool) -> None:
    if out:
        levels.write(out)
    if as_json:
        print_json({"name": levels.name, "levels": _level_records(levels), "out": str(out) if out else None})
        return
    _print_levels(levels)
    if out:
        note(f"Wrote {out}")


def _print_steps(built: "Built") -> None:
    recipe = built.recipe
    rows = [(f"start from {recipe.universe}", "", f"{built.selection.universe:,}")]
    rows += [(step.rule, f"−{len(step.removed):,}", f"{step.left:,}") for step in built.selection.steps]
    print_table(f"Eligible concepts, recipe {recipe.name}", ("step", "removed", "left"), rows, ("removed", "left"))
    console().print()


def _print_levels(levels: "Levels") -> None:
    rows = [
        (
            f"L{record['level']}",
            f"{record['first_rank']}–{record['last_rank']}",
            record["concepts"],
            _number(record["mean_similarity"]),
            f"{record['images']:,}" if record["images"] is not None else "",
            f"{record['images_used']:,}" if record["images_used"] is not None else "",
            record["closest"],
            record["furthest"],
        )
        for record in _level_records(levels)
    ]
    used = f"used (≤{MOST_IMAGES} each)"
    columns = ("level", "ranks", "concepts", "similarity", "images", used, "closest", "furthest")
    print_table(f"Levels {levels.name}", columns, rows, ("concepts", "similarity", "images", used))
    console().print()


def _level_records(levels: "Levels") -> list[dict[str, object]]:
    """One record per level; `images_used` counts at most 1350 images per concept, as in the protocol."""
    records: list[dict[str, object]] = []
    for number in levels.numbers:
        concepts = sorted(levels[number], key=lambda concept: concept.rank)
        similarities = [c.similarity for c in concepts if c.similarity is not None]
        images = [c.images for c in concepts if c.images is not None]
        records.append(
            {
                "level": number,
                "first_rank": concepts[0].rank,
                "last_rank": concepts[-1].rank,
                "concepts": len(concepts),
                "mean_similarity": sum(similarities) / len(similarities) if similarities else None,
                "images": sum(images) if images else None,
                "images_used": sum(min(count, MOST_IMAGES) for count in images) if images else None,
                "closest": concepts[0].word,
                "furthest": concepts[-1].word,
            }
        )
    return records


def _summary(built: "Built") -> dict[str, object]:
    steps = [{"rule": s.rule, "removed": len(s.removed), "left": s.left} for s in built.selection.steps]
    return {
        "recipe": built.recipe.name,
        "universe": built.selection.universe,
        "steps": steps,
        "eligible": len(built.selection.eligible),
        "levels": _level_records(built.levels),
    }


def _number(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else ""
