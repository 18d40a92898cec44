"""ONNX models with all their tensors, wherever the values are stored.

The values of a tensor may be in another file: for weights, constants inside nodes, sparse tensors or tensors in the
body of a loop. All of them are put into the model here, so that its hash covers everything that determines its outputs;
onnxruntime would otherwise look for some of them in the current folder, where they may change unnoticed. Only if this
exceeds the maximum size of a protobuf message do weights stay in their files, which are hashed too.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from unseen.backbones.checkpoint import file_sha256
from unseen.errors import UserError
from unseen.files import byte_size
from unseen.reading.guard import reading

MOST = (1 << 31) - (1 << 20)
"""Maximum bytes of a model with all its values, slightly less than protobuf's 2 GiB."""
BLOCK = 1 << 24


@dataclass(frozen=True)
class OnnxModel:
    """A model that was read.

    Attributes:
        proto: the ModelProto of the package onnx.
        sha256: hash of its file, or of model and values together if some are in other files.
        weights: the folder that still contains weights, for a model too large for one message.
    """

    proto: Any
    sha256: str
    weights: Path | None = None


@dataclass(frozen=True)
class _Values:
    """The location of a tensor's values in a file."""

    file: Path
    start: int
    size: int

    def blocks(self) -> Iterator[bytes]:
        with self.file.open("rb") as file:
            file.seek(self.start)
            for start in range(0, self.size, BLOCK):
                yield file.read(min(BLOCK, self.size - start))


def read_onnx(path: Path) -> OnnxModel:
    """A model with all its values."""
    import onnx

    if not path.is_file():
        raise UserError(f"{path}: no such ONNX file")
    if path.stat().st_size > MOST:
        raise UserError(
            f"{path}: larger than the {byte_size(MOST)} that an ONNX file can have; save it with its weights in a file "
            "beside it (onnx.save(…, save_as_external_data=True))"
        )
    with reading(path, "a sound ONNX file"):
        model = onnx.load(str(path), load_external_data=False)
        beside = [tensor for tensor in _tensors(model) if tensor.data_location == onnx.TensorProto.EXTERNAL]
        if not beside:
            onnx.checker.check_model(model)
            return OnnxModel(model, file_sha256(path))
        places = [(tensor, _values(tensor, path)) for tensor in beside]
        if path.stat().st_size + sum(values.size for _, values in places) > MOST:
            return _read_large(model, path, places)
        _embed(places)
        onnx.checker.check_model(model)
        return OnnxModel(model, hashlib.sha256(model.SerializeToString()).hexdigest())


def _read_large(model: Any, path: Path, places: Sequence[tuple[Any, _Values]]) -> OnnxModel:
    """Keep the graph's weights in their files, where onnxruntime can be told to look, and embed everything else."""
    import onnx

    weights = {id(tensor) for tensor in model.graph.initializer}
    left = [(tensor, values) for tensor, values in places if id(tensor) in weights]
    others = [(tensor, values) for tensor, values in places if id(tensor) not in weights]
    size = path.stat().st_size + sum(values.size for _, values in others)
    if size > MOST:
        raise UserError(
            f"{path}: {byte_size(size)} of constants inside nodes, more than the {byte_size(MOST)} that can be run; "
            "export it with its constants as weights (initializers) in a file beside it"
        )
    onnx.checker.check_model(str(path))
    _embed(others)
    digest = hashlib.sha256(model.SerializeToString())
    for _, values in left:
        for block in values.blocks():
            digest.update(block)
    return OnnxModel(model, digest.hexdigest(), path.parent.absolute())


def _tensors(message: Any) -> Iterator[Any]:
    """All tensors in a protobuf message, at any depth; protobuf itself reads at most 100 levels."""
    if message.DESCRIPTOR.name == "TensorProto":
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                yield from _tensors(each)


def _embed(places: Sequence[tuple[Any, _Values]]) -> None:
    """Put the values of tensors into them."""
    for tensor, values in places:
        tensor.raw_data = b"".join(values.blocks())
        del tensor.external_data[:]
        tensor.data_location = tensor.DEFAULT


def _values(tensor: Any, path: Path) -> _Values:
    """The location of a tensor's values, in a file below the model's folder.

    If the model is a symbolic link, as in the Hugging Face cache, the values may also be beside the linked file.
    """
    name = tensor.name or "a tensor"
    facts = {entry.key: entry.value for entry in tensor.external_data}
    location = PurePosixPath(facts.get("location", ""))
    place = path.parent / location
    folders = (path.parent.resolve(), path.resolve().parent)
    if not location.name or location.is_absolute() or not any(map(place.resolve().is_relative_to, folders)):
        raise UserError(f"{path}: refused, {name} has its values outside of the folder, {location}")
    if not place.is_file():
        raise UserError(f"{path}: {location}, which contains the values of {name}, is missing")
    start, there = int(facts.get("offset", 0)), place.stat().st_size
    size = int(facts["length"]) if "length" in facts else there - start
    if start < 0 or size < 0 or start + size > there:
        raise UserError(f"{place}: ends before the values of {name}")
    return _Values(place, start, size)
