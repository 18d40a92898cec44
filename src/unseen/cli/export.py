"""`unseen export`: the results of runs as one file, and for a model card."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.output import console, counted, note
from unseen.errors import UserError
from unseen.files import byte_size


def export(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs of any study.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="Results file (.json), or the `model-index` of a Hugging Face model card (.yaml or .md); a folder for "
            "other formats. Default: results.json, or the name of the format."
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="unseen, every-eval-ever, or hf-eval-results, with :OWNER for the owner of the data sets on the Hub.",
        ),
    ] = "unseen",
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
    from unseen.exchange.formats import check_format

    if classifier is None and features is not None:
        raise UserError("--features is only for --classifier; add it, or leave out --features")
    if classifier is not None and len(runs) > 1:
        raise UserError("--classifier writes the classifier of one run; give one folder")
    check_format(form, hits=hits)
    if form == "unseen":
        _export_ours(runs, out or Path("results.json"), backbone or (), hits=hits)
    else:
        _export_for_others(runs, form, out, backbone or ())
    if classifier is not None:
        from unseen.analyses.kept_classifier import write_classifier

        dataset, equals, place = classifier.rpartition("=")
        what = write_classifier(
            runs[0], Path(place), backbones=backbone or (), dataset=dataset if equals else None, features=features
        )
        console().print(f"Classifier of {what}: {place}")


def _export_ours(runs: Sequence[Path], out: Path, backbones: Sequence[str], *, hits: bool) -> None:
    from unseen.exchange.export import export_runs
    from unseen.exchange.hits import hits_size

    file = export_runs(runs, out, backbones=backbones, hits=hits)
    size = f", with {byte_size(hits_size(file.records))} of hits" if hits else ""
    console().print(f"{counted(len(file.records), 'record')}{size}: {out}")


def _export_for_others(runs: Sequence[Path], form: str, out: Path | None, backbones: Sequence[str]) -> None:
    from unseen.exchange.formats import export_for_others

    folder = out or Path(form.partition(":")[0])
    written = export_for_others(runs, form, folder, backbones=backbones)
    console().print(f"{counted(written.scores, 'score')} in {counted(len(written.files), 'file')}: {folder}")
    for what, why in written.left_out.items():
        note(f"Left out: {what}; {why}.")
