"""Binding of nvJPEG, NVIDIA's JPEG decoder: batches of files to planes of luma and chroma.

nvJPEG's own RGB output differs from libjpeg's: most files store chroma at half size, and nvJPEG repeats each value,
where libjpeg interpolates. Planes can be converted as in libjpeg. The library is part of torchvision, of the package
nvidia-nvjpeg and of CUDA.
"""

import ctypes
import io
from collections.abc import Iterator
from ctypes.util import find_library
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image as Pil
from torch import Tensor


class UndecodableError(RuntimeError):
    """nvJPEG cannot decode a file, or one of several."""


STATUS = {
    2: "invalid parameter",
    3: "bad JPEG",
    4: "unsupported kind of JPEG",
    5: "out of memory",
    6: "execution failed",
    7: "not supported by this GPU",
    10: "incomplete file",
}
NOT_OF_A_FILE = {1, 5, 7}
"""Errors of the decoder or of memory; all others may be due to a file."""
ON_PROCESSORS, ON_DECODER = 2, 3
Addresses = NDArray[np.uint64]
PLANES = 1
"""Output format: luma and chroma as stored in the file."""


class NvJpeg:
    """A decoder on a device, for one batch at a time.

    Attributes:
        hardware: whether the GPU has a hardware decoder. Otherwise its processors decode and round differently, and
            some pixels differ by one grey level.
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
        """Create a decoder and test it."""
        with torch.cuda.device(self._device):
            _check(self._library.nvjpegCreateEx(backend, None, None, ctypes.c_uint(0), ctypes.byref(self._handle)))
            _check(self._library.nvjpegJpegStateCreate(self._handle, ctypes.byref(self._state)))
            self._try()

    def _try(self) -> None:
        """Decode an image of one colour and compare the result."""
        shade, file = Pil.new("RGB", (33, 17), (200, 90, 40)), io.BytesIO()
        shade.save(file, "JPEG", subsampling=2)
        content = torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8)
        luma, chroma = (
            torch.zeros(shape, dtype=torch.uint8, device=self._device) for shape in ((1, 17, 33), (1, 2, 9, 17))
        )
        self(np.array([(content.data_ptr(), len(content))], dtype=np.uint64), plane_addresses(luma, chroma))
        expected = np.asarray(shade.convert("YCbCr"))[0, 0].tolist()
        gaps = [plane.int() - value for plane, value in zip((*luma, *chroma[0]), expected, strict=True)]
        if max(int(gap.abs().max()) for gap in gaps) > 2:
            raise RuntimeError("it decodes a test image wrongly")

    def __call__(self, files: Addresses, planes: Addresses) -> None:
        """Decode files on the device and wait for the result. Other threads can run meanwhile.

        Args:
            files: (n, 2) addresses on the host and lengths in bytes.
            planes: (n, 8) addresses and strides from `plane_addresses`.

        Raises:
            UndecodableError: a file cannot be decoded.
            RuntimeError: the decoder or the memory fails.
        """
        addresses, lengths = (np.ascontiguousarray(files[:, column]) for column in (0, 1))
        planes = np.ascontiguousarray(planes)
        with self._lock, torch.cuda.device(self._device):
            stream = torch.cuda.current_stream(self._device)
            status = self._library.nvjpegDecodeBatchedInitialize(
                self._handle, self._state, len(files), 1, PLANES
            ) or self._library.nvjpegDecodeBatched(
                self._handle,
                self._state,
                addresses.ctypes.data_as(ctypes.c_void_p),
                lengths.ctypes.data_as(ctypes.c_void_p),
                planes.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_void_p(stream.cuda_stream),
            )
            stream.synchronize()  # its buffers are used again by the next batch, maybe on another stream
        _check(status)


def plane_addresses(luma: Tensor, chroma: Tensor) -> Addresses:
    """(n, 8): four addresses of planes per image and four strides in bytes, in the layout of `nvjpegImage_t`.

    Args:
        luma: (n, h, w) bytes.
        chroma: (n, 2, h / v, w / u) bytes; grey files do not write them.
    """
    table = np.zeros((len(luma), 8), dtype=np.uint64)
    images = np.arange(len(luma), dtype=np.uint64)
    table[:, 0] = luma.data_ptr() + images * luma.stride(0)
    table[:, 1] = chroma.data_ptr() + images * chroma.stride(0)
    table[:, 2] = table[:, 1] + np.uint64(chroma.stride(1))
    table[:, 4:7] = luma.stride(1), chroma.stride(2), chroma.stride(2)
    return table


@cache
def library() -> Path | str:
    """The nvJPEG library, preferably torchvision's, which fits PyTorch; an OSError if there is none."""
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
        kind = RuntimeError if status in NOT_OF_A_FILE else UndecodableError
        raise kind(STATUS.get(status, f"nvJPEG's error {status}"))
