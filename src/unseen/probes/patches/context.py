"""The in-context probe on patch features: nearest neighbours among labelled patches, without training.

After Hummingbird (Balažević et al. 2023): a memory of ℓ2-normalised training patches with their shares of codes; a
patch gets the mean of the shares of its k nearest ones, weighted by softmax(cosine / temperature).

Similarities are computed block by block, and the k best so far are kept. The blocks do not depend on the memory of the
device, which only decides whether the keys stay there or are read again for every group of queries, and equal
similarities are ordered by the place of their patch: the prediction is the same in both cases.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from unseen.errors import UserError
from unseen.probes.patches.patch_probe import Demand, PatchSize
from unseen.probes.patches.protocols import PATCH_CONTEXT, ContextProtocol
from unseen.probes.patches.training import TrainingPatches
from unseen.probes.products import wide_product

QUERIES, KEYS = 1_024, 262_144
"""Patches to predict and labelled patches whose similarities are computed at once."""
GROUP = 64
"""Number of keys per group whose largest similarity is found first."""
AT_ONCE = 131_072
"""Patches to predict together: keys that are not on the device are read once for all of them."""
NORMALISED = 16_384
LOWEST = -(1 << 63)
LARGEST = 1e16
"""Rows of values up to this have squared lengths that are finite in 32 bits, up to a million dimensions."""


@dataclass(frozen=True, eq=False)
class Memory:
    """Labelled patches.

    Attributes:
        places: (m,) their indices, in order.
        keys: (m, d) unit vectors on the device; None if they are read when they are used.
    """

    patches: TrainingPatches
    places: Tensor
    keys: Tensor | None = None

    @classmethod
    def of(
        cls, patches: TrainingPatches, protocol: ContextProtocol = PATCH_CONTEXT, *, resident: bool = True
    ) -> "Memory":
        """All labelled patches, or a fixed draw of them.

        Args:
            resident: keep the keys on the device.
        """
        places = patches.labelled()
        if len(places) > protocol.memory:
            drawn = torch.randperm(len(places), generator=torch.Generator().manual_seed(0))[: protocol.memory]
            places = places[drawn.sort().values]
        read = cls(patches, places)
        if not resident:
            return read
        keys = torch.empty(len(places), patches.features.channels, dtype=patches.features.dtype, device=patches.device)
        for start, block in read.blocks():
            keys[start : start + len(block)] = block
        return cls(patches, places, keys)

    def __len__(self) -> int:
        return len(self.places)

    def blocks(self) -> Iterator[tuple[int, Tensor]]:
        """The keys block by block, each with the place of its first one."""
        starts = range(0, len(self), KEYS)
        if self.keys is not None:
            yield from ((start, self.keys[start : start + KEYS]) for start in starts)
            return
        read = self.patches.features.blocks(self.places[start : start + KEYS] for start in starts)
        yield from ((start, unit(rows)) for start, rows in zip(starts, read, strict=True))


def unit(X: Tensor) -> Tensor:
    """Rows divided by their lengths, computed in 32 bits, in the dtype of X.

    Values without a finite length are refused: a NaN would hide the other keys of its group, and a row divided by an
    infinite length would be zero.
    """
    found, sound = torch.empty_like(X), torch.ones((), dtype=torch.bool, device=X.device)
    for start in range(0, len(X), NORMALISED):
        rows = X[start : start + NORMALISED].float()
        low, high = torch.aminmax(rows)
        sound &= (low > -LARGEST) & (high < LARGEST)
        found[start : start + NORMALISED] = torch.nn.functional.normalize(rows, dim=1)
    if not bool(sound):
        raise UserError(f"patch features have values that are not finite or beyond {LARGEST:g}; extract them again")
    return found


def demand(size: PatchSize, protocol: ContextProtocol, item: int) -> Demand:
    """Device memory of a memory and `look_up` with features of `item` bytes per number.

    There are queries, as they are stored and as unit vectors, and their best keys; and either similarities, beside two
    blocks of keys if they are read, or tables of labels. Before that, up to three blocks of keys are normalised.
    """
    memory, queries = min(size.patches, protocol.memory), min(max(1, AT_ONCE // size.queries), size.tested)
    queries *= size.queries
    keys, at_once = min(KEYS, memory), min(QUERIES, queries)
    found = queries * (size.channels * (2 + item) + 3 * 8 * protocol.neighbours)
    similarities = at_once * (4 * keys + 28 * keys // GROUP + 36 * protocol.neighbours * GROUP)
    block, tables = keys * size.channels * item, 4 * 4 * queries * size.codes
    kept = memory * size.channels * item + max(found + max(similarities, tables), 3 * block)
    return Demand(kept, found + max(2 * block + max(similarities, block), tables))


def look_up(memory: Memory, X: Tensor, protocol: ContextProtocol = PATCH_CONTEXT) -> Tensor:
    """(n, c) shares of codes for features (n, d)."""
    similar, places = nearest(memory, X, protocol)
    return mean_shares(memory, torch.softmax(similar / protocol.temperature, dim=1), places)


def nearest(memory: Memory, X: Tensor, protocol: ContextProtocol) -> tuple[Tensor, Tensor]:
    """(n, k) cosines of features (n, d) and their nearest neighbours, and the places of these in the memory."""
    queries = unit(X.to(memory.patches.features.dtype))
    best = torch.full((len(X), min(protocol.neighbours, len(memory))), LOWEST, device=X.device)
    for start, keys in memory.blocks():
        for first in range(0, len(X), QUERIES):
            part = slice(first, first + QUERIES)
            best[part] = _nearest(queries[part], keys, start, best[part])
    return _unpacked(best)


def mean_shares(memory: Memory, weights: Tensor, places: Tensor) -> Tensor:
    """(n, c) mean shares of codes of neighbours with weights (n, k) and places (n, k)."""
    index, labels = memory.places[places.cpu()], memory.patches.labels
    shares = torch.zeros(len(weights), labels.count, device=weights.device)
    for neighbour in range(weights.shape[1]):
        shares += labels.shares(index[:, neighbour], weights.device) * weights[:, neighbour, None]
    return shares


def _nearest(queries: Tensor, keys: Tensor, start: int, best: Tensor) -> Tensor:
    """(n, k) the largest among the best so far and the products of queries with keys, packed with the keys' places.

    The k largest of a row are in the k groups of keys with the largest maxima, the first groups among equal ones:
    these are found in one cheap pass over the products, and only k groups are sorted instead of all keys.

    Args:
        start: place of the first key.
    """
    products = wide_product(queries, keys.T)
    k, groups = best.shape[1], len(keys) // GROUP
    if groups <= k:
        packed = _packed(products, torch.arange(start, start + len(keys), device=keys.device))
        return torch.cat((best, packed), dim=1).topk(k, dim=1).values
    whole = products[:, : groups * GROUP].view(len(queries), groups, GROUP)
    chosen = _unpacked(_packed(whole.amax(dim=2), torch.arange(groups, device=keys.device)).topk(k, dim=1).values)[1]
    candidates = whole.gather(1, chosen[:, :, None].expand(-1, -1, GROUP)).flatten(1)
    places = (chosen[:, :, None] * GROUP + torch.arange(start, start + GROUP, device=keys.device)).flatten(1)
    rest = torch.arange(start + groups * GROUP, start + len(keys), device=keys.device)
    last = _packed(products[:, groups * GROUP :], rest)
    return torch.cat((best, _packed(candidates, places), last), dim=1).topk(k, dim=1).values


def _packed(values: Tensor, places: Tensor) -> Tensor:
    """Integers in the order of values and, among equal values, of descending places: the largest comes first."""
    bits = values.view(torch.int32)
    # IEEE floats are ordered like integers of the same bits, negative ones the other way round.
    ordered = (bits ^ (bits >> 31 & 0x7FFFFFFF)).long()
    return ordered << 32 | 0xFFFFFFFF - places


def _unpacked(packed: Tensor) -> tuple[Tensor, Tensor]:
    """Values and places."""
    ordered = (packed >> 32).int()
    return (ordered ^ (ordered >> 31 & 0x7FFFFFFF)).view(torch.float32), 0xFFFFFFFF - (packed & 0xFFFFFFFF)
