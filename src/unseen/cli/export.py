"""`unseen export`: the results of runs as one file, and for a model card."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import console, counted
from unseen.errors import UserError
from unseen.files import byte_size


def export(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs of any study.")],
    out: Annotated[
        Path,
        typer.Option(help="Results file (.json), or the `model-index` of a Hugging Face model card (.yaml or .md)."),
    ] = Path("results.json"),
    backbone: Annotated[list[str] | None, typer.Option(help="Export only the backbone with this name.")] = None,
    hits: Annotated[
        bool,
        typer.Option("--hits", help="Also export which test images are classified correctly, for comparisons."),
    ] = False,
    classifier: Annotated[
        str | None,
        typer.Option(
            metavar="[DATASET=]FILE",
            help="Also write the logistic regression on all samples (.npz), for backbone.head of a study.",
        ),
    ] = None,
    features: Annotated[
        Path | None,
        typer.Option(help="Training features for --classifier, if they are not in the folder of the run."),
    ] = None,
) -> None:
    """Export the results of runs to one file that others can check and compare.

    One record per backbone, protocol and domain, data set or test set: scores with intervals, settings of the features,
    versions, hardware, date and cautions. The file contains no paths of this machine.
    """
    from unseen.exchange.export import export_runs
    from unseen.exchange.hits import hits_size

    if classifier is None and features is not None:
        raise UserError("--features is only for --classifier; add it, or leave out --features")
    if classifier is not None and len(runs) > 1:
        raise UserError("--classifier writes the classifier of one run; give one folder")
    file = export_runs(runs, out, backbones=backbone or (), hits=hits)
    size = f", with {byte_size(hits_size(file.records))} of hits" if hits else ""
    console().print(f"{counted(len(file.records), 'record')}{size}: {out}")
    if classifier is not None:
        from unseen.analyses.kept_classifier import write_classifier

        dataset, equals, place = classifier.rpartition("=")
        what = write_classifier(
            runs[0], Path(place), backbones=backbone or (), dataset=dataset if equals else None, features=features
        )
        console().print(f"Classifier of {what}: {place}")
