"""Groups of options: flat for Typer, one parameter for the command."""

from dataclasses import dataclass
from typing import Annotated

import typer

from unseen.cli.option_groups import ExtractionOptions, with_groups


@dataclass(frozen=True)
class Size:
    """Two options."""

    width: Annotated[int, typer.Option(help="Pixels.")] = 3
    names: Annotated[list[str] | None, typer.Option("--name")] = None


def run(*words: str) -> list[object]:
    """What a command with a group gets."""
    said: list[object] = []

    @with_groups
    def command(*, out: Annotated[str, typer.Option()], size: Size, loud: bool = False) -> None:
        """Doc."""
        said.extend([out, size, loud])

    app = typer.Typer()
    app.command()(command)
    app(list(words), standalone_mode=False)
    return said


def test_fields_are_options_with_their_defaults() -> None:
    assert run("--out", "x") == ["x", Size(), False]
    assert run("--name", "a", "--width", "5", "--loud", "--name", "b", "--out", "y") == ["y", Size(5, ["a", "b"]), True]


def test_how_features_are_extracted() -> None:
    settings = ExtractionOptions(device="cpu", on_error="report").settings(2, (2, 4))
    assert (settings.batch, settings.workers, settings.on_error, settings.part) == (128, 2, "report", (2, 4))
    assert ExtractionOptions(device="cpu", batch=7).settings(0).batch == 7
