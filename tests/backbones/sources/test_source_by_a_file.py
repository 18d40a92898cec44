"""A source of backbones is one new file: nothing else is edited."""

from pathlib import Path

import pytest
import torch

from unseen.backbones import load, sources
from unseen.errors import UserError

COLOUR = """
from torch import nn
from unseen.backbones.network import Network, Request, Source, refuse_checkpoint
from unseen.data.core.decoding.transform import Transform

def colour_network(request: Request) -> Network:
    refuse_checkpoint(request)
    module = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
    size = request.size or 16
    return Network(module, weights="colour-mean-1", transform=Transform(size=size, resize=size))

SOURCE = Source("colour", colour_network)
"""


def test_a_source_is_one_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "colour_source.py").write_text(COLOUR)
    monkeypatch.setattr(sources, "__path__", [*sources.__path__, str(tmp_path)])
    found = load.find_sources()
    assert set(found) == {*load.SOURCES, "colour"}
    monkeypatch.setattr(load, "SOURCES", found)
    net = load.load_backbone("colour:mean")
    images = torch.rand(2, 3, 16, 16)
    assert torch.allclose(net.module(images), images.mean(dim=(2, 3)))
    assert (net.spec.dimension, net.spec.weights) == (3, "colour-mean-1")
    with pytest.raises(UserError, match="unknown source of backbones 'colours'"):
        load.load_backbone("colours:mean")
