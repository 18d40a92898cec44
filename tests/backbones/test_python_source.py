"""The user's own file."""

from pathlib import Path

import pytest
import torch

from unseen.backbones.load import load_backbone
from unseen.errors import UserError

MODULE = """
import torch
from torch import nn
from unseen.data.core.decoding.transform import Transform

def network():
    return nn.Sequential(nn.Conv2d(3, 5, 3), nn.ReLU()), Transform(size=16, resize=16)

def vector():
    return nn.Sequential(nn.Conv2d(3, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()), Transform(size=16, resize=20)
"""
WHOLE = """
from torch import nn
from unseen.backbones.backbone import Backbone, Spec
from unseen.data.core.decoding.transform import Transform

def whole(dimension=12):
    spec = Spec("mine", "v1", "output", "none", dimension, 0, Transform(size=2, resize=2))
    return Backbone(spec, nn.Flatten())

def wrong():
    return whole(13)
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(text)
    return path


def test_module_and_transform(tmp_path: Path) -> None:
    path = write(tmp_path, MODULE)
    backbone = load_backbone(f"{path}:vector")
    spec = backbone.spec
    assert (spec.dimension, spec.parameters, spec.pool, spec.layer) == (5, 140, "none", "output")
    assert (spec.transform.size, spec.transform.resize) == (16, 20)
    pooled = load_backbone(f"{path}:network")  # its output is a map
    assert (pooled.spec.dimension, pooled.spec.pool) == (5, "avg")
    images = torch.randn(2, 3, 16, 16)
    torch.testing.assert_close(pooled(images), pooled.module.network(images).mean((2, 3)))
    assert load_backbone(f"{path}:vector", layer="0", pool="avg").spec.layer == "0"


def test_what_identifies_it_changes_with_the_code_and_the_weights(tmp_path: Path) -> None:
    first = load_backbone(f"{write(tmp_path, MODULE)}:vector").spec
    again = load_backbone(f"{write(tmp_path, MODULE)}:vector").spec
    code = load_backbone(f"{write(tmp_path, MODULE + '# changed')}:vector").spec
    assert first == again
    assert (first.weights != code.weights, first.digest == code.digest) == (True, True)
    weights = MODULE.replace("def vector():", "def vector():\n    torch.manual_seed(5)")
    assert load_backbone(f"{write(tmp_path, weights)}:vector").spec.digest != first.digest


def test_a_whole_backbone(tmp_path: Path) -> None:
    path = write(tmp_path, WHOLE)
    backbone = load_backbone(f"{path}:whole")
    assert (backbone.spec.id, backbone.spec.weights, backbone.spec.dimension) == (f"{path}:whole", "v1", 12)
    with pytest.raises(UserError, match="has 13 dimensions, but its output is 12"):
        load_backbone(f"{path}:wrong")
    with pytest.raises(UserError, match="is a finished module"):
        load_backbone(f"{path}:whole", pool="avg")


def test_it_may_import_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "parts_beside_it.py").write_text("from torch.nn import Flatten\n")
    text = "from parts_beside_it import Flatten\nfrom unseen.data.core.decoding.transform import Transform\n"
    path = write(tmp_path, text + "def f():\n    return Flatten(), Transform(size=4)\n")
    assert load_backbone(f"{path}:f").spec.dimension == 48


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def g(): pass", r"mine.py: has no function f"),
        ("def ff(): pass", r"mine.py: has no function f; did you mean ff"),
        ("def f():\n    return 3", r"must return \(module, Transform\) or a Backbone, not int"),
        ("def f():\n    return 1 / 0", r"mine.py, line 2: ZeroDivisionError: division by zero"),
        ("x = 1\ndef f(:", r"mine.py, line 2: SyntaxError"),
        ("import no_such_package", r"mine.py, line 1: ModuleNotFoundError"),
    ],
)
def test_mistakes_in_it(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_backbone(f"{write(tmp_path, text)}:f")


def test_what_is_up_to_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, MODULE)
    with pytest.raises(UserError, match="write one that gives random weights"):
        load_backbone(f"{path}:vector", weights="random")
    with pytest.raises(UserError, match=r"the size is in its Transform \(16\)"):
        load_backbone(f"{path}:vector", size=32)
    with pytest.raises(UserError, match="a checkpoint can only be loaded into"):
        load_backbone(f"{path}:vector", checkpoint=path)
    with pytest.raises(UserError, match="no such file"):
        load_backbone(f"{tmp_path}/other.py:vector")
