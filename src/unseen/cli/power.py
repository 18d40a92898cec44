"""`unseen power`: how many test images, concepts or seeds would resolve a difference."""

from typing import Annotated

import typer

from unseen.cli import completion
from unseen.cli.output import Json, console, note, print_json

MOST_NOTES = 5


def power(
    study: Annotated[
        str,
        typer.Argument(
            metavar="RUN|STUDY",
            help="Folder of a pilot run; or a study that was not run, planned from typical variances.",
            autocompletion=completion.studies,
        ),
    ],
    difference: Annotated[
        float,
        typer.Option(
            help="The difference to resolve, in percentage points (0.5), or in the unit of scores that are no shares."
        ),
    ],
    backbone: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="The two backbones to compare. Default: the mean over all pairs of the run."),
    ] = None,
    datasets: Annotated[
        list[str] | None, typer.Option(help="Data sets to plan for. Default: all.", autocompletion=completion.datasets)
    ] = None,
    shots: Annotated[
        str | None, typer.Option(help="Training images per class: a number, or all. Default: the most of each probe.")
    ] = None,
    images: Annotated[
        int | None, typer.Option(help="Test images per concept, or in all. Default: as in the run.")
    ] = None,
    concepts: Annotated[int | None, typer.Option(help="Concepts of a level. Default: as in the run.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Number of seeds. Default: as in the run.")] = None,
    json: Json = False,
) -> None:
    """Plan how large a study must be to resolve a difference.

    For each data set, the answer says which differences a study of this size resolves with 80% power, and how many test
    images, concepts or seeds, each alone with the rest as it is, would resolve the given one. The variances are those
    of a pilot run.
    """
    from unseen.analyses.power.planning import plan_power

    plans = plan_power(
        study, difference, points=True, backbones=backbone, datasets=datasets, shots=shots, images=images,
        concepts=concepts, seeds=seeds,
    )  # fmt: skip
    if json:
        print_json(
            {"source": plans.source, "plans": [plan.record() for plan in plans.every], "left_out": plans.left_out}
        )
        return
    out = console()
    out.soft_wrap = False
    out.print(plans.source)
    for plan in plans.every:
        out.print("\n" + " ".join(plan.sentences))
    if plans.wide:
        out.print("\nPairs of backbones differ widely; plan for the one that matters (--backbone A,B).")
    for sentence in plans.left_out[:MOST_NOTES]:
        note(f"Left out: {sentence}")
    if len(plans.left_out) > MOST_NOTES:
        note(f"Left out: {len(plans.left_out) - MOST_NOTES} more")
