"""Groups of options that several commands share: each is a dataclass whose fields are options."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, cast, get_args, get_type_hints

import typer

from unseen.cli.choices import choose
from unseen.cli.loading import load_backbones
from unseen.cli.options import (
    EXTRACTION,
    CheckpointOption,
    DecodeOption,
    DevicesOption,
    ExecutorOption,
    ExifOption,
    FastOption,
    IgnoreDiskOption,
    LayerOption,
    NamesOption,
    NormalizeOption,
    OnErrorOption,
    PoolOption,
    PrecisionOption,
    RayAddressOption,
    SizeOption,
    StudyDeviceOption,
    WeightsOption,
)
from unseen.cli.running import processes
from unseen.runs.means import Means

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.features.settings import Settings
    from unseen.runs.parts import Part

BATCH = 128


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command for Typer, in which each dataclass parameter is replaced by its fields.

    A field is annotated like a parameter of a command, and has a default.
    """
    groups: dict[str, type] = {}
    flat: list[Parameter] = []
    for parameter in signature(command, eval_str=True).parameters.values():
        if is_dataclass(kind := parameter.annotation) and isinstance(kind, type):
            groups[parameter.name] = kind
            hints = get_type_hints(kind, include_extras=True)
            flat += [
                Parameter(field.name, Parameter.KEYWORD_ONLY, default=field.default, annotation=hints[field.name])
                for field in fields(kind)
            ]
        else:
            flat.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**options: Any) -> None:
        grouped = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        return command(**options, **grouped)

    run.__signature__ = Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


@dataclass(frozen=True)
class BackboneOptions:
    """How a backbone is loaded, beside its id."""

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
        """Load backbones by their ids; with `patches`, for all patches or so many."""
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
        typer.Option(help="Images per batch. Default: 128; with --finetune, 256.", rich_help_panel=EXTRACTION),
    ] = None
    on_error: OnErrorOption = "fail"
    fast: FastOption = False
    exif: ExifOption = False
    decode: DecodeOption = None
    ignore_disk: IgnoreDiskOption = False

    def settings(self, workers: int, part: "Part" = (1, 1)) -> "Settings":
        """The settings of an extraction with this number of decoding processes."""
        batch = BATCH if self.batch is None else self.batch
        return settings_of_options(
            self.device, self.precision, batch, workers, self.on_error, self.fast, self.exif, self.decode, part
        )  # fmt: skip


@dataclass(frozen=True)
class MachineOptions:
    """Where jobs run."""

    devices: DevicesOption = None
    executor: ExecutorOption = None
    ray_address: RayAddressOption = None

    def means(self, workers: int | None, *, every_gpu: bool) -> Means:
        """The hardware to run jobs on; without --devices, every GPU or one."""
        from unseen.runs.machine import chosen_means

        return chosen_means(
            processes(workers),
            devices=self.devices,
            executor=self.executor,
            ray_address=self.ray_address,
            every_gpu=every_gpu,
        )


def settings_of_options(
    device: str | None,
    precision: str | None,
    batch: int,
    workers: int,
    on_error: str,
    fast: bool = False,
    exif: bool = False,
    decode: str | None = None,
    part: "Part" = (1, 1),
) -> "Settings":
    """Extraction settings from options."""
    from unseen.features.settings import Decode, Precision, extraction_settings

    return extraction_settings(
        device,
        cast("Precision", choose("--precision", precision, get_args(Precision))) if precision else None,
        batch,
        workers,
        "report" if choose("--on-error", on_error, ("fail", "report")) == "report" else "fail",
        fast=fast,
        exif=exif,
        decode=cast("Decode", choose("--decode", decode, get_args(Decode))) if decode else None,
        part=part,
    )
