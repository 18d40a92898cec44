"""Groups of options: flat for Typer, one parameter for the command."""

from dataclasses import dataclass
from typing import Annotated

import pytest
import typer

from unseen.cli.machine_options import MachineOptions
from unseen.cli.option_groups import with_groups
from unseen.errors import UserError


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


def test_where_jobs_run() -> None:
    chosen = MachineOptions(workers=0, part="2/4")
    assert (chosen.means.decoding, chosen.means.workers, chosen.share) == (0, 1, (2, 4))
    ray = MachineOptions(workers=3, executor="ray:10.0.0.1:6379").means
    assert (ray.executor, ray.ray_address, ray.workers) == ("ray", "10.0.0.1:6379", 3)
    for wrong in ("here:address", "ray:", "rai"):
        with pytest.raises(UserError):
            _ = MachineOptions(executor=wrong).means
