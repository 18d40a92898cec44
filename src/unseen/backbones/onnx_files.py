"""ONNX models with all that belongs to them, wherever a tensor keeps its values.

A tensor of a model may keep them in another file, be it a weight, a constant inside a node, part of a sparse tensor or
in the body of a loop. All are put into the model here, so that its hash is of everything that decides its outputs:
onnxruntime would look for some of them in the current folder, where they may change and nobody would know.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from unseen.backbones.checkpoint import file_sha256
from unseen.errors import UserError
from unseen.reading.guard import reading


def read_onnx(path: Path) -> tuple[Any, str]:
    """The model, and the SHA-256 of its file; of model and values together where some are in files beside it."""
    import onnx

    if not path.is_file():
        raise UserError(f"{path}: no such ONNX file")
    with reading(path, "a sound ONNX file"):
        model = onnx.load(str(path), load_external_data=False)
        beside = [tensor for tensor in _tensors(model) if tensor.data_location == onnx.TensorProto.EXTERNAL]
        for tensor in beside:
            _embed(tensor, path)
        onnx.checker.check_model(model)
        return model, hashlib.sha256(model.SerializeToString()).hexdigest() if beside else file_sha256(path)


def _tensors(message: Any) -> Iterator[Any]:
    """All tensors in a message of protobuf, however deep; protobuf itself reads at most 100 levels."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                yield from _tensors(each)


def _embed(tensor: Any, path: Path) -> None:
    """Put the values of a tensor, which are in a file below the model's folder, into it.

    A model that is a link, as in the cache of Hugging Face's hub, may also have them where its own file is.
    """
    name = tensor.name or "a tensor"
    facts = {entry.key: entry.value for entry in tensor.external_data}
    location = PurePosixPath(facts.get("location", ""))
    place = path.parent / location
    folders = (path.parent.resolve(), path.resolve().parent)
    if not location.name or location.is_absolute() or not any(map(place.resolve().is_relative_to, folders)):
        raise UserError(f"{path}: refused, {name} has its values outside of the folder, {location}")
    if not place.is_file():
        raise UserError(f"{path}: {location}, where the values of {name} are, is not beside it")
    start, there = int(facts.get("offset", 0)), place.stat().st_size
    size = int(facts["length"]) if "length" in facts else there - start
    if start < 0 or size < 0 or start + size > there:
        raise UserError(f"{place}: ends before the values of {name}")
    with place.open("rb") as file:
        file.seek(start)
        tensor.raw_data = file.read(size)
    del tensor.external_data[:]
    tensor.data_location = tensor.DEFAULT
