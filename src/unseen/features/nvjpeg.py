"""nvJPEG, NVIDIA's decoder of JPEGs, as far as it is needed: batches of files to planes of luma and chroma.

Planes, because pixels as nvJPEG makes them of planes are not libjpeg's: it repeats each number of chroma, which most
files have at half the size, where libjpeg interpolates. The library comes with torchvision, with the package
nvidia-nvjpeg and with CUDA itself.
"""

import ctypes
import io
from collections.abc import Iterator, Sequence
from ctypes.util import find_library
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from PIL import Image as Pil
from torch import Tensor

STATUS = {
    2: "invalid parameter",
    3: "bad JPEG",
    4: "JPEG of a kind that is not supported",
    5: "no memory",
    6: "execution failed",
    7: "this GPU lacks what was asked for",
    10: "incomplete file",
}
ON_PROCESSORS, ON_DECODER = 2, 3
PLANES = 1
"""What is written: luma and chroma, as the file has them."""


class NvJpeg:
    """A decoder on a device; one batch at a time.

    Attributes:
        hardware: the GPU has a decoder of its own; otherwise its processors do the work, at half the speed and with
            another rounding, which shows as a grey level here and there.
    """

    def __init__(self, device: torch.device) -> None:
        self._library = ctypes.CDLL(str(library()))
        self._lock, self._device = Lock(), device
        self._handle, self._state = ctypes.c_void_p(), ctypes.c_void_p()
        torch.cuda.init()  # type: ignore[no-untyped-call]
        try:
            self._create(ON_DECODER)
            self.hardware = True
        except RuntimeError:
            self._create(ON_PROCESSORS)
            self.hardware = False

    def _create(self, backend: int) -> None:
        """Make a decoder, and try it."""
        with torch.cuda.device(self._device):
            _check(self._library.nvjpegCreateEx(backend, None, None, ctypes.c_uint(0), ctypes.byref(self._handle)))
            _check(self._library.nvjpegJpegStateCreate(self._handle, ctypes.byref(self._state)))
            self._try()

    def _try(self) -> None:
        """Decode a file of one shade, and see whether it is that."""
        shade, file = Pil.new("RGB", (33, 17), (200, 90, 40)), io.BytesIO()
        shade.save(file, "JPEG", subsampling=2)
        luma, chroma = (
            torch.zeros(*shape, dtype=torch.uint8, device=self._device) for shape in ((1, 17, 33), (2, 9, 17))
        )
        self([torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)], [*luma], [chroma])
        expected = np.asarray(shade.convert("YCbCr"))[0, 0].tolist()
        gaps = [plane.int() - value for plane, value in zip((*luma, *chroma), expected, strict=True)]
        if max(int(gap.abs().max()) for gap in gaps) > 2:
            raise RuntimeError("it decodes a file of one shade as something else")

    def __call__(self, files: Sequence[Tensor], luma: Sequence[Tensor], chroma: Sequence[Tensor]) -> None:
        """Decode files by the current stream of the device, whose bytes must stay where they are until it is done.

        Args:
            files: bytes on the host.
            luma: (h, w) bytes on the device for each.
            chroma: (2, h / v, w / u) bytes for each, rounded up; left as they are for a grey file.

        Raises:
            RuntimeError: any of them cannot be decoded.
        """
        # nvjpegImage_t: addresses of four planes, then bytes from row to row of each.
        places = np.zeros((len(files), 8), dtype=np.uint64)
        for row, y, c in zip(places, luma, chroma, strict=True):
            first = c.data_ptr()
            row[:] = y.data_ptr(), first, first + c.stride(0), 0, y.stride(0), c.stride(1), c.stride(1), 0
        addresses = np.array([file.data_ptr() for file in files], dtype=np.uint64)
        lengths = np.array([len(file) for file in files], dtype=np.uint64)
        with self._lock, torch.cuda.device(self._device):
            stream = torch.cuda.current_stream(self._device).cuda_stream
            _check(
                self._library.nvjpegDecodeBatchedInitialize(self._handle, self._state, len(files), 1, PLANES)
                or self._library.nvjpegDecodeBatched(
                    self._handle,
                    self._state,
                    addresses.ctypes.data_as(ctypes.c_void_p),
                    lengths.ctypes.data_as(ctypes.c_void_p),
                    places.ctypes.data_as(ctypes.c_void_p),
                    ctypes.c_void_p(stream),
                )
            )


@cache
def library() -> Path | str:
    """nvJPEG's library, that of torchvision first, as it fits PyTorch; an OSError where there is none."""
    found = next(_libraries(), None) or find_library("nvjpeg")
    if found is None:
        raise OSError("nvJPEG is not installed (it comes with torchvision, or by pip install nvidia-nvjpeg)")
    return found


def _libraries() -> Iterator[Path]:
    for package, pattern in (("torchvision", "../torchvision.libs/libnvjpeg*.so*"), ("nvidia", "*/lib/libnvjpeg.so*")):
        found = find_spec(package)
        for place in (found and found.submodule_search_locations) or ():
            yield from sorted(Path(place).glob(pattern))


def _check(status: int) -> None:
    if status:
        raise RuntimeError(STATUS.get(status, f"nvJPEG's error {status}"))
