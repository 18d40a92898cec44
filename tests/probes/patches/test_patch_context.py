"""The in-context probe, against a plain loop over patches."""

import pytest
import torch

from unseen.errors import UserError
from unseen.probes.patches import context
from unseen.probes.patches.context import ContextProtocol, Memory, look_up


def test_equal_to_a_plain_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    X, Y = torch.randn(90, 5, generator=generator), torch.randint(0, 4, (90, 3), generator=generator).float()
    Y[::7] = 0
    queries = torch.randn(11, 5, generator=generator)
    protocol = ContextProtocol(neighbours=8, temperature=0.1)
    expected = []
    for query in queries:
        rows = [place for place in range(90) if Y[place].sum() > 0]
        cosine = torch.stack([torch.nn.functional.cosine_similarity(query, X[place], dim=0) for place in rows])
        best = cosine.argsort(descending=True)[:8]
        weights = torch.exp(cosine[best] / 0.1)
        shares = torch.stack([Y[rows[place]] / Y[rows[place]].sum() for place in best])
        expected.append((weights[:, None] * shares).sum(0) / weights.sum())
    memory = Memory.of(X, Y, protocol)
    assert torch.allclose(look_up(memory, queries, protocol), torch.stack(expected), atol=1e-5)
    # In blocks of queries and keys, and by groups of keys, too.
    for name, value in (("BLOCK_BYTES", 4 * 100 * 3), ("GROUP", 4), ("MOST_KEYS", 50), ("GROUP", 7)):
        monkeypatch.setattr(context, name, value)
        assert torch.allclose(look_up(memory, queries, protocol), torch.stack(expected), atol=1e-5)


def test_a_larger_memory_than_allowed_is_a_fixed_draw() -> None:
    X, Y = torch.randn(50, 4), torch.ones(50, 2)
    found = [Memory.of(X, Y, ContextProtocol(memory=20)) for _ in range(2)]
    assert len(found[0].keys) == 20
    assert torch.equal(found[0].keys, found[1].keys)


def test_a_memory_needs_a_label() -> None:
    with pytest.raises(UserError, match="no patch"):
        Memory.of(torch.randn(3, 2), torch.zeros(3, 2))
