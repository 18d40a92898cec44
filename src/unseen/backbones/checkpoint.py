"""Loading a checkpoint into an architecture, whatever modules wrapped the network during training.

Self-supervised training keeps the network inside other modules (`module.encoder_q.`, `teacher.backbone.` …) and stores
it beside optimizers and counters. No list of such names is needed: the checkpoint is flattened to dotted keys, and the
prefix with the most keys of the architecture is the network. Only tensors are read; a file that would execute code is
refused.
"""

import argparse
import hashlib
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unseen.errors import UserError

# If two networks fit, papers transfer the one trained by gradients, except for DINO and similar methods.
SECOND_CHOICE = ("momentum_encoder", "encoder_k", "student", "target_network", "target_encoder", "target")
COUNTER = "num_batches_tracked"  # missing in old checkpoints, and irrelevant for features
SHOWN = 5


@dataclass(frozen=True)
class LoadReport:
    """Which parts of a checkpoint were loaded.

    Attributes:
        prefix: prefix of the network's keys, with its last dot; may be empty.
        used: loaded keys, as named in the network.
        dropped: other keys, as named in the checkpoint: heads, queues, another copy of the network.
        sha256: hash of the file.
    """

    prefix: str
    used: tuple[str, ...]
    dropped: tuple[str, ...]
    sha256: str

    def sentence(self) -> str:
        where = f"under {self.prefix.rstrip('.')}" if self.prefix else "as they are"
        parts = Counter(_part(key, self.prefix) for key in self.dropped)
        rest = ", ".join(f"{name} ({count})" for name, count in parts.most_common())
        return f"checkpoint: {len(self.used)} keys, {where}; not used: {rest or 'nothing'}"


def load_checkpoint(network: nn.Module, path: Path, *, heads: Iterable[str] = ()) -> LoadReport:
    """Fill a network without classifier from a torch.save or safetensors file, completely or not at all.

    Args:
        heads: names of the removed classifier; its keys may be left over.
    """
    contents = read_checkpoint(path)
    tensors = dict(_tensors(contents))
    wanted = network.state_dict()
    prefix = _choose_prefix(tensors, wanted, path)
    missing = [key for key in wanted if prefix + key not in tensors and not key.endswith(COUNTER)]
    if missing:
        raise UserError(
            f"{path}: {len(missing)} of the network's {len(wanted)} keys are missing under "
            f"'{prefix}': {_few(missing)}; is it of another architecture?"
        )
    used = {key: tensors[prefix + key] for key in wanted if prefix + key in tensors}
    shapes = [
        f"{key} ({_sides(tensor)}, not {_sides(wanted[key])})"
        for key, tensor in used.items()
        if tensor.shape != wanted[key].shape
    ]
    if shapes:
        raise UserError(f"{path}: {len(shapes)} keys have another shape: {_few(shapes)}; is it of another size?")
    _refuse_larger_network(tensors, wanted, prefix, tuple(heads), path)
    network.load_state_dict(wanted | used)
    outer = prefix.partition(".")[0]
    # Entries beside the dictionary with the network, such as an optimizer's state, do not count as dropped.
    group = f"{outer}." if isinstance(contents.get(outer), Mapping) else ""
    dropped = tuple(
        key for key in tensors if key.startswith(group) and not (key.startswith(prefix) and key[len(prefix) :] in used)
    )
    return LoadReport(prefix, tuple(used), dropped, file_sha256(path))


def read_checkpoint(path: Path) -> Mapping[str, Any]:
    """The contents of a torch.save or safetensors file: tensors, numbers, strings and containers of them."""
    if not path.is_file():
        raise UserError(f"{path}: no such checkpoint file")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        # Published checkpoints often contain the command line; a Namespace only holds values.
        with torch.serialization.safe_globals([argparse.Namespace]):
            contents = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        name = _refused_name(str(error))
        raise UserError(
            f"{path}: refused, it is not only tensors and plain values{name}; save its state_dict alone "
            "(torch.save(model.state_dict(), file)) where you trust it"
        ) from None
    except Exception as error:  # a damaged file can raise any exception
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UserError(f"{path}: not a readable checkpoint ({reason})") from None
    if not isinstance(contents, Mapping):
        raise UserError(f"{path}: holds {type(contents).__name__}, not a dictionary of tensors")
    return contents


def file_sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _tensors(contents: Mapping[Any, Any], prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """(dotted key, tensor) for all of a nested dictionary; values that are not tensors are skipped."""
    for key, value in contents.items():
        if isinstance(value, Tensor):
            yield f"{prefix}{key}", value
        elif isinstance(value, Mapping):
            yield from _tensors(value, f"{prefix}{key}.")


def _choose_prefix(tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor], path: Path) -> str:
    matches: Counter[str] = Counter()
    for key in tensors:
        start = 0
        while True:
            if key[start:] in wanted:
                matches[key[:start]] += 1
            dot = key.find(".", start)
            if dot < 0:
                break
            start = dot + 1
    if not matches:
        raise UserError(
            f"{path}: none of the network's {len(wanted)} keys is in it; the network has {_few(list(wanted))}, "
            f"the file {_few(list(tensors)) or 'no tensors'}"
        )
    most = max(matches.values())
    best = [prefix for prefix, count in matches.items() if count == most]
    first = [prefix for prefix in best if not set(prefix.split(".")) & set(SECOND_CHOICE)] or best
    if len(first) > 1:
        raise UserError(
            f"{path}: the network is in it {len(first)} times, under {' and '.join(sorted(first))}; "
            "save the one you mean alone"
        )
    return first[0]


def _refuse_larger_network(
    tensors: Mapping[str, Tensor], wanted: Mapping[str, Tensor], prefix: str, heads: tuple[str, ...], path: Path
) -> None:
    """Refuse a deeper network, which has all keys of a shallower one and further keys in the same modules."""
    parts = {key.split(".")[0] for key in wanted if "." in key}
    below = [key[len(prefix) :] for key in tensors if key.startswith(prefix)]
    extra = [
        key
        for key in below
        if key not in wanted and key.split(".")[0] in parts and not key.startswith(tuple(f"{head}." for head in heads))
    ]
    if extra:
        raise UserError(
            f"{path}: {len(extra)} keys have no place in the network: {_few(extra)}; is it of a larger architecture?"
        )


def _part(key: str, prefix: str) -> str:
    """What a dropped key belongs to: a module of the network, or something beside it."""
    if key.startswith(prefix):
        return key[len(prefix) :].partition(".")[0]
    here, there = prefix.split("."), key.split(".")
    same = next((i for i, (a, b) in enumerate(zip(here, there, strict=False)) if a != b), 0)
    return there[same]


def _refused_name(message: str) -> str:
    """The type that weights_only refused, from torch's message."""
    words = message.split()
    after = next((words[i + 1] for i, word in enumerate(words[:-1]) if word in ("GLOBAL", "class", "global")), "")
    return f" (it names {after})" if "." in after else ""


def _few(keys: list[str]) -> str:
    return ", ".join(keys[:SHOWN]) + (" …" if len(keys) > SHOWN else "")


def _sides(tensor: Tensor) -> str:
    return " × ".join(map(str, tensor.shape)) or "a number"
