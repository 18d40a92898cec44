"""Options that go together, for the commands that extract features; a command takes a group as one parameter."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer

from unseen.cli.choices import choose
from unseen.cli.loading import load_backbones
from unseen.cli.options import (
    EXTRACTION,
    CheckpointOption,
    ExifOption,
    FastOption,
    IgnoreDiskOption,
    LayerOption,
    NamesOption,
    NormalizeOption,
    OnErrorOption,
    PoolOption,
    PrecisionOption,
    SizeOption,
    StudyDeviceOption,
    WeightsOption,
)
from unseen.errors import UserError
from unseen.words import whole_number

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings

BATCH = 128


@dataclass(frozen=True)
class BackboneOptions:
    """What is taken of a backbone, beside its id."""

    checkpoint: CheckpointOption = None
    pool: PoolOption = None
    layer: LayerOption = None
    size: SizeOption = None
    weights: WeightsOption = "pretrained"
    name: NamesOption = None
    normalize: NormalizeOption = None

    def load(
        self, ids: Sequence[str], preprocessing: str, device: str, *, patches: bool | int = False
    ) -> "list[Backbone]":
        """The backbones of these ids; with patches, of all or so many positions."""
        return load_backbones(
            ids, preprocessing, device, self.checkpoint, self.pool, self.layer, self.size, self.weights, self.name,
            self.normalize, patches,
        )  # fmt: skip


@dataclass(frozen=True)
class ExtractionOptions:
    """How features are extracted."""

    device: StudyDeviceOption = None
    precision: PrecisionOption = None
    batch: Annotated[
        int | None,
        typer.Option(help="Images per batch: by default 128, and 256 in fine-tuning.", rich_help_panel=EXTRACTION),
    ] = None
    on_error: OnErrorOption = "fail"
    fast: FastOption = False
    exif: ExifOption = False
    ignore_disk: IgnoreDiskOption = False

    def settings(self, workers: int, part: str = "1/1") -> "Settings":
        """The settings of an extraction with so many processes that decode."""
        batch = BATCH if self.batch is None else self.batch
        return settings_of_options(
            self.device, self.precision, batch, workers, self.on_error, self.fast, self.exif, part
        )  # fmt: skip


def settings_of_options(
    device: str | None,
    precision: str | None,
    batch: int,
    workers: int,
    on_error: str,
    fast: bool = False,
    exif: bool = False,
    part: str = "1/1",
) -> "Settings":
    """How to extract, from options."""
    from unseen.features.settings import Precision, extraction_settings

    return extraction_settings(
        device,
        cast("Precision", choose("--precision", precision, get_args(Precision))) if precision else None,
        batch,
        workers,
        "report" if choose("--on-error", on_error, ("fail", "report")) == "report" else "fail",
        fast=fast,
        exif=exif,
        part=_part(part),
    )


def _part(text: str) -> tuple[int, int]:
    first, _, second = text.partition("/")
    number, parts = whole_number(first), whole_number(second)
    if number is None or parts is None:
        raise UserError(f"--part is two numbers, for instance 2/4 for the second of four, not '{text}'")
    return number, parts
