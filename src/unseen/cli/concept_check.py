"""`unseen concepts --check`: torchvision's first ResNet-50 against what ImageNet-CoG reports of it."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from unseen.cli.concept_steps import (
    Study,
    known_draw,
    probe_study,
    study_of_features,
    study_of_images,
    study_request,
)
from unseen.cli.concept_tables import show_compared
from unseen.cli.domains import ImageOptions, choose_levels
from unseen.cli.loading import load_backbones
from unseen.cli.output import console
from unseen.files import check_writable

if TYPE_CHECKING:
    from collections.abc import Callable

    from unseen.features.settings import Settings
    from unseen.runs.data import RunData


def check_chain(
    out: Path,
    options: ImageOptions,
    features: Path | None,
    checkpoint: Path | None,
    settings: "Callable[[], Settings]",
    *,
    domains: str | None,
    shots: str | None,
    seeds: int,
    workers: int,
    dry_run: bool,
    ignore_disk: bool,
) -> None:
    """Check the whole chain; exit code 1 where an accuracy is further from the published one than chance explains.

    Args:
        checkpoint: the weights' file, where they cannot be downloaded (resnet50-0676ba61.pth).
        settings: how to extract, asked for where features are not there.
    """
    from unseen.studies.concepts.verify import BACKBONE

    check_writable(out)
    chosen = choose_levels("cog-v2", None)
    asked = study_request(chosen, domains, shots, seeds, draw=known_draw(features, options.splits))
    if features is not None:
        study = study_of_features(asked, features, [BACKBONE], dry_run)
    else:
        how = settings()
        loaded = load_backbones([BACKBONE], "published", how.device, checkpoint)
        study = study_of_images(asked, chosen, options, loaded, how, out, workers, dry_run, ignore_disk)
    if study is not None:
        _compare(probe_study(study, out, workers, published=True), study)


def _compare(data: "RunData", study: Study) -> None:
    """Print measured beside published accuracies; exit code 1 where they do not agree."""
    from unseen.papers import published
    from unseen.runs.comparability_words import comparison_notices
    from unseen.runs.tables import score_table, summarise
    from unseen.studies.concepts.features import test_images
    from unseen.studies.concepts.verify import compare

    [places] = study.places.values()
    asked = [score for score in data.scores if score.domain in places]
    rows = compare(summarise(score_table(asked)), published("cog-v2"), test_images(places))
    show_compared(rows)
    for sentence in [*data.notices, *comparison_notices(data)]:
        console().print(f"\n{sentence}")
    if not all(row.agrees for row in rows):
        raise typer.Exit(1)
