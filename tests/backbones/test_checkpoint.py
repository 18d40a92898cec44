"""Checkpoints as self-supervised methods leave them, made from real networks' keys."""

import argparse
import hashlib
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from unseen.backbones.checkpoint import load_checkpoint
from unseen.backbones.load import load_backbone
from unseen.errors import UserError

timm = pytest.importorskip("timm", reason="architectures to load into")
State = dict[str, Tensor]


def network(name: str = "test_resnet", seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return timm.create_model(name, num_classes=0)


def under(prefix: str, state: Mapping[str, Tensor]) -> State:
    return {prefix + key: value for key, value in state.items()}


def head(prefix: str) -> State:
    return {f"{prefix}.0.weight": torch.zeros(8, 96), f"{prefix}.2.weight": torch.zeros(4, 8)}


def moco_v2(state: State, other: State) -> Any:
    contents = under("module.encoder_q.", state | head("fc")) | under("module.encoder_k.", other | head("fc"))
    contents |= {"module.queue": torch.zeros(128, 64), "module.queue_ptr": torch.zeros(1)}
    return {"epoch": 200, "arch": "resnet50", "state_dict": contents, "optimizer": {"state": {0: torch.zeros(3)}}}


def moco_v3(state: State, other: State) -> Any:
    contents = under("module.base_encoder.", state | head("fc")) | under("module.momentum_encoder.", other | head("fc"))
    return {"state_dict": contents | head("module.predictor"), "scaler": {"scale": 1.0}}


def dino(state: State, other: State) -> Any:
    return {
        "student": under("module.backbone.", other) | head("module.head.mlp"),
        "teacher": under("backbone.", state) | head("head.mlp"),
        "args": argparse.Namespace(arch="vit_small", lr=0.0005),
    }


def swav(state: State, _: State) -> Any:
    return under("module.", state) | head("module.projection_head") | {"module.prototypes.weight": torch.zeros(9, 9)}


def byol(state: State, other: State) -> Any:
    return {"online_network": under("encoder.", state) | head("projector"), "target_network": under("encoder.", other)}


def simclr(state: State, _: State) -> Any:
    return {"model": under("encoder.", state) | head("projector")}


def vissl(state: State, _: State) -> Any:
    trunk = under("_feature_blocks.", state)
    return {"classy_state_dict": {"base_model": {"model": {"trunk": trunk, "heads": head("0.clf")}}}}


def plain(state: State, _: State) -> Any:
    return state | {"fc.weight": torch.zeros(10, 96), "fc.bias": torch.zeros(10)}


LAYOUTS: list[tuple[Callable[[State, State], Any], str, str]] = [
    (moco_v2, "state_dict.module.encoder_q.", "encoder_k"),
    (moco_v3, "state_dict.module.base_encoder.", "predictor"),
    (dino, "teacher.backbone.", "head"),
    (swav, "module.", "prototypes"),
    (byol, "online_network.encoder.", "projector"),
    (simclr, "model.encoder.", "projector"),
    (vissl, "classy_state_dict.base_model.model.trunk._feature_blocks.", "heads"),
    (plain, "", "fc"),
]


@pytest.mark.parametrize("name", ["test_resnet", "test_vit"])
@pytest.mark.parametrize(("layout", "prefix", "left"), LAYOUTS)
def test_layouts(tmp_path: Path, name: str, layout: Callable[[State, State], Any], prefix: str, left: str) -> None:
    path = tmp_path / "weights.pth"
    state, other = network(name, 1).state_dict(), network(name, 2).state_dict()
    torch.save(layout(state, other), path)
    model = network(name, 3)
    report = load_checkpoint(model, path, heads=("fc", "head"))
    assert report.prefix == prefix
    assert set(report.used) == set(state)
    assert all(torch.equal(value, state[key]) for key, value in model.state_dict().items())
    assert left in report.sentence()
    assert not any("optimizer" in key for key in report.dropped)
    assert report.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_every_key_that_is_not_used_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    extra = head("projector") | {"queue": torch.zeros(3)}
    save_file(under("backbone.", network().state_dict()) | extra, path)
    report = load_checkpoint(network(seed=1), path)
    assert sorted(report.dropped) == sorted(extra)
    assert report.sentence().endswith("under backbone; not used: projector (2), queue (1)")


def refused(tmp_path: Path, state: Any, name: str = "test_resnet", heads: tuple[str, ...] = ("fc",)) -> str:
    """The message, and that nothing was loaded."""
    path = tmp_path / "weights.pth"
    torch.save(state, path)
    model = network(name, 5)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(UserError) as error:
        load_checkpoint(model, path, heads=heads)
    assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())
    return str(error.value)


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    state = under("module.", network().state_dict())
    del state["module.layer2.0.conv1.weight"]
    message = refused(tmp_path, {"state_dict": state})
    assert "1 of the " in message
    assert "layer2.0.conv1.weight; is it of another architecture?" in message


