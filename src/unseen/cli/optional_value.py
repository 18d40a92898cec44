"""Commands with options that may be given without a value: `--extended`, or `--extended kmeans,pca`; `--patches`."""

from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer import Context

VALUES = {"--extended": "all", "--patches": "all"}
"""Option → its value if none is given."""


class OptionalValues(TyperCommand):
    """A command that fills in the value of such an option if the next word is another option, or there is none."""

    def parse_args(self, ctx: "Context", args: list[str]) -> list[str]:  # type: ignore[override]
        given: list[str] = []
        for word, after in zip(args, [*args[1:], "--"], strict=True):
            given.append(word)
            if word in VALUES and after.startswith("-"):
                given.append(VALUES[word])
        return super().parse_args(ctx, given)
