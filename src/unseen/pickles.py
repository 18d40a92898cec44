"""Reading other people's pickles without running them.

A pickle is a program; `pickle.load` runs it. This reader admits what pickle has opcodes for (lists, dictionaries,
sets, strings, bytes, numbers) and three kinds of NumPy arrays, rebuilt here by our own code: of strings, in which the
ImageNet-CoG authors keep file names, of bytes, in which CIFAR keeps pixels, and of 32-bit floats, in which others keep
weights. Anything else is refused by name.
"""

import pickle
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, Literal

import numpy as np

from unseen.errors import UserError


class _Dtype:
    """Stands in for `numpy.dtype`: remembers the type string, and the byte order that its state brings."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code, self.order = _text(code).lstrip("|"), "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = _text(state[1])


class PickledArray(list[Any]):
    """Stands in for `numpy.ndarray`: a list of strings or objects, or of one item, an array of numbers in its shape."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, fortran, data = state
        if isinstance(data, list):
            self.extend(data)
        elif dtype.code in ("u1", "f4"):
            kind = np.dtype(dtype.code) if dtype.code == "u1" else np.dtype(f"{'>' if dtype.order == '>' else '<'}f4")
            if not isinstance(data, bytes) or len(data) != kind.itemsize * prod(shape):
                raise pickle.UnpicklingError("an array's bytes do not fit its shape")
            self.append(np.frombuffer(data, dtype=kind).reshape(shape, order="F" if fortran else "C"))
        elif dtype.code.startswith("U"):
            width = 4 * int(dtype.code[1:])
            if width == 0 or len(data) != width * prod(shape):
                raise pickle.UnpicklingError("an array's bytes do not fit its shape")
            codec = "utf-32-be" if dtype.order == ">" else "utf-32-le"
            self.extend(data[i : i + width].decode(codec).rstrip("\0") for i in range(0, len(data), width))
        else:
            raise pickle.UnpicklingError(f"an array of type {dtype.code}, not of strings, bytes or 32-bit floats")


def _text(value: str | bytes) -> str:
    """Strings of Python 2 are bytes to a reader that keeps them so."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _new_array(*_: object) -> PickledArray:
    return PickledArray()


def _array_from_buffer(data: bytes, dtype: _Dtype, shape: tuple[int, ...], *_: object) -> PickledArray:
    """Protocol 5 brings an array's bytes, type and shape in one call."""
    array = PickledArray()
    array.__setstate__((1, shape, dtype, False, bytes(data)))
    return array


def _bytes(text: str, _: str) -> bytes:
    """Protocol 2 writes bytes as latin-1 text to be encoded."""
    return text.encode("latin-1")


def _empty_bytes() -> bytes:
    """And empty ones as a call of `bytes`."""
    return b""


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): PickledArray,
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy._core.multiarray", "_reconstruct"): _new_array,
    ("numpy.core.numeric", "_frombuffer"): _array_from_buffer,
    ("numpy._core.numeric", "_frombuffer"): _array_from_buffer,
    ("_codecs", "encode"): _bytes,
    ("__builtin__", "bytes"): _empty_bytes,
    ("collections", "OrderedDict"): dict,
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not data")
        return _ADMITTED[module, name]


def read_plain_pickle(path: Path, *, encoding: Literal["ASCII", "bytes"] = "ASCII") -> Any:
    """The lists, dictionaries, strings and numbers in a pickle; a pickle with anything else is a user's error.

    Args:
        encoding: of strings that Python 2 wrote; "bytes" leaves them bytes.
    """
    try:
        with path.open("rb") as file:
            return _Reader(file, encoding=encoding).load()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from None
    except MemoryError:
        raise UserError(f"{path}: does not fit in memory") from None
    except Exception as error:  # a damaged pickle can raise anything at all
        reason = str(error).rstrip(".") or type(error).__name__
        raise UserError(f"{path}: refused, not a pickle of plain data ({reason})") from None
