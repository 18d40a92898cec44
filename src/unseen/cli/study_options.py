"""Options that say what is measured: they change keys of a study, for `unseen run`, `probe` and `extract`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from unseen.cli import completion
from unseen.errors import UserError

if TYPE_CHECKING:
    from unseen.studies.given import Given
    from unseen.studies.places import Places
    from unseen.studies.study import Study

WHAT = "What is measured"

StudyArgument = Annotated[
    str,
    typer.Argument(
        help="A name (unseen ls studies), a TOML file, or the folder of a run.",
        autocompletion=completion.studies,
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Change a key: knn.k=5.",
        rich_help_panel=WHAT,
    ),
]
ProbesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--probes",
        help="Names (unseen ls probes) or Python files.",
        rich_help_panel=WHAT,
        autocompletion=completion.probes,
    ),
]
ShotsOption = Annotated[
    list[str] | None,
    typer.Option("--shots", help="Training samples per class: 1,8,all.", rich_help_panel=WHAT),
]
SeedsOption = Annotated[int | None, typer.Option("--seeds", help="Number of seeds.", rich_help_panel=WHAT)]
BackboneOption = Annotated[
    list[str] | None,
    typer.Option(
        "--backbone",
        help="Id such as timm:resnet50, NAME=ID, or a CSV.",
        rich_help_panel=WHAT,
        autocompletion=completion.backbones,
    ),
]
DatasetsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--datasets",
        help="Names (unseen ls datasets) or paths.",
        rich_help_panel=WHAT,
        autocompletion=completion.datasets,
    ),
]
DataOption = Annotated[
    list[str] | None,
    typer.Option(
        "--data",
        metavar="DIR|NAME=PLACE",
        help="Folder of all data sets, or the place of one: imagenet-21k=FILE.",
        rich_help_panel=WHAT,
    ),
]
LogOption = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        help="Also log scores to NAME[:WHERE]: jsonl, mlflow, tensorboard or wandb.",
        autocompletion=completion.trackers,
    ),
]
ReplaceOption = Annotated[
    bool, typer.Option("--replace", help="Replace results in the folder that differ from this run.")
]
AllowCodeOption = Annotated[bool, typer.Option("--allow-code", help="Execute Python files the study names.")]


@dataclass(frozen=True)
class Changes:
    """What options change in a study, in the order in which they are applied; None for what was not given.

    Attributes:
        settings: words such as `knn.k=5`.
    """

    backbones: Sequence[str] | None = None
    datasets: Sequence[str] | None = None
    probes: Sequence[str] | None = None
    shots: Sequence[str] | None = None
    seeds: int | None = None
    limit: int | None = None
    settings: Sequence[str] | None = None

    def of(self, study: "Study") -> "Study":
        """The study with these changes."""
        from unseen.reading.keys import keys_of, read_text
        from unseen.studies.backbones import named_words
        from unseen.studies.keys import StudyKeys
        from unseen.studies.study import changed

        lists: dict[str, Any] = {"datasets": self.datasets, "probes": self.probes}
        for name, words in lists.items():
            if words is not None:
                study = changed(study, {name: list(words)}, f"--{name}")
        if self.shots is not None:
            found = keys_of(StudyKeys)["shots"]
            study = changed(study, {"shots": read_text(found, ",".join(self.shots), "--shots")}, "--shots")
        for name, value in (("seeds", self.seeds), ("limit", self.limit)):
            if value is not None:
                study = changed(study, {name: value}, f"--{name}")
        if self.backbones is not None:
            study = named_words(study, self.backbones)
        return with_settings(study, self.settings or ())


def with_settings(study: "Study", words: Sequence[str]) -> "Study":
    """The study with the values of `--set`."""
    from unseen.reading.keys import key_and_text
    from unseen.studies.study import with_value

    for word in words:
        study = with_value(study, *key_and_text(word, "knn.k=5"))
    return study


def read_study(word: str, *, allow_code: bool = False) -> "Study":
    """A study by its name, its file, or the folder of a run; code that a file names needs permission."""
    from unseen.studies.study_file import refuse_code
    from unseen.studies.toml import find_study

    study = find_study(word)
    refuse_code(study, word, allowed=allow_code)
    return study


def places_of(data: Sequence[str] | None) -> "Places":
    """Where the images of a study are."""
    from unseen.studies.places import Places

    return Places.of(data)


def given_of(data: Sequence[str] | None, features: Path | None, *, allow_code: bool) -> "Given":
    """What a study is run with on this machine."""
    from unseen.studies.given import Given

    if data and features is not None:
        raise UserError("give images (--data) or features (--features), not both")
    if features is not None and not features.is_dir():
        raise UserError(f"{features}: no such folder; give the folder with one folder of features per data set")
    return Given(places_of(data), features, allow_code=allow_code)
