"""What `unseen ls` shows of each kind of names."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from unseen.cli.ls.origins import with_packages
from unseen.cli.output import note, print_json, print_rows, print_table
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.cli.ls.command import Asked

PROTOCOLS = (
    ("cog-v2", "logistic", "ImageNet-CoG: 30 trials of 100 epochs for each classifier"),
    ("cog-v2-pruned", "logistic", "the same, but poor trials stop early: about a quarter of the work"),
    ("cog-v2-short", "logistic", "a quick look: fewer and shorter trials"),
    ("ericsson-2021", "linear, fine-tuned", "Ericsson et al.: 45 penalties; fine-tuning with 40 settings"),
    ("ericsson-2021-exact", "linear", "the same with the exact iterations and temperature of the authors' code"),
    ("ericsson-2021-short", "fine-tuned", "fine-tuning with fewer settings or steps"),
    ("dinov2-linear", "dinov2-linear", "DINOv2: 4 inputs with 13 learning rates each, 12,500 steps of 1024 images"),
    ("dinov2-linear-short", "dinov2-linear", "the same with fewer steps; dinov2-linear-long with more"),
    ("reference", "fine-tuned", "one setting, without a search: ImageNet-CoG, supplementary C.2"),
    (
        "ericsson-2021-saliency",
        "saliency",
        "occlusion maps with the paper's grid of masks; other grids are labelled saliency-10-2 and so on",
    ),
    ("shi-2023", "classifier", "effective robustness on several in-distribution test sets"),
)


LINE = 4
"""Columns of the table of probes that fit into one line each."""


def studies(asked: "Asked") -> None:
    """The studies that come with the package, or with another one."""
    from unseen.studies.toml import shipped_study, study_texts

    rows = [(name, (study := shipped_study(name)).title, ", ".join(study.probes)) for name in study_texts()]
    found = with_packages(("study", "title", "probes"), rows, study_texts(), as_json=asked.as_json)
    print_rows(*found, as_json=asked.as_json)


def keys(asked: "Asked") -> None:
    """The keys of studies, or those of one table or one key."""
    from unseen.reading.keys import toml_value
    from unseen.studies.toml import study_keys

    found = [
        (place, each.type_words, "" if each.default is None else toml_value(each.default), each.help)
        for place, each in study_keys()
        if asked.name is None or asked.name in {place, place.rpartition(".")[0]}
    ]
    if not found:
        from unseen.errors import did_you_mean

        known = {word for place, _ in study_keys() for word in (place, place.rpartition(".")[0]) if word}
        raise UserError(f"no key '{asked.name}'{did_you_mean(str(asked.name), known)}")
    print_rows(("key", "value", "default", "meaning"), found, as_json=asked.as_json)


def schema(asked: "Asked") -> None:
    """The JSON schema of study files, with which editors complete and check them."""
    from unseen.studies.schema import study_schema

    print_json(study_schema())


def backbones(asked: "Asked") -> None:
    """The sources of backbones, those of the papers, or the settings of one."""
    from unseen.cli.ls.backbones import catalogue_rows, show_backbone, source_rows

    if asked.name is not None:
        if asked.catalogue:
            raise UserError("--catalogue lists the backbones of the papers; leave it out to see one backbone")
        show_backbone(asked.name, asked.settings, as_json=asked.as_json)
    elif asked.settings:
        raise UserError("--set needs the id of a backbone; add it: unseen ls backbones timm:resnet50 --set …")
    elif asked.catalogue:
        print_rows(*catalogue_rows(training=asked.as_json), as_json=asked.as_json)
    else:
        from unseen.backbones.load import SOURCES

        print_rows(*with_packages(*source_rows(), SOURCES, as_json=asked.as_json), as_json=asked.as_json)


def datasets(asked: "Asked") -> None:
    """Published data sets and their facts, those in a folder, or one of the user's own."""
    from unseen.cli.ls.datasets import dataset_rows, dense_rows, state_rows
    from unseen.cli.ls.own_dataset import show_own_dataset
    from unseen.data.registry import DATASETS

    if asked.name is None:
        if asked.data is not None:
            columns, found = state_rows(asked.data)
            if asked.as_json:
                print_json([dict(zip(columns[1:], row[1:], strict=True)) for row in found])
            else:
                print_table(f"Data sets in {asked.data}", columns, found, right=("images", "expected"))
            return
        tables = {
            title: with_packages(*table, DATASETS, as_json=asked.as_json)
            for title, table in (
                ("Data sets with classes", dataset_rows()),
                ("Data sets with boxes or maps", dense_rows()),
            )
        }
        if asked.as_json:
            print_json([dict(zip(columns, row, strict=True)) for columns, rows in tables.values() for row in rows])
            return
        for title, (columns, rows) in tables.items():
            print_table(title, columns, rows)
        return
    for columns, rows in (dataset_rows(), dense_rows()):
        known = [row for row in rows if row[0] == asked.name]
        if known:
            print_rows(*with_packages(columns, known, DATASETS, as_json=asked.as_json), as_json=asked.as_json)
            return
    with suppress(KeyError):
        _ = DATASETS[asked.name]  # one of another package may say why it cannot be used
    place = Path(asked.name)
    below = asked.data / place if asked.data is not None and not place.exists() else place
    show_own_dataset(below, as_json=asked.as_json)


