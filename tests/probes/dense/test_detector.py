"""The detector, against torchvision's own on equal weights and inputs."""

import numpy as np
import pytest
import torch
from torch.nn.functional import smooth_l1_loss
from torchvision.models import resnet18
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.anchor_utils import AnchorGenerator
from torchvision.ops import MultiScaleRoIAlign

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.dense.labels import Objects
from unseen.probes.dense import detector
from unseen.probes.dense.detector import AlignedPooling, as_detections, as_targets, faster_rcnn
from unseen.probes.dense.finite import NotFiniteError
from unseen.probes.dense.pyramid import Pyramid

SIDES, LONGEST = (96,), 160


def built(*, frozen: bool = True) -> torch.nn.Module:
    torch.manual_seed(0)
    network = resnet18()
    network.fc = torch.nn.Identity()
    return faster_rcnn(Pyramid(network), 3, Transform(size=64, resize=64), frozen=frozen, sides=SIDES, longest=LONGEST)


def scene() -> tuple[list[torch.Tensor], list[dict[str, torch.Tensor]]]:
    generator = torch.Generator().manual_seed(1)
    images = [torch.rand(3, 96, 128, generator=generator), torch.rand(3, 96, 96, generator=generator)]
    objects = [Objects.of([[10, 10, 60, 70], [30, 20, 90, 90]], [0, 2]), Objects.of([[5, 5, 40, 80]], [1])]
    return images, [as_targets(each, "cpu") for each in objects]


def test_losses_are_torchvisions_with_smooth_l1_and_its_pooling(monkeypatch: pytest.MonkeyPatch) -> None:
    """With torchvision's two deviations put back, every loss is equal on equal weights and draws."""
    ours = built().train()
    reference = FasterRCNN(
        ours.backbone,
        num_classes=4,
        min_size=SIDES,
        max_size=LONGEST,
        rpn_anchor_generator=AnchorGenerator(tuple((s,) for s in detector.ANCHORS), (detector.RATIOS,) * 5),
        rpn_pre_nms_top_n_train=2000,
        rpn_post_nms_top_n_train=1000,
    ).train()
    reference.roi_heads.box_roi_pool = AlignedPooling()
    reference.load_state_dict(ours.state_dict())

    def smooth(found: torch.Tensor, wanted: torch.Tensor, reduction: str) -> torch.Tensor:
        return smooth_l1_loss(found, wanted, beta=1 / 9, reduction=reduction)

    monkeypatch.setattr(detector, "l1_loss", smooth)
    losses = []
    for model in (ours, reference):
        torch.manual_seed(3)
        losses.append({name: float(value.detach()) for name, value in model(*scene()).items()})
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_pooling_without_the_half_pixel_is_torchvisions(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(0)
    maps = {str(n): torch.rand(2, 3, 64 >> n, 64 >> n, generator=generator) for n in range(4)}
    low = 100 * torch.rand(2, 20, 2, generator=generator)
    boxes = [torch.cat((each, each + 5 + 120 * torch.rand(20, 2, generator=generator)), dim=1) for each in low]
    reference = MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 0)(maps, boxes, [(256, 256)] * 2)
    aligned = AlignedPooling()(maps, boxes, [])
    align = detector.roi_align
    monkeypatch.setattr(detector, "roi_align", lambda *a, **k: align(*a, **(k | {"aligned": False})))
    assert torch.allclose(AlignedPooling()(maps, boxes, []), reference, atol=1e-6)
    assert not torch.allclose(aligned, reference, atol=1e-3)


def test_boxes_have_32_bits_if_products_have_16() -> None:
    """In 16 bits, the corners of proposals and detections would be rounded by up to a pixel."""
    model, seen = built(), list[torch.Tensor]()
    model.roi_heads.box_roi_pool.register_forward_pre_hook(lambda _, inputs: seen.extend(inputs[1]))
    model.roi_heads.score_thresh = 0.0
    with torch.autocast("cpu", dtype=torch.bfloat16):
        losses = model.train()(*scene())
        with torch.inference_mode():
            found = model.eval()(scene()[0])
    assert {each.dtype for each in losses.values()} == {torch.float32}
    assert {each.dtype for each in seen} == {torch.float32}
    corners = torch.cat([each["boxes"].flatten() for each in found])
    assert len(corners)
    assert corners.dtype == torch.float32
    inside = corners[corners != corners.round()]
    assert (inside != inside.bfloat16().float()).float().mean() > 0.9


def trained(model: torch.nn.Module) -> set[str]:
    """The parts of the ResNet that have parameters to train."""
    prefix = "backbone.body.network.network."
    names = [name for name, each in model.named_parameters() if each.requires_grad and name.startswith(prefix)]
    return {name.removeprefix(prefix).split(".")[0] for name in names}


def test_what_trains() -> None:
    assert trained(built()) == {"layer4"}
    assert trained(built(frozen=False)) == {"conv1", "layer1", "layer2", "layer3", "layer4"}


def test_detections_count_classes_from_0_and_images_without_objects_train() -> None:
    model = built().eval()
    with torch.no_grad():
        [found] = model([torch.rand(3, 96, 96)])
    detections = as_detections(found)
    assert ((detections.classes >= 0) & (detections.classes < 3)).all()
    model.train()
    losses = model([torch.rand(3, 96, 96)], [as_targets(Objects.of([], []), "cpu")])
    assert all(bool(torch.isfinite(value)) for value in losses.values())
    crowd = as_targets(Objects.of([[0, 0, 5, 5]], [1], ignored=[True], crowd=np.array([True])), "cpu")
    assert len(crowd["boxes"]) == 0


def test_predictions_that_are_not_finite_are_refused_instead_of_left_out() -> None:
    """Thresholds would drop them, and an image without detections would be scored."""
    image = [torch.rand(3, 96, 96)]
    for part in (
        "backbone.fpn.inner_blocks.0.0.bias",
        "rpn.head.bbox_pred.bias",
        "roi_heads.box_predictor.bbox_pred.bias",
    ):
        model = built().eval()
        dict(model.named_parameters())[part].data[0] = torch.nan
        with pytest.raises(NotFiniteError), torch.no_grad():
            model(image)


def test_the_loss_of_an_image_that_is_not_finite_is_not_finite() -> None:
    """So the step is skipped and counted."""
    images, targets = scene()
    images[0][0, 5, 5] = torch.inf
    losses = built().train()(images, targets)
    assert not torch.stack(list(losses.values())).sum().isfinite()