def test_another_shape_is_refused(tmp_path: Path) -> None:
    state = dict(network().state_dict())
    first = next(iter(state))
    state[first] = state[first][:5]
    assert "1 keys have another shape" in refused(tmp_path, state)


def test_a_deeper_network_is_refused(tmp_path: Path) -> None:
    """It has all keys of the shallower one, in the same shapes."""
    state = dict(network().state_dict())
    state |= {key.replace("layer3.0.", "layer3.9."): value for key, value in state.items() if "layer3.0." in key}
    message = refused(tmp_path, state)
    assert "keys have no place in the network: layer3.9." in message
    assert "larger architecture" in message


def test_another_network_is_refused(tmp_path: Path) -> None:
    assert "keys are missing under" in refused(tmp_path, network("test_vit").state_dict(), "test_vit2")
    message = refused(tmp_path, {"a.b": torch.zeros(2)})
    assert "none of the network's" in message
    assert "the file a.b" in message
    assert "no tensors" in refused(tmp_path, {"epoch": 3})


def test_two_copies_without_a_known_name_are_refused(tmp_path: Path) -> None:
    state = network().state_dict()
    message = refused(tmp_path, under("left.", state) | under("right.", state))
    assert "2 times, under left. and right." in message


def test_counters_of_batches_may_be_missing(tmp_path: Path) -> None:
    state = {key: value for key, value in network().state_dict().items() if "num_batches" not in key}
    torch.save(state, tmp_path / "old.pth")
    report = load_checkpoint(network(seed=1), tmp_path / "old.pth")
    assert set(report.used) == set(state)


class Program:
    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (self.path,)


def test_a_file_that_would_run_code_is_refused(tmp_path: Path) -> None:
    made = tmp_path / "made"
    message = refused(tmp_path, {"state_dict": network().state_dict(), "args": Program(str(made))})
    assert "refused, it is not only tensors and plain values (it names posix.mkdir)" in message
    assert not made.exists()


def test_a_whole_pickled_model_is_refused(tmp_path: Path) -> None:
    assert "refused, it is not only tensors" in refused(tmp_path, nn.Linear(2, 2))
    assert "holds list, not a dictionary" in refused(tmp_path, [torch.zeros(2)])


@pytest.mark.parametrize("contents", [b"", b"not a checkpoint", b"PK\x03\x04" + bytes(40)])
@pytest.mark.parametrize("suffix", ["pth", "safetensors"])
def test_damaged_files(tmp_path: Path, contents: bytes, suffix: str) -> None:
    path = tmp_path / f"weights.{suffix}"
    path.write_bytes(contents)
    with pytest.raises(UserError, match=f"weights.{suffix}: (not a readable checkpoint|refused)"):
        load_checkpoint(network(), path)


def test_a_truncated_file(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    torch.save(network().state_dict(), path)
    assert zipfile.is_zipfile(path)
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(UserError, match="not a readable checkpoint"):
        load_checkpoint(network(), path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such checkpoint file"):
        load_checkpoint(network(), tmp_path / "none.pth")


@pytest.mark.parametrize("source", ["timm", "torchvision"])
def test_into_an_architecture_by_its_id(tmp_path: Path, source: str) -> None:
    """timm's and torchvision's ResNets have the same keys; MoCo's queue and head are left over."""
    path = tmp_path / "moco.pth"
    torch.manual_seed(7)
    trained = timm.create_model("resnet18", num_classes=0).eval()
    torch.save(moco_v2(trained.state_dict(), trained.state_dict()), path)
    backbone = load_backbone(f"{source}:resnet18", checkpoint=path)
    assert backbone.spec.weights == f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    images = torch.randn(1, 3, 64, 64)
    torch.testing.assert_close(backbone(images), trained(images))
    note, images_note = backbone.notes
    # 20 convolutions, 20 norms of five tensors
    assert note.startswith("checkpoint: 120 keys, under state_dict.module.encoder_q; not used: encoder_k (122), fc (2)")
    tag = {"timm": "resnet18.a1_in1k", "torchvision": "resnet18.IMAGENET1K_V1"}[source]
    assert images_note.startswith(
        f"a checkpoint does not specify the preprocessing: images are preprocessed as for {tag} "
    )


def test_position_embeddings_are_resized_after_loading(tmp_path: Path) -> None:
    path = tmp_path / "vit.safetensors"
    save_file(network("test_vit", 4).state_dict(), path)
    assert load_backbone("timm:test_vit", checkpoint=path, size=96).spec.transform.size == 96
