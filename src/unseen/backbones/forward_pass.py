"""Several representations of the same images from one forward pass of their network.

A representation is a `NetworkStep`: what is run, and what is done with what the network or its modules then give. Steps
of one network are computed together: what they have in common is run once, with hooks on all modules that any of them
reads, and not beyond the last of these modules.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from inspect import signature
from typing import Any, Protocol, cast

import torch
from torch import Tensor, nn

from unseen.errors import UserError, did_you_mean

Use = Callable[[nn.Module, Any], Tensor]
"""What is done with an output, given the network."""


@dataclass(frozen=True)
class Call:
    """Runs the whole network.

    Attributes:
        images: name of the argument for the images; empty for the first one.
        options: further arguments.
    """

    images: str = ""
    options: tuple[tuple[str, Any], ...] = ()

    def __call__(self, network: nn.Module, images: Tensor) -> Any:
        told: dict[str, Any] = {self.images: images} if self.images else {}
        return network(*([] if told else [images]), **told, **dict(self.options))


@dataclass(frozen=True)
class Method:
    """Runs a method of the network that the network itself also uses, such as timm's `forward_features`."""

    name: str

    def __call__(self, network: nn.Module, images: Tensor) -> Any:
        return getattr(network, self.name)(images)


@dataclass(frozen=True)
class Fetch:
    """Asks for an output by its name; a network with a method `fetch` gives several at once."""

    name: str

    def __call__(self, network: nn.Module, images: Tensor) -> Any:
        return cast("Fetching", network).fetch([self.name], images)[0]


class Fetching(Protocol):
    """A network with named outputs."""

    def fetch(self, names: Sequence[str], images: Tensor) -> list[Tensor]: ...


