"""Settings of an extraction, and those that determine the features."""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from unseen.backbones.backbone import Spec
from unseen.data.core.decoding.decode import OnError
from unseen.device import default_device
from unseen.errors import UserError, setting

if TYPE_CHECKING:
    import torch

REVISION = 2  # of the extraction code: raise it when the same settings give other numbers
Precision = Literal["half", "bfloat", "single"]
Decode = Literal["cpu", "gpu"]
Decoder = Literal["cpu", "gpu", "gpu-processors"]
"""GPUs without a hardware JPEG decoder ("gpu-processors") do not give exactly PIL's pixels."""


@dataclass(frozen=True)
class Settings:
    """Settings of an extraction.

    Attributes:
        precision: "half" computes in float16 under autocast and stores float16; "bfloat" computes in bfloat16, which
            has the range of float32, and stores float32; "single" computes and stores float32.
        workers: number of processes that decode images; 0 decodes in this process.
        shard_rows: images per file of features.
        on_error: "fail" ends the extraction at a damaged image; "report" skips it and lists it in the store.
        fast: resize with PyTorch; some pixels differ from PIL's by one or two grey levels.
        exif: rotate images by their EXIF orientation.
        decode: where JPEGs are decoded and resized. A GPU with a hardware decoder ("gpu") gives PIL's pixels, one
            without ("gpu-processors") nearly so. Files that it cannot decode are decoded by PIL.
        part: (k, n) extracts the k-th of n parts of the shards.
        compact: store float16 for any precision, as for patches, of which an image has hundreds.
    """

    device: str = "cpu"
    precision: Precision = "single"
    batch: int = 128
    workers: int = 2
    shard_rows: int = 10_000
    on_error: OnError = "fail"
    fast: bool = False
    exif: bool = False
    part: tuple[int, int] = (1, 1)
    compact: bool = False
    decode: Decoder = "cpu"

    @property
    def dtype(self) -> Literal["float16", "float32"]:
        """Dtype of the stored features."""
        return "float16" if self.precision == "half" or self.compact else "float32"

    def decides(self, spec: Spec, manifest_hash: str, split: str, images: str | None = None) -> dict[str, Any]:
        """Everything that the bytes of a store depend on, except rounding by the device. Its hash is the store's key.

        Args:
            images: `fingerprint` of the images of the split, since a manifest contains only their names; None leaves
                it out, to compare the rest.
        """
        decides = {
            "revision": REVISION,
            "backbone": asdict(spec),
            "manifest": manifest_hash,
            "split": split,
            "precision": self.precision,
            "dtype": self.dtype,
            "fast": self.fast,
            "exif": self.exif,
            "shard_rows": self.shard_rows,
        }
        # Left out for PIL, so that keys from before this choice existed stay valid.
        decoder = {} if self.decode == "cpu" else {"decode": self.decode}
        return decides | decoder | ({} if images is None else {"images": images})


def extraction_settings(
    device: str | None,
    precision: Precision | None,
    batch: int,
    workers: int,
    on_error: OnError,
    *,
    fast: bool = False,
    exif: bool = False,
    decode: Decode | None = None,
    part: tuple[int, int] = (1, 1),
) -> Settings:
    """Checked settings of an extraction: by default on a GPU in half precision if there is one.

    Args:
        decode: by default the CPU, or with `fast` a GPU that has a hardware decoder.
    """
    decoder: Decoder = decode or "cpu"
    place = device or default_device().type
    kind = precision or ("half" if place.startswith("cuda") else "single")
    settings = Settings(place, kind, batch, workers, on_error=on_error, fast=fast, exif=exif, part=part)
    there = checked_device(settings)  # before a backbone is moved to it
    if there.type == "cuda" and (decode == "gpu" or (decode is None and fast)):
        from unseen.features.gpu.gpu_decode import has_decoder, why_not

        if has_decoder(there):
            decoder = "gpu"
        elif decode == "gpu" and not why_not(there):
            decoder = "gpu-processors"
    # Images that a GPU cannot decode are resized exactly, so `fast` concerns the CPU alone.
    settings = replace(settings, decode=decoder, fast=fast and decoder == "cpu")
    checked_device(settings)
    return settings


def checked_device(settings: Settings) -> "torch.device":
    """The device of the settings; an error if it does not support them."""
    import torch

    try:
        device = torch.device(settings.device)
    except RuntimeError:
        raise UserError(f"unknown device {settings.device}; use cpu, cuda or cuda:1, for example") from None
    if device.type == "cuda" and device.index not in {None, *range(torch.cuda.device_count())}:
        raise UserError(f"device {settings.device}: this machine has {torch.cuda.device_count()} GPUs (cuda:0, …)")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device {settings.device}: PyTorch finds no GPU on this machine")
    if settings.precision == "half" and device.type != "cuda":
        raise UserError("half precision needs a GPU; without one, features are extracted in single precision")
    if settings.decode != "cpu":
        from unseen.features.gpu.gpu_decode import has_decoder, why_not

        reason = why_not(device)
        if reason:
            raise UserError(f"{reason}; decode on the CPU ({setting('decode', 'cpu')})")
        if has_decoder(device) != (settings.decode == "gpu"):
            raise UserError(
                "some GPUs of this extraction have a hardware JPEG decoder and others do not, and their pixels differ; "
                f"use GPUs of the same kind, or decode on the CPU ({setting('decode', 'cpu')})"
            )
    part, parts = settings.part
    if not 1 <= part <= parts:
        raise UserError(f"part {part} of {parts}: parts are numbered from 1 to {parts}")
    if min(settings.batch, settings.shard_rows) < 1 or settings.workers < 0:
        raise UserError("batches and shards need at least one image, and the number of workers must not be negative")
    return device
