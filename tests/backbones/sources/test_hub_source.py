"""torch.hub, from a folder; repositories on GitHub must have been trusted before."""

from pathlib import Path

import pytest
import torch

from unseen.backbones.load import load_backbone
from unseen.errors import UserError

HUBCONF = """
dependencies = ["torch"]
import torch
from torch import nn

class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 6, 8, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.fc = nn.Linear(6, 10)

    def forward(self, images):
        return self.fc(self.body(images))

def small(pretrained=False):
    model = Small()
    if pretrained:
        nn.init.ones_(model.body[0].weight)
    return model

def fixed():
    return Small().body

def fails(pretrained=True):
    raise TypeError("something else")

def number(pretrained=True):
    return 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "hubconf.py").write_text(HUBCONF)
    return tmp_path


def test_a_folder(folder: Path) -> None:
    backbone = load_backbone(f"hub:{folder}:small")
    spec = backbone.spec
    assert (spec.dimension, spec.layer, spec.parameters) == (6, "penultimate", 6 * 3 * 64 + 6)
    assert (spec.transform.size, spec.transform.interpolation) == (224, "bicubic")
    assert any("fc, was taken off" in note for note in backbone.notes)
    assert any("mean and deviation are assumed" in note for note in backbone.notes)
    assert (backbone.module.network.body[0].weight == 1).all()  # pretrained, though its own default is not


def test_random_weights(folder: Path) -> None:
    spec = load_backbone(f"hub:{folder}:small", weights="random").spec
    assert spec.weights == "random, seed 0"
    assert spec.digest == load_backbone(f"hub:{folder}:small", weights="random").spec.digest
    assert spec.digest != load_backbone(f"hub:{folder}:small").spec.digest
    assert load_backbone(f"hub:{folder}:fixed", size=32).spec.dimension == 6
    with pytest.raises(UserError, match="takes no argument 'pretrained'"):
        load_backbone(f"hub:{folder}:fixed", weights="random")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("smal", "has no such model; did you mean small"),
        ("number", "gives int, not a torch module"),
        ("fails", "something else"),
    ],
)
def test_mistakes(folder: Path, entry: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(f"hub:{folder}:{entry}")


def test_a_folder_without_hubconf(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no hubconf.py in"):
        load_backbone(f"hub:{tmp_path}:small")


def test_code_from_elsewhere_runs_only_when_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repository in torch.hub's cache, as a download leaves it."""
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    cached = tmp_path / "someone_models_main"
    cached.mkdir()
    ran = tmp_path / "ran"
    (cached / "hubconf.py").write_text(f"from pathlib import Path\nPath({str(ran)!r}).touch()\n{HUBCONF}")
    with pytest.raises(UserError, match=r"its code would run here; if you trust someone/models:main, run once: python"):
        load_backbone("hub:someone/models:main:small")
    assert not ran.exists()
    (tmp_path / "trusted_list").write_text("someone_models\n")
    assert load_backbone("hub:someone/models:main:small").spec.dimension == 6
    assert ran.exists()


@pytest.mark.parametrize("name", ["hub:resnet18", "hub::small"])
def test_incomplete_ids(name: str) -> None:
    with pytest.raises(UserError, match="expected hub:owner/repository:model or hub:folder:model"):
        load_backbone(name)


def test_neither_folder_nor_repository() -> None:
    with pytest.raises(UserError, match="neither a folder nor an owner/repository"):
        load_backbone("hub:no/such/folder:small")
