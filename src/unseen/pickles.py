"""Reading other people's pickles without running them.

A pickle is a program; `pickle.load` runs it. This reader admits what pickle has opcodes for (lists, dictionaries,
sets, strings, bytes, numbers) and the arrays of strings in which the ImageNet-CoG authors keep file names, rebuilt
here as lists by our own code. Anything else is refused by name.
"""

import pickle
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any

from unseen.errors import UserError


class _Dtype:
    """Stands in for `numpy.dtype`: remembers the type string, and the byte order that its state brings."""

    def __init__(self, code: str, *_: object) -> None:
        self.code, self.order = code, "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = state[1]


class _Array(list[Any]):
    """Stands in for `numpy.ndarray`: a list of strings or objects, filled from the array's state."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, _fortran, data = state
        if isinstance(data, list):
            self.extend(data)
        elif dtype.code.startswith("U"):
            width = 4 * int(dtype.code[1:])
            if width == 0 or len(data) != width * prod(shape):
                raise pickle.UnpicklingError("an array's bytes do not fit its shape")
            codec = "utf-32-be" if dtype.order == ">" else "utf-32-le"
            self.extend(data[i : i + width].decode(codec).rstrip("\0") for i in range(0, len(data), width))
        else:
            raise pickle.UnpicklingError(f"an array of type {dtype.code}, not of strings")


def _new_array(*_: object) -> _Array:
    return _Array()


def _array_from_buffer(data: bytes, dtype: _Dtype, shape: tuple[int, ...], *_: object) -> _Array:
    """Protocol 5 brings an array's bytes, type and shape in one call."""
    array = _Array()
    array.__setstate__((1, shape, dtype, False, bytes(data)))
    return array


def _bytes(text: str, encoding: str) -> bytes:
    """Protocol 2 writes bytes as latin-1 text to be encoded."""
    return text.encode(encoding)


def _empty_bytes() -> bytes:
    """And empty ones as a call of `bytes`."""
    return b""


_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): _Array,
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


def read_plain_pickle(path: Path) -> Any:
    """The lists, dictionaries, strings and numbers in a pickle; a pickle with anything else is a user's error."""
    try:
        with path.open("rb") as file:
            return _Reader(file).load()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file") from None
    except MemoryError:
        raise UserError(f"{path}: does not fit in memory") from None
    except Exception as error:  # a damaged pickle can raise anything at all
        reason = str(error).rstrip(".") or type(error).__name__
        raise UserError(f"{path}: refused, not a pickle of plain data ({reason})") from None