Run = Call | Method | Fetch | Callable[[nn.Module, Tensor], Any]


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a representation.

    Attributes:
        run: what is run.
        use: what is done with its output, or with that of the module.
        module: dotted name of the module that is read during the run; empty for the output of the run.
    """

    run: Run
    use: Use
    module: str = ""


@dataclass(frozen=True, eq=False)
class NetworkStep:
    """Images → the vectors of its parts (b, d), concatenated; a single part may have any shape."""

    parts: tuple[Part, ...]

    def __call__(self, network: nn.Module, images: Tensor) -> Tensor:
        return in_one_pass(network, [self], images)[0]

    def then(self, use: Use) -> "NetworkStep":
        """The step with a further function of the output of each part."""
        parts = (Part(part.run, partial(_both, part.use, use), part.module) for part in self.parts)
        return NetworkStep(tuple(parts))


Step = Callable[[nn.Module, Tensor], Tensor]


def same(network: nn.Module, output: Any) -> Tensor:
    """The output as it is."""
    return cast("Tensor", output)


def _both(first: Use, second: Use, network: nn.Module, output: Any) -> Tensor:
    return second(network, first(network, output))


def network_step(step: Step) -> NetworkStep:
    """Any function from images to features as a step."""
    return step if isinstance(step, NetworkStep) else NetworkStep((Part(step, same),))


def module_step(module: str, use: Use = same, run: Run | None = None) -> NetworkStep:
    """What a module gives, by its dotted name.

    Args:
        run: how the whole network is run, if not by its images alone.
    """
    return NetworkStep((Part(run or Call(), use, module),))


def in_one_pass(
    network: nn.Module, steps: Sequence[NetworkStep], images: Tensor, *, stop: bool = False
) -> list[Tensor]:
    """The output of each step.

    Args:
        stop: end the forward pass when all modules that are read have been run. A module that is run several times is
            then not noticed: this is for steps that have been run to the end before.
    """
    values = parts_in_one_pass(network, steps, images, stop=stop)
    return [of[0] if len(of) == 1 else torch.cat(of, dim=1) for of in values]


def parts_in_one_pass(
    network: nn.Module, steps: Sequence[NetworkStep], images: Tensor, *, stop: bool = False
) -> list[list[Tensor]]:
    """The output of each part of each step; arguments as in `in_one_pass`."""
    wanted = [part for step in steps for part in step.parts]
    several = len({part.run for part in wanted}) > 1
    values = dict[Part, Tensor]()
    for run in dict.fromkeys(part.run for part in wanted if isinstance(part.run, Call)):
        heard = [part for part in wanted if isinstance(part.run, Method) and part not in values]
        caught = _Caught(network, images.clone() if several else images)  # a network may write over its images
        values |= caught.run(run, [part for part in wanted if part.run == run], heard, stop=stop)
    values |= _fetched(network, [part for part in wanted if isinstance(part.run, Fetch)], images)
    left = [part for part in wanted if part not in values]
    for other in dict.fromkeys(part.run for part in left):
        output = other(network, images.clone() if several else images)
        values |= {part: part.use(network, output) for part in left if part.run == other}
    return [[values[part] for part in step.parts] for step in steps]


def _fetched(network: nn.Module, parts: Sequence[Part], images: Tensor) -> dict[Part, Tensor]:
    names = list(dict.fromkeys(part.run.name for part in parts if isinstance(part.run, Fetch)))
    if not names:
        return {}
    outputs = dict(zip(names, cast("Fetching", network).fetch(names, images), strict=True))
    return {part: part.use(network, outputs[part.run.name]) for part in parts if isinstance(part.run, Fetch)}


class _Enough(Exception):  # noqa: N818  (nothing is wrong)
    """Ends a forward pass."""


@dataclass(eq=False)
class _Caught:
    """What parts gave so far, for the images of one batch."""

    network: nn.Module
    images: Tensor
    values: dict[Part, Tensor] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

    def run(self, run: Call, parts: Sequence[Part], heard: Sequence[Part], *, stop: bool) -> dict[Part, Tensor]:
        """What the network, its modules and its methods give in one run."""
        outputs, modules = ([part for part in parts if bool(part.module) == inside] for inside in (False, True))
        ending = {*modules, *heard} if stop and not outputs else None
        with self._hooks(modules, ending), self._listening(heard, ending), suppress(_Enough):
            output = run(self.network, self.images)
            self.values |= {part: part.use(self.network, output) for part in outputs}
        for name in (part.module for part in modules):
            times = self.times.get(name, 0)
            if times != 1:
                raise UserError(f"layer {name} is run {times} times for an image, not once; name the block around it")
        return self.values

    @contextmanager
    def _hooks(self, parts: Sequence[Part], ending: set[Part] | None) -> Iterator[None]:
        of: dict[str, list[Part]] = {}
        for part in parts:
            of.setdefault(part.module, []).append(part)

        def keep(name: str, _module: nn.Module, _inputs: object, output: object) -> None:
            if not isinstance(output, Tensor):
                raise UserError(f"layer {name} gives {type(output).__name__}, not one tensor; name a layer inside it")
            self.times[name] = self.times.get(name, 0) + 1
            self._keep(of[name], output, ending)

        handles = [find_layer(self.network, name).register_forward_hook(partial(keep, name)) for name in of]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    @contextmanager
    def _listening(self, parts: Sequence[Part], ending: set[Part] | None) -> Iterator[None]:
        """Keep what methods give when the network itself runs them on the images."""
        of: dict[str, list[Part]] = {}
        for part in parts:
            of.setdefault(cast("Method", part.run).name, []).append(part)

        def listened(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
            def method(*args: Any, **options: Any) -> Any:
                output = own(*args, **options)
                if len(args) == 1 and args[0] is self.images and _are_defaults(own, options):
                    self._keep(of[name], output, ending)
                return output

            return method

        before = {name: vars(self.network).get(name) for name in of}
        for name in of:
            object.__setattr__(self.network, name, listened(name, getattr(self.network, name)))
        try:
            yield
        finally:
            for name, own in before.items():
                if own is None:
                    object.__delattr__(self.network, name)
                else:
                    object.__setattr__(self.network, name, own)

    def _keep(self, parts: Sequence[Part], output: Any, ending: set[Part] | None) -> None:
        """Use an output immediately, because what comes next may overwrite it."""
        for part in parts:
            self.values[part] = part.use(self.network, output).clone()
        if ending is not None and ending <= self.values.keys():
            raise _Enough


def _are_defaults(method: Callable[..., Any], options: Mapping[str, Any]) -> bool:
    """Whether arguments have the values that they have when they are left out."""
    known = signature(method).parameters
    return all(name in known and value is known[name].default for name, value in options.items())


def find_layer(network: nn.Module, layer: str) -> nn.Module:
    """The module of a dotted name; an unknown one is a user's error that suggests close names."""
    names = [name for name, _ in network.named_modules() if name]
    if layer not in names:
        tops = ", ".join(name for name, _ in network.named_children())
        raise UserError(f"there is no layer {layer}{did_you_mean(layer, names) or f'; it has {tops}'}")
    return network.get_submodule(layer)