def domains(asked: "Asked") -> None:
    """The domains in a file of the user's own classes."""
    from unseen.cli.ls.own_domains import show_domains

    if asked.name is None:
        raise UserError("name the TOML or CSV file of your own classes: unseen ls domains FILE")
    show_domains(Path(asked.name), asked.data, as_json=asked.as_json)


def shift_sets(asked: "Asked") -> None:
    """The published test sets of the shift study, those in a folder, or one of the user's own."""
    from unseen.cli.ls.shift_sets import published_rows, show_own_sets

    if asked.name is not None:
        show_own_sets([asked.name], as_json=asked.as_json)
        return
    columns, rows, notices = published_rows(asked.data, every=asked.catalogue)
    if asked.as_json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
    else:
        print_table("Test sets", columns, rows, right=["classes", "images", "images here"])
    for sentence in notices:
        note(sentence)
    if not (asked.catalogue or asked.as_json):
        note(
            "ImageNet-C has one test set per corruption and severity (imagenet-c.fog.3_on-disk); --catalogue lists "
            "them."
        )


def probes(asked: "Asked") -> None:
    """The probes, or the facts on one in a file."""
    from unseen.cli.ls.own_facts import own_probe_facts
    from unseen.probes.by_name import all_probes

    known = all_probes()
    if asked.name is not None and asked.name not in known.names():
        return _facts(own_probe_facts(asked.name, note), as_json=asked.as_json)
    columns: tuple[str, ...] = ("probe", "purpose", "input", "labels", "description", "metrics")
    rows: list[tuple[str, ...]] = [
        (name, probe.purpose, probe.input, ", ".join(probe.targets), probe.title, ", ".join(probe.metrics))
        for name, probe in (known.items() if asked.name is None else [(asked.name, known[asked.name])])
    ]
    if asked.name is None and not asked.as_json:  # one line each
        columns, rows = columns[:LINE], [row[:LINE] for row in rows]
    return print_rows(*with_packages(columns, rows, known, as_json=asked.as_json), as_json=asked.as_json)


def metrics(asked: "Asked") -> None:
    """The metrics with their ranges and units, or the facts on one in a file."""
    from unseen.cli.ls.own_facts import own_metric_facts
    from unseen.metrics.by_name import score_metrics
    from unseen.metrics.catalogue import METRICS, Metric

    added = score_metrics()
    if asked.name is not None and asked.name not in {*METRICS, *added.names()}:
        return _facts(own_metric_facts(asked.name, note), as_json=asked.as_json)
    known: dict[str, Metric] = (
        {**METRICS, **added} if asked.name is None else {asked.name: METRICS.get(asked.name) or added[asked.name]}
    )
    rows = [(name, metric.range_and_direction, metric.unit) for name, metric in known.items()]
    found = with_packages(("metric", "range", "unit"), rows, added, as_json=asked.as_json)
    return print_rows(*found, as_json=asked.as_json)


def _facts(facts: Mapping[str, str], *, as_json: bool) -> None:
    """One fact per row, or as JSON."""
    if as_json:
        print_json(dict(facts))
    else:
        print_rows(("fact", "value"), list(facts.items()), as_json=False)


def trackers(asked: "Asked") -> None:
    """The kinds of trackers that `--log` takes."""
    from unseen.trackers.by_name import all_loggers

    rows = [(name, each.title, each.where) for name, each in all_loggers().items()]
    found = with_packages(("tracker", "title", "where"), rows, all_loggers(), as_json=asked.as_json)
    print_rows(*found, as_json=asked.as_json)


def protocols(asked: "Asked") -> None:
    """The protocols that scores are labelled with."""
    print_rows(("protocol", "probe", "description"), PROTOCOLS, as_json=asked.as_json)


def measures(asked: "Asked") -> None:
    """The measures of similarity between concepts."""
    from unseen.ontology.measures import all_measures

    rows = [(m.name, m.formula, m.uses, m.citation) for m in all_measures().values()]
    print_rows(("measure", "formula", "uses", "source"), rows, as_json=asked.as_json)


def levels(asked: "Asked") -> None:
    """The levels that come with the package."""
    from unseen.ontology.levels import SHIPPED, load_levels

    rows = [(name, str(len(load_levels(name).concepts))) for name in SHIPPED]
    print_rows(("levels", "concepts"), rows, as_json=asked.as_json)


def recipes(asked: "Asked") -> None:
    """The recipes of `unseen levels build --recipe`."""
    from unseen.ontology.recipes import RECIPES

    columns = ("recipe", "universe", "seen", "min images", "measure", "levels", "concepts per level")
    rows: Sequence[Sequence[str]] = [
        (r.name, r.universe, r.seen, str(r.min_images), r.measure, str(r.levels), str(r.size)) for r in RECIPES.values()
    ]
    print_rows(columns, rows, as_json=asked.as_json)


def concept_sets(asked: "Asked") -> None:
    """The sets of concepts for `unseen levels build --seen` and `--universe`."""
    from unseen.ontology.wordnet import CONCEPT_SETS, wordnet

    rows = [(name, str(len(wordnet().members(name)))) for name in CONCEPT_SETS]
    print_rows(("set", "concepts"), rows, as_json=asked.as_json)
