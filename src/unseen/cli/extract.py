"""`unseen extract`: from backbones and images to features on disk."""

from pathlib import Path
from typing import Annotated

import typer

from unseen.cli.machine_options import MachineOptions
from unseen.cli.option_groups import with_groups
from unseen.cli.output import console, note
from unseen.cli.study_options import (
    AllowCodeOption,
    BackboneOption,
    Changes,
    DataOption,
    DatasetsOption,
    SetOption,
    given_of,
)
from unseen.cli.watching import CommandWatch
from unseen.files import check_writable


@with_groups
def extract(
    *,
    out: Annotated[Path, typer.Option(help="Folder for the features, with one folder per data set.")],
    backbone: BackboneOption = None,
    data: DataOption = None,
    datasets: DatasetsOption = None,
    settings: SetOption = None,
    machine: MachineOptions,
    only_plan: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan with estimates of images and disk space, and stop.")
    ] = False,
    allow_code: AllowCodeOption = False,
) -> None:
    """Extract the features of images with one or several backbones.

    If it is interrupted, the same command resumes; existing features are not extracted again. unseen run --features
    measures them.

    Data sets are those of unseen run, or any images: a folder of classes, a list, tar files, WebDataset shards, a
    Hugging Face data set, torchvision:NAME. With --set levels=cog-v2, the concepts of a study are extracted.
    """
    check_writable(out)
    share = machine.share
    from unseen.studies.extraction import EXTRACTION, FeatureExtraction, extraction_of

    changed = Changes(backbones=backbone, datasets=datasets, settings=settings).of(EXTRACTION)
    kept = any(word.partition("=")[0].strip() == "preprocessing" for word in settings or ())
    study = extraction_of(changed, levels_given=changed.levels is not None and not kept)
    means = machine.means
    watch = CommandWatch(means, share)
    work = FeatureExtraction(study, given_of(data, None, allow_code=allow_code), means, watch, share)
    if only_plan:
        return watch.planned(work.plan(out))
    for split, stores in work.run(out):
        for store in stores:
            say_store(f"{split.name}, {split.split}", store)
    return None


def say_store(what: str, store: Path) -> None:
    """Print the place of features, whether parts are missing, and how many damaged images were left out."""
    from unseen.features.store import MANIFEST
    from unseen.studies.stored_features import damaged_images

    if not (store / MANIFEST).is_file():
        console().print(f"{what}: {store} (unfinished: other parts are missing)")
        return
    console().print(f"{what}: {store}")
    if sentence := damaged_images(what, store):
        note(sentence)
