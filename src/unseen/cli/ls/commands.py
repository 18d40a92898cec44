"""`unseen ls`: the names that other commands accept."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from unseen.cli.loading import load_backbones
from unseen.cli.ls.backbones import catalogue_rows, show, source_rows
from unseen.cli.ls.own_facts import own_metric_facts, own_probe_facts
from unseen.cli.modes import refuse_options
from unseen.cli.options import CheckpointOption, LayerOption, NormalizeOption, PoolOption, SizeOption, WeightsOption
from unseen.cli.output import Json, note, print_json, print_rows, print_table
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.probes.probe import Probe

app = typer.Typer(
    help="List backbones, data sets, probes, metrics, protocols and other names that commands accept.",
    no_args_is_help=True,
)

LOADING = ("pool", "layer", "size", "checkpoint", "weights", "normalize")
PROTOCOLS = (
    ("cog-v2", "concepts", "ImageNet-CoG: 30 trials of 100 epochs for each classifier"),
    ("cog-v2-pruned", "concepts", "the same, but poor trials stop early: about a quarter of the work"),
    ("cog-v2-short", "concepts", "a quick look: fewer and shorter trials"),
    ("ericsson-2021", "tasks", "Ericsson et al.: 45 penalties, few-shot episodes; fine-tuning with 40 settings"),
    ("ericsson-2021-exact", "tasks", "the same with the exact iterations and temperature of the authors' code"),
    ("ericsson-2021-short", "tasks", "fine-tuning with fewer settings or steps"),
    (
        "ericsson-2021-saliency",
        "tasks",
        "occlusion maps with the paper's grid of masks; other grids are labelled saliency-10-2 and so on",
    ),
    ("shi-2023", "shifts", "effective robustness on several in-distribution test sets"),
)


@app.command()
def backbones(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(help="Load this backbone and show its settings: timm:resnet50, or file.py:function."),
    ] = None,
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="List the backbones of the papers and how to get their weights.")
    ] = False,
    pool: PoolOption = None,
    layer: LayerOption = None,
    size: SizeOption = None,
    checkpoint: CheckpointOption = None,
    weights: WeightsOption = "pretrained",
    normalize: NormalizeOption = None,
    as_json: Json = False,
) -> None:
    """List the sources of backbones, or show the settings of one backbone."""
    always = ("name", "as_json")
    modes = {"": (*always, "catalogue"), "--catalogue": (*always[1:], "catalogue"), "NAME": (*always, *LOADING)}
    refuse_options(context, modes, "NAME" if name else "--catalogue" if catalogue else "")
    if name is not None:
        [loaded] = load_backbones([name], "own", "cpu", checkpoint, pool, layer, size, weights, normalise=normalize)
        show(loaded, as_json=as_json)
        return
    print_rows(*(catalogue_rows(training=as_json) if catalogue else source_rows()), as_json=as_json)


@app.command()
def datasets(
    place: Annotated[
        Path | None,
        typer.Argument(help="Your own data set (a folder or a TOML file) to check, or the name of a known one."),
    ] = None,
    dense: Annotated[
        bool, typer.Option("--dense", help="List data sets with boxes or dense labels, for unseen tasks --dense.")
    ] = False,
    as_json: Json = False,
) -> None:
    """List the data sets of the task study, or check your own data set.

    For your own data set: images per split and class, missing files, images that are in two splits, and whether a few
    images per split can be decoded. If it cannot be used, an error explains why. To see which known data sets you
    have, run `unseen doctor --images FOLDER`.
    """
    from unseen.cli.ls.datasets import dataset_rows, dense_rows
    from unseen.cli.ls.own_dataset import show_own_dataset

    if place is None:
        print_rows(*(dense_rows() if dense else dataset_rows()), as_json=as_json)
        return
    if dense:
        raise UserError("--dense lists all data sets with boxes or dense labels; leave it out to see one data set")
    for columns, rows in (dataset_rows(), dense_rows()):
        known = [row for row in rows if row[0] == str(place)]
        if known:
            print_rows(columns, known, as_json=as_json)
            return
    show_own_dataset(place, as_json=as_json)


@app.command()
def domains(
    file: Annotated[Path, typer.Argument(help="TOML or CSV file of your own classes, for unseen concepts --levels.")],
    images: Annotated[Path | None, typer.Option(help="Folder of their images, if the file does not name it.")] = None,
    as_json: Json = False,
) -> None:
    """Check the domains of your own concept study: classes, images, and problems."""
    from unseen.cli.ls.own_domains import show_domains

    show_domains(file, images, as_json=as_json)


@app.command("shift-sets")
def shift_sets(
    root: Annotated[Path | None, typer.Argument(help="Folder of test sets, to see which of them it contains.")] = None,
    test_set: Annotated[
        list[str] | None,
        typer.Option(help="Check your own test set instead (see unseen shifts run --test-set)."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Also list each corruption and severity of ImageNet-C.")] = False,
    as_json: Json = False,
) -> None:
    """List the test sets of the shift study, with their folders and how to get them."""
    from unseen.cli.ls.shift_sets import published_rows, show_own_sets

    if test_set:
        show_own_sets(test_set, as_json=as_json)
        return
    columns, rows, notices = published_rows(root, every=every)
    if as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("Test sets", columns, rows, right=["classes", "images", "images here"])
    for sentence in notices:
        note(sentence)
    if not (every or as_json):
        note("ImageNet-C has one test set per corruption and severity (imagenet-c.fog.3_on-disk); --all lists them.")


@app.command()
def probes(
    file: Annotated[
        str | None, typer.Argument(help="Show the probe in this Python file instead; the file is executed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the probes: models fitted to features, and statistics of features."""
    from unseen.probes.by_name import all_probes

    if file is not None:
        return _facts(own_probe_facts(file, note), as_json=as_json)
    rows = [(name, probe.title, ", ".join(_commands(probe))) for name, probe in all_probes().items()]
    return print_rows(("probe", "description", "command"), rows, as_json=as_json)


