"""The network in training that is measured: a module, or a function from images to features."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import chain
from types import CodeType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform
from unseen.device import default_device
from unseen.errors import UserError, did_you_mean
from unseen.text.words import counted

NAME = "network"
"""What the network in training is called where backbones have names."""
SHARDED = {"FullyShardedDataParallel", "FSDPModule"}
Features = str | Callable[[Any, Tensor], Tensor] | None
"""What of a network is measured: its output (None), that of one of its modules, or a function of it and images."""


@dataclass(frozen=True, eq=False)
class Watched:
    """A network in training.

    Attributes:
        modules: those whose mode, buffers and so on are restored; empty if a function does not tell which it uses.
        step: normalised images (b, 3, size, size) → features (b, d).
        device: where its parameters are, and images are sent.
        dtype: of its parameters; images have it too.
    """

    modules: Sequence[nn.Module]
    step: Callable[[Tensor], Any]
    device: torch.device
    dtype: torch.dtype

    def backbone(self, transform: Transform) -> Backbone:
        """The network as a backbone, tried on one grey image; an output that is no vector is an error."""
        module = _Step(self)
        size = transform.size
        output = module(torch.zeros(1, 3, size, size, device=self.device))
        spec = Spec(NAME, "", "output", "none", output.shape[1], 0, transform)
        return Backbone(spec, module, name=NAME)


class _Step(nn.Module):
    """Calls the network, and checks what it gives."""

    def __init__(self, watched: Watched) -> None:
        super().__init__()
        self.watched = [watched]  # in a list, so that its modules do not become ours

    def forward(self, images: Tensor) -> Tensor:
        [watched] = self.watched
        output = watched.step(images.to(watched.dtype))
        advice = "give features=, a function of the network and images that returns one vector per image"
        if not isinstance(output, Tensor):
            raise UserError(f"the network returned a value of type {type(output).__name__}, not a tensor; {advice}")
        if output.ndim != 2 or len(output) != len(images):
            shape = " × ".join(map(str, output.shape)) or "a single number"
            raise UserError(
                f"the network returned {shape} for {counted(len(images), 'image')}, not one vector per image; {advice}"
            )
        if not output.is_floating_point():
            raise UserError(f"the network returned numbers of type {output.dtype}; features must be floats")
        if output.device != images.device:
            raise UserError(f"the network gave features on {output.device} for images on {images.device}")
        return output


def watched(network: Any, features: Features = None) -> Watched:
    """The network as it is given in Python; a wrong one is a user's error.

    Of a network that is wrapped for several processes or compiled, the module inside is called: what wraps it would
    wait for other processes, or be compiled again for evaluation.
    """
    if isinstance(network, nn.Module):
        inner = unwrapped(network)
        _refuse_sharded(inner)
        step: Callable[[Tensor], Any] = inner
        if isinstance(features, str):
            step = _module(inner, features)
        elif features is not None:
            step = partial(features, inner)
        return _on_its_device([inner], step)
    if not callable(network):
        raise UserError(
            f"network: {type(network).__name__} is not a torch.nn.Module, or a function from images to features"
        )
    if features is not None:
        raise UserError("features= is for a module; a function from images to features already says what to measure")
    return _on_its_device([*modules_of(network)], network)


def _module(network: nn.Module, name: str) -> nn.Module:
    """The module that `features` names."""
    names = [each for each, _ in network.named_modules() if each]
    if name in names:
        return network.get_submodule(name)
    tops = ", ".join(each for each, _ in network.named_children())
    hint = did_you_mean(name, names) or (f"; its modules are {tops}" if tops else "; it has no modules")
    raise UserError(f"features={name!r}: {type(network).__name__} has no module of this name{hint}")


def unwrapped(network: nn.Module) -> nn.Module:
    """The module inside DistributedDataParallel, DataParallel and torch.compile."""
    while True:
        compiled = getattr(network, "_orig_mod", None)
        if isinstance(compiled, nn.Module):
            network = compiled
        elif isinstance(network, nn.parallel.DistributedDataParallel | nn.DataParallel):
            network = network.module
        else:
            return network


def modules_of(function: Callable[..., Any]) -> Iterator[nn.Module]:
    """The modules that a function uses: as its object, in that object, or by a name that is not its own."""
    if isinstance(function, partial):
        values: list[Any] = [*function.args, *function.keywords.values(), function.func]
    elif inspect.ismethod(function):
        owner = function.__self__
        values = [owner] if isinstance(owner, nn.Module) else [*getattr(owner, "__dict__", {}).values()]
    elif inspect.isfunction(function):
        names = inspect.getclosurevars(function)
        values = [*names.nonlocals.values(), *names.globals.values()]
    else:
        values = [*getattr(function, "__dict__", {}).values()]
    for value in values:
        if isinstance(value, nn.Module):
            yield unwrapped(value)
        elif isinstance(value, partial) or inspect.ismethod(value):
            yield from modules_of(value)


def _on_its_device(modules: Sequence[nn.Module], step: Callable[[Tensor], Any]) -> Watched:
    own = [*chain.from_iterable(chain(each.parameters(), each.buffers()) for each in modules)]
    if any(is_lazy(each) for each in own):
        raise UserError("the network has Lazy modules without shapes yet; run one batch before the first check")
    device = own[0].device if own else default_device()
    if any(each.device.type == "meta" for each in own):  # products with them give numbers, which mean nothing
        raise UserError("some weights of the network have no values yet (device meta); give it when they have")
    dtype = next((each.dtype for each in own if each.is_floating_point()), torch.float32)
    return Watched(modules, step, device, dtype)


def described_features(features: Any) -> str | dict[str, str] | None:
    """What of a network is measured, as the record of a monitor has it; anything else is a user's error.

    A function is known by a hash of its code, which is the same wherever it stands and in all processes of one version
    of Python. Values that it takes from outside are not part of it.
    """
    if features is None or isinstance(features, str):
        return features
    if isinstance(features, nn.Module) or not callable(features):
        raise UserError(
            f"features: {type(features).__name__} is not the name of a module, or a function of the network and images"
        )
    inner = features.func if isinstance(features, partial) else features
    inner = getattr(inner, "__func__", inner)
    name = getattr(inner, "__name__", type(inner).__name__)
    code = getattr(inner, "__code__", None)
    if not isinstance(code, CodeType):
        return {"function": name}
    python = f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}"
    return {"function": name, "code": sha256(_text(code).encode()).hexdigest()[:32], "python": python}


def _text(value: Any) -> str:
    """The code of a function, without its place in a file, or a constant in it."""
    if isinstance(value, CodeType):
        names = value.co_names, value.co_varnames, value.co_freevars
        return f"{value.co_code.hex()} {names} [{', '.join(map(_text, value.co_consts))}]"
    if isinstance(value, tuple | frozenset):
        every = [_text(each) for each in value]
        return f"({', '.join(sorted(every) if isinstance(value, frozenset) else every)})"
    return repr(value)


def _refuse_sharded(network: nn.Module) -> None:
    for each in network.modules():
        if SHARDED & {kind.__name__ for kind in type(each).__mro__}:
            raise UserError(
                "a network whose weights are divided among processes (FSDP) cannot be measured while it trains; "
                "write checkpoints, and measure them with unseen run"
            )
