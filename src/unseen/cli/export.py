"""`unseen export`: the results of runs as one file, and for a model card."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import console, counted


def export(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs of any study.")],
    out: Annotated[Path, typer.Option(help="Results file to write (.json).")] = Path("results.json"),
    backbone: Annotated[list[str] | None, typer.Option(help="Export only the backbone with this name.")] = None,
    model_card: Annotated[
        Path | None,
        typer.Option(help="Also write the scores as the `model-index` of a Hugging Face model card: .yaml or .md."),
    ] = None,
) -> None:
    """Export the results of runs to one file that others can check and compare.

    One record per backbone, protocol and domain, data set or test set: scores with intervals, settings of the features,
    versions, hardware, date and cautions. The file contains no paths of this machine.
    """
    from unseen.exchange.export import export_runs

    if model_card is not None:
        from unseen.exchange.model_card import check_card_name

        check_card_name(model_card)
    file = export_runs(runs, out, backbones=backbone or ())
    console().print(f"{counted(len(file.records), 'record')}: {out}")
    if model_card is not None:
        from unseen.exchange.model_card import write_model_card

        write_model_card(file, model_card)
        console().print(f"Model card: {model_card}")
