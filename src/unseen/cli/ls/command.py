"""`unseen ls KIND`: the names that other commands and studies accept."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.choices import choose
from unseen.cli.ls import names
from unseen.cli.output import Json
from unseen.cli.study_options import SetOption
from unseen.errors import UserError


@dataclass(frozen=True)
class Asked:
    """What is listed.

    Attributes:
        name: a single one to show, by its name or its path; None for all.
        data: folder of all data, to see what it has.
        catalogue: also what only papers or long lists name.
        settings: values for keys of a backbone.
    """

    name: str | None
    data: Path | None
    catalogue: bool
    settings: tuple[str, ...]
    as_json: bool


@dataclass(frozen=True)
class Kind:
    """A kind of names, and which arguments apply to it besides --json."""

    show: Callable[[Asked], None]
    takes: tuple[str, ...] = ()


KINDS = {
    "studies": Kind(names.studies),
    "keys": Kind(names.keys, ("NAME",)),
    "schema": Kind(names.schema),
    "backbones": Kind(names.backbones, ("NAME", "--catalogue", "--set")),
    "datasets": Kind(names.datasets, ("NAME", "--data")),
    "domains": Kind(names.domains, ("NAME", "--data")),
    "shift-sets": Kind(names.shift_sets, ("NAME", "--data", "--catalogue")),
    "probes": Kind(names.probes, ("NAME",)),
    "metrics": Kind(names.metrics, ("NAME",)),
    "trackers": Kind(names.trackers),
    "protocols": Kind(names.protocols),
    "measures": Kind(names.measures),
    "levels": Kind(names.levels),
    "recipes": Kind(names.recipes),
    "concept-sets": Kind(names.concept_sets),
}


def ls(
    kind: Annotated[
        str,
        typer.Argument(
            help=f"What to list: {', '.join(KINDS)}.",
            metavar="KIND",
            autocompletion=lambda incomplete: [kind for kind in KINDS if kind.startswith(incomplete)],
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            help="Show only this one, by its name or its path: a backbone, a data set of your own to check, a Python "
            "file with a probe or a metric (which is executed), a TOML file of your own classes (for domains)."
        ),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder that contains data sets, to see which of them it has.")
    ] = None,
    catalogue: Annotated[
        bool,
        typer.Option(
            "--catalogue",
            help="For backbones: those of the papers, and how to get their weights. For shift-sets: also each "
            "corruption and severity of ImageNet-C.",
        ),
    ] = False,
    settings: SetOption = None,
    as_json: Json = False,
) -> None:
    """List the names that commands accept: studies, data sets, probes …

    For a data set of your own, it shows images per split and class, missing files, images that are in two splits, and
    whether a few images per split can be decoded; if it cannot be used, the exit code is 2.
    """
    chosen = KINDS[choose("KIND", kind, tuple(KINDS))]
    given = {"NAME": name is not None, "--data": data is not None, "--catalogue": catalogue, "--set": bool(settings)}
    wrong = next((word for word, there in given.items() if there and word not in chosen.takes), None)
    if wrong is not None:
        raise UserError(f"unseen ls {kind} takes no {wrong}; leave it out")
    chosen.show(Asked(name, data, catalogue, tuple(settings or ()), as_json))
