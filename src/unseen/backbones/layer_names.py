"""The names of layers: words that stand for several modules, the blocks of a network, and its final norm."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from torch import nn

from unseen.backbones.network import Network
from unseen.errors import UserError, did_you_mean, setting

ALL, OWN = "all", "own"
"""Words for every block of a network, and for the layer that it is usually used with."""
NUMBERED = re.compile(r"(.*?)([0-9]+)")
PARALLEL = ("branch", "path", "head")
"""Names before a number of modules that run beside one another, on the same input."""
CLASSIFIERS = ("fc", "classifier", "heads", "head")
FINAL_NORM = re.compile(r"norm|(^|_)ln(_|$)")


def layer_names(network: Network, words: Sequence[str]) -> list[str]:
    """The layers that some words stand for, each once; in a pattern, `*` stands for a part between dots."""
    return list(dict.fromkeys(name for word in words for name in _names(network, word)))


def is_pattern(word: str) -> bool:
    """Whether a word stands for all modules with names of its form."""
    return any(letter in word for letter in "*?[")


def _names(network: Network, word: str) -> list[str]:
    if word == OWN:
        return [network.layer]
    if word == ALL:
        return list(network.graph.outputs) if network.graph else blocks_of(network.module)
    if not is_pattern(word):
        return [word]
    known = network.graph.layers if network.graph else [name for name, _ in network.module.named_modules() if name]
    found = [name for name in known if name == word or _matches(name, word)]
    if not found:
        raise UserError(f"no layer has a name of the form {word}{did_you_mean(word, known)}")
    return found


def _matches(name: str, pattern: str) -> bool:
    names, patterns = name.split("."), pattern.split(".")
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


def blocks_of(network: nn.Module) -> list[str]:
    """The blocks of a transformer or the stages of a CNN, in order of depth.

    These are modules with numbered names, such as `blocks.0` or `layer1`, that have modules of their own. Of several
    such sequences, it is the first, from the outside to the inside, with more than half of the parameters before the
    classifier; if there is none, the largest with a quarter of them.
    """
    parts = [name for name, _ in network.named_children() if name not in CLASSIFIERS]
    level, whole, largest = [("", network)], _parameters(network, parts), list[str]()
    while level:
        for names in (names for place, module in level for names in _numbered(place, module)):
            if _parameters(network, names) > _parameters(network, largest) or not largest:
                largest = names
        if 2 * _parameters(network, largest) > whole:
            return largest
        level = [
            (f"{place}.{name}" if place else name, child)
            for place, module in level
            for name, child in module.named_children()
        ]
    if largest and 4 * _parameters(network, largest) > whole:
        return largest
    some = ", ".join([name for name, _ in network.named_children()][:10])
    raise UserError(f"has no numbered blocks; name its layers ({setting('backbone.layers')}): it has {some}")


def _numbered(place: str, module: nn.Module) -> Iterator[list[str]]:
    """The names of the children of a module that have children, by the name before their number.

    Branches run beside one another, so they are no sequence. Convolutions and norms between the blocks belong to it.
    """
    of: dict[str, list[tuple[str, nn.Module]]] = {}
    for name, child in module.named_children():
        number = NUMBERED.fullmatch(name)
        if number and number[1] not in PARALLEL:
            of.setdefault(number[1], []).append((f"{place}.{name}" if place else name, child))
    for numbered in of.values():
        blocks = [name for name, child in numbered if any(True for _ in child.children())]
        if len(blocks) > 1:
            yield [name for name, child in numbered if name in blocks or any(True for _ in child.parameters())]


def _parameters(network: nn.Module, names: Sequence[str]) -> int:
    return sum(each.numel() for name in names for each in network.get_submodule(name).parameters())


def last_names(network: nn.Module, number: int) -> list[str]:
    """The last blocks, in order of depth."""
    blocks = blocks_of(network)
    if number > len(blocks):
        raise UserError(f"has {len(blocks)} blocks, from {blocks[0]} to {blocks[-1]}, and not {number}")
    return blocks[-number:]


def final_norm(network: nn.Module, block: str) -> str | None:
    """The name of the norm that follows all blocks, beside them or beside a module around them; None without one."""
    path = block.split(".")
    for depth in range(len(path) - 1, 0, -1):
        place, inner = ".".join(path[: depth - 1]), path[depth - 1]
        names = [name for name, _ in network.get_submodule(place).named_children()]
        after = names[names.index(inner) + 1 :]
        norm = next((name for name in after if FINAL_NORM.search(name)), None)
        if norm is not None:
            return f"{place}.{norm}" if place else norm
    return None