@app.command()
def metrics(
    file: Annotated[
        str | None, typer.Argument(help="Show the metric in this Python file instead; the file is executed.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List the metrics, with their ranges and units."""
    from unseen.metrics.catalogue import METRICS

    if file is not None:
        return _facts(own_metric_facts(file, note), as_json=as_json)
    rows = [(name, metric.range_and_direction, metric.unit) for name, metric in METRICS.items()]
    return print_rows(("metric", "range", "unit"), rows, as_json=as_json)


def _facts(facts: Mapping[str, str], *, as_json: bool) -> None:
    """One fact per row, or as JSON."""
    if as_json:
        print_json(dict(facts))
    else:
        print_rows(("fact", "value"), list(facts.items()), as_json=False)


def _commands(probe: "type[Probe]") -> Sequence[str]:
    """Those that run a probe."""
    if probe.input != "vectors":
        return probe.commands
    further = () if "unseen concepts" in probe.commands else (f"unseen concepts --extended {probe.name}",)
    return (f"unseen probe --probe {probe.name}", *probe.commands, *further)


@app.command()
def protocols(as_json: Json = False) -> None:
    """List the protocols: names that --protocol accepts and that scores are labelled with."""
    print_rows(("protocol", "study", "description"), PROTOCOLS, as_json=as_json)


@app.command()
def measures(as_json: Json = False) -> None:
    """List the measures of similarity between concepts."""
    from unseen.ontology.measures import all_measures

    rows = [(m.name, m.formula, m.uses, m.citation) for m in all_measures().values()]
    print_rows(("measure", "formula", "uses", "source"), rows, as_json=as_json)


@app.command()
def levels(as_json: Json = False) -> None:
    """List the levels that come with the package."""
    from unseen.ontology.levels import SHIPPED, load_levels

    rows = [(name, str(len(load_levels(name).concepts))) for name in SHIPPED]
    print_rows(("levels", "concepts"), rows, as_json=as_json)


@app.command()
def recipes(as_json: Json = False) -> None:
    """List the recipes of `unseen levels build --recipe`."""
    from unseen.ontology.recipes import RECIPES

    columns = ("recipe", "universe", "seen", "min images", "measure", "levels", "concepts per level")
    rows: Sequence[Sequence[str]] = [
        (r.name, r.universe, r.seen, str(r.min_images), r.measure, str(r.levels), str(r.size)) for r in RECIPES.values()
    ]
    print_rows(columns, rows, as_json=as_json)


@app.command("concept-sets")
def concept_sets(as_json: Json = False) -> None:
    """List the sets of concepts for `unseen levels build --seen` and `--universe`."""
    from unseen.ontology.wordnet import CONCEPT_SETS, wordnet

    rows = [(name, str(len(wordnet().members(name)))) for name in CONCEPT_SETS]
    print_rows(("set", "concepts"), rows, as_json=as_json)
