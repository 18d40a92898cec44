"""How an extraction is done, and which of it decides the features."""

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from unseen.backbones.backbone import Spec
from unseen.device import default_device
from unseen.errors import UserError
from unseen.images.decode import OnError

if TYPE_CHECKING:
    import torch

REVISION = 2  # of extraction itself: to be raised when the same settings come to give other numbers
Precision = Literal["half", "bfloat", "single"]
Decode = Literal["cpu", "gpu"]
Decoder = Literal["cpu", "gpu", "gpu-processors"]
"""What a GPU without a decoder of JPEGs makes of them is not quite PIL's, and has a name of its own."""


@dataclass(frozen=True)
class Settings:
    """How to extract.

    Attributes:
        precision: "half" computes with 16-bit floats where that is safe and keeps those; "bfloat" with bfloat16, which
            has the range of 32 bits, and keeps 32; "single" with 32 exact bits.
        workers: processes that decode; 0 for none but this.
        shard_rows: images of a file of features.
        on_error: whether a damaged image ends the extraction, or is left out and named in the store.
        fast: resize by PyTorch; pixels differ by a grey level or two here and there.
        exif: turn images as their EXIF orientation says.
        decode: what decodes and resizes JPEGs. A GPU that has a decoder ("gpu") gives PIL's pixels, whatever `fast`
            says, and one that has none ("gpu-processors") nearly those; what it does not decode, PIL does.
        part: (k, n), to do the k-th of n parts of the shards and leave the rest to others.
        compact: keep 16 bits whatever is computed with, as for patches, of which an image has hundreds.
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
        """What features are kept as."""
        return "float16" if self.precision == "half" or self.compact else "float32"

    def decides(self, spec: Spec, manifest_hash: str, split: str, images: str | None = None) -> dict[str, Any]:
        """All that a store's bytes depend on, but for how a device rounds. Its hash is the key of the store.

        Args:
            images: `fingerprint` of those of the split, as a manifest has their names alone. Left out where it is None,
                for comparing the rest.
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
        # Only where it is not PIL, as keys from before there was a choice go on to hold.
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
    """How to extract: on a GPU and in half precision where there is one.

    Args:
        decode: None for a GPU where images are to be decoded fast and that has a decoder.
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
    # Fast is a way of the CPU's: what a GPU does not decode is decoded exactly.
    settings = replace(settings, decode=decoder, fast=fast and decoder == "cpu")
    checked_device(settings)
    return settings


def checked_device(settings: Settings) -> "torch.device":
    """The device, if everything that the settings ask for can be."""
    import torch

    try:
        device = torch.device(settings.device)
    except RuntimeError:
        raise UserError(f"there is no device called {settings.device}; cpu, cuda and cuda:1 are some") from None
    if device.type == "cuda" and device.index not in {None, *range(torch.cuda.device_count())}:
        raise UserError(f"device {settings.device}: this machine has {torch.cuda.device_count()} GPUs, from cuda:0")
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UserError(f"device {settings.device}: PyTorch finds no GPU on this machine")
    if settings.precision == "half" and device.type != "cuda":
        raise UserError("half precision needs a GPU; without one, features are extracted in single precision")
    if settings.decode != "cpu":
        from unseen.features.gpu.gpu_decode import has_decoder, why_not

        reason = why_not(device)
        if reason:
            raise UserError(f"{reason}; decode on the CPU (--decode cpu)")
        if has_decoder(device) != (settings.decode == "gpu"):
            raise UserError(
                "some GPUs of this extraction have a decoder of JPEGs and others have none, and their pixels differ; "
                "use GPUs of one kind, or decode on the CPU (--decode cpu)"
            )
    part, parts = settings.part
    if not 1 <= part <= parts:
        raise UserError(f"part {part} of {parts}: parts are counted from 1 to their number")
    if min(settings.batch, settings.shard_rows) < 1 or settings.workers < 0:
        raise UserError("a batch and a shard have at least one image, and there cannot be fewer workers than none")
    return device
