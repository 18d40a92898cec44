"""Reading untrusted pickles without executing them.

A pickle is a program; `pickle.load` executes it. This reader accepts the types that pickle has opcodes for (lists,
dictionaries, sets, strings, bytes, numbers) and NumPy arrays of two kinds, rebuilt by our own code: strings (file names
of the ImageNet-CoG authors) and plain numbers (pixels of CIFAR, weights, indices of retrieval benchmarks), also single
numbers of NumPy. Anything else is refused by name.
"""

import io
import pickle
from collections.abc import Callable, Iterable
from math import prod
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from unseen.errors import UserError
from unseen.reading.arrays import memory
from unseen.reading.guard import read_bounded, reading

NUMBERS = ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f4", "f8")
"""Types of arrays of numbers, in any byte order."""


class _Dtype:
    """Replaces `numpy.dtype`: stores the type string, and the byte order from its state."""

    def __init__(self, code: str | bytes, *_: object) -> None:
        self.code, self.order = _text(code).lstrip("|"), "<"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.order = _text(state[1])

    @property
    def numbers(self) -> "np.dtype[Any]":
        """The type of an array of numbers, with its byte order."""
        return np.dtype(f"{'>' if self.order == '>' else '<'}{self.code}")


class PickledArray(list[Any]):
    """Replaces `numpy.ndarray`: a list of strings or objects, or of one item, an array of numbers."""

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _version, shape, dtype, fortran, data = state
        if isinstance(data, list):
            self.extend(data)
        elif dtype.code in NUMBERS:
            kind = dtype.numbers
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
            raise pickle.UnpicklingError(f"an array of type {dtype.code}, not of strings or plain numbers")


def _scalar(dtype: _Dtype, data: object = b"") -> Any:
    """A single number of NumPy, as a number of Python."""
    if not isinstance(dtype, _Dtype) or dtype.code not in NUMBERS or not isinstance(data, bytes):
        raise pickle.UnpicklingError("a value of NumPy that is not a number")
    if len(data) != dtype.numbers.itemsize:
        raise pickle.UnpicklingError("a number's bytes do not fit its type")
    return np.frombuffer(data, dtype=dtype.numbers)[0].item()


def _text(value: str | bytes) -> str:
    """Strings of Python 2 are read as bytes; this decodes them."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _new_array(*_: object) -> PickledArray:
    return PickledArray()


def _array_from_buffer(data: bytes, dtype: _Dtype, shape: tuple[int, ...], *_: object) -> PickledArray:
    """Protocol 5 passes an array's bytes, type and shape in one call."""
    array = PickledArray()
    array.__setstate__((1, shape, dtype, False, bytes(data)))
    return array


def _bytes(text: str, _: str) -> bytes:
    """Protocol 2 writes bytes as latin-1 text to be encoded."""
    return text.encode("latin-1")


def _empty_bytes() -> bytes:
    """Protocol 2 writes empty bytes as a call of `bytes`."""
    return b""


def check_key(key: object) -> None:
    if not isinstance(key, str | bytes | int | float | None):
        raise pickle.UnpicklingError(f"a key that is neither text nor a number but {type(key).__name__}")


def _dictionary(items: Iterable[tuple[Any, Any]] = ()) -> dict[Any, Any]:
    found = {}
    for key, value in items:
        check_key(key)
        found[key] = value
    return found


PurePython: Any = pickle._Unpickler
_ADMITTED: dict[tuple[str, str], Callable[..., Any]] = {
    ("numpy", "dtype"): _Dtype,
    ("numpy", "ndarray"): PickledArray,
    ("numpy.core.multiarray", "_reconstruct"): _new_array,
    ("numpy._core.multiarray", "_reconstruct"): _new_array,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("numpy.core.numeric", "_frombuffer"): _array_from_buffer,
    ("numpy._core.numeric", "_frombuffer"): _array_from_buffer,
    ("_codecs", "encode"): _bytes,
    ("__builtin__", "bytes"): _empty_bytes,
    ("collections", "OrderedDict"): _dictionary,
}


class _Reader(PurePython):  # type: ignore[misc]
    """Python's pure-Python pickle reader, whose steps can be intercepted.

    Keys of dictionaries and sets must be texts or numbers: hashing deeply nested tuples can take exponential time.
    """

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = dict(PurePython.dispatch)
    stack: list[Any]

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ADMITTED:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is not data")
        return _ADMITTED[module, name]


def _checking(opcode: bytes, keys: Callable[[list[Any]], Iterable[object]]) -> None:
    """Check the keys that a step takes from the reader's stack before they are hashed."""
    step = _Reader.dispatch[opcode[0]]

    def checked(reader: _Reader) -> None:
        for key in keys(reader.stack):
            check_key(key)
        step(reader)

    _Reader.dispatch[opcode[0]] = checked


def _build(reader: _Reader) -> None:
    """Only the replacements of NumPy's objects may have a state."""
    if not isinstance(reader.stack[-2], _Dtype | PickledArray):
        raise pickle.UnpicklingError("it sets the state of an object that is not data")
    _BUILD(reader)


_BUILD = _Reader.dispatch[pickle.BUILD[0]]
_Reader.dispatch[pickle.BUILD[0]] = _build
_checking(pickle.SETITEM, lambda stack: stack[-2:-1])
for _opcode in (pickle.SETITEMS, pickle.DICT):
    _checking(_opcode, lambda stack: stack[::2])
for _opcode in (pickle.ADDITEMS, pickle.FROZENSET):
    _checking(_opcode, lambda stack: stack)


def read_plain_pickle(path: Path, *, encoding: Literal["ASCII", "bytes"] = "ASCII") -> Any:
    """The lists, dictionaries, strings and numbers in a pickle; a pickle with anything else is a user error.

    Args:
        encoding: encoding of strings written by Python 2; "bytes" leaves them as bytes.
    """
    with reading(path, "a pickle of plain data"):
        content = io.BytesIO(read_bounded(path, memory()))
        try:
            found = _Reader(content, encoding=encoding).load()
            if callable(found):
                raise pickle.UnpicklingError("it is a name and not data")
            return found
        except pickle.UnpicklingError as error:
            reason = str(error).rstrip(".")
            raise UserError(f"{path}: refused, not a pickle of plain data ({reason})") from None
