"""The catalogue's directions and bounds, against the metrics themselves."""

import numpy as np
import pytest
import torch
from torch import Generator

from unseen.data.core.dense.labels import Objects
from unseen.metrics.accuracy import mean_per_class_accuracy, top_k_accuracy
from unseen.metrics.average_precision import average_precision_11_point
from unseen.metrics.boxes import Detections
from unseen.metrics.calibration import expected_calibration_error
from unseen.metrics.catalogue import METRICS
from unseen.metrics.clustering import clustering_scores
from unseen.metrics.colour import colour_errors
from unseen.metrics.depth import depth_errors, depth_scores
from unseen.metrics.detection import coco_scores, voc_scores
from unseen.metrics.geometry import alignment, uniformity
from unseen.metrics.intrinsic_dimension import two_nn
from unseen.metrics.lpips import Trunk, lpips
from unseen.metrics.lpips_trunks import empty_trunk
from unseen.metrics.segmentation import confusion, segmentation_scores
from unseen.metrics.spectrum import alpha_req, eigenvalues, participation_ratio, rankme
from unseen.metrics.surface_normals import angular_errors, normal_scores
from unseen.probes.by_name.retrieval import Retrieval
from unseen.probes.probe import ProbeData
from unseen.probes.protocol import Setting
from unseen.probes.saliency.attention import diffusion


def measured(quality: float) -> dict[str, float]:
    """Every metric of the catalogue on features, scores and clusters that follow the labels as closely as told."""
    generator = Generator().manual_seed(0)
    y = torch.arange(300) % 6
    X = quality * 4 * torch.eye(6)[y] + torch.randn(300, 6, generator=generator)
    scores = X[:, :6]
    clusters = torch.where(
        torch.rand(300, generator=generator) < quality, y, torch.randint(6, (300,), generator=generator)
    )
    found = clustering_scores(y, clusters)
    return {
        "top1": float(top_k_accuracy(scores, y)),
        "top5": float(top_k_accuracy(scores, y, 5)),
        "mean-per-class": float(mean_per_class_accuracy(scores, y)),
        "map-11-point": average_precision_11_point(scores, torch.eye(6, dtype=torch.bool)[y]).mean,
        "purity": found.purity,
        "ami": found.ami,
        "nmi": found.nmi,
        "ari": found.ari,
        "alignment": alignment(X, y),
        "uniformity": uniformity(X - (1 - quality) * 4),  # an offset that all share crowds them on the sphere
        "ece": expected_calibration_error((4 * scores).softmax(dim=1), y),
        "scaled-ece": expected_calibration_error((4 * scores / 2).softmax(dim=1), y),
        **measured_spectrum(X),
        "effective-robustness": float(top_k_accuracy(scores, y)) - 0.5,
        **measured_searches(X, y),
        **measured_boxes(quality),
        **measured_maps(quality),
        **measured_images(quality),
    }


def measured_searches(X: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
    """Retrieval of the same class, and of landmarks that are classes, of which every second image is hard to find."""
    of_classes = next(Retrieval().fit(ProbeData(X, y, X, y, 6), [Setting()])).values
    found = y[:, None] == torch.arange(6)
    marks = torch.where(found, 1 + torch.arange(300)[:, None] // 6 % 2, 0).to(torch.int8)
    of_queries = next(Retrieval().fit(ProbeData(X[6:], marks[6:], X[:6], torch.arange(6), 0), [Setting()])).values
    return dict(of_classes) | dict(of_queries)


def measured_spectrum(X: torch.Tensor) -> dict[str, float]:
    spectrum, exponent = eigenvalues(X, centred=True), alpha_req(torch.arange(40, 0, -1).double(), 300)
    dimension = two_nn(X).dimension
    assert dimension is not None
    assert exponent is not None
    return {
        "rankme": rankme(eigenvalues(X, centred=False)),
        "alpha-req": exponent.value,
        "participation-ratio": participation_ratio(spectrum),
        "two-nn-dimension": dimension,
    }


def measured_boxes(quality: float) -> dict[str, float]:
    """Detections that are shifted the more, the lower the quality."""
    boxes = np.array([[10.0 * place, 0, 10 * place + 8, 8] for place in range(20)])
    found = [Detections.of(boxes + (1 - quality) * np.linspace(0, 6, 20)[:, None], [0] * 20, np.linspace(1, 0.1, 20))]
    truth = [Objects.of(boxes, [0] * 20)]
    scores = {"": voc_scores(truth, found, 1), "coco-": coco_scores(truth, found, 1)}
    return {f"{kind}{name}": getattr(of, name) for kind, of in scores.items() for name in ("ap", "ap50", "ap75")}


def measured_maps(quality: float) -> dict[str, float]:
    """Classes, normals and depths that differ from the true ones the more, the lower the quality."""
    generator = Generator().manual_seed(0)
    truth = torch.arange(60) % 3
    wrong = torch.rand(60, generator=generator) > quality
    maps = segmentation_scores(confusion(torch.where(wrong, (truth + 1) % 3, truth), truth, 3))
    normals = torch.nn.functional.normalize(torch.randn(60, 3, generator=generator), dim=1)
    noisy = normals + (1 - quality) * torch.randn(60, 3, generator=generator)
    angles = normal_scores([angular_errors(noisy, normals, torch.ones(60, dtype=torch.bool))])
    depths = 1 + torch.rand(60, generator=generator)
    far = depths + 2 * (1 - quality) * torch.rand(60, generator=generator)
    found = depth_scores([depth_errors(far, depths, torch.ones(60, dtype=torch.bool))])
    return {
        "miou": maps.miou,
        "pixel-accuracy": maps.pixel_accuracy,
        "angle-mean": angles.mean,
        "angle-median": angles.median,
        **dict(zip(("within-11.25", "within-22.5", "within-30"), angles.within, strict=True)),
        "depth-rmse": found.rmse,
        "delta1": found.delta1,
    }


def measured_images(quality: float) -> dict[str, float]:
    """Attention that is spread the more widely, the higher the quality; reconstructions that are the nearer."""
    places = torch.arange(100.0)
    attention = torch.exp(-places / (1 + 100 * quality)).reshape(10, 10)
    torch.manual_seed(0)
    original = np.random.default_rng(0).integers(0, 256, (1, 32, 32, 3), dtype=np.uint8)
    reconstructed = (quality * original + (1 - quality) * 128).astype(np.uint8)
    red, green, blue = map(float, colour_errors(original, reconstructed)[0])
    distances = {
        f"lpips-{title}": float(lpips(Trunk(name, empty_trunk(name), ""), original, reconstructed)[0])
        for name, title in (("alex", "alexnet"), ("squeeze", "squeezenet"))
    }
    distances["lpips-vgg"] = distances["lpips-alexnet"]  # the same function of a larger network
    return {
        "diffusion": diffusion(attention), **distances,
        "colour-red": red, "colour-green": green, "colour-blue": blue,
    }  # fmt: skip


def test_every_metric_improves_in_its_direction_if_it_has_one_and_within_its_bounds() -> None:
    poor, good = measured(0.1), measured(0.9)
    assert set(poor) == set(METRICS)
    for name, metric in METRICS.items():
        assert metric.name == name
        better = metric.higher_is_better
        assert better is None or (good[name] > poor[name]) == better, name
        assert all(metric.allows(each[name]) for each in (poor, good)), name


def test_no_direction_is_better_of_what_describes_features() -> None:
    assert {name for name, metric in METRICS.items() if metric.higher_is_better is None} == {
        "alignment", "uniformity", "rankme", "alpha-req", "participation-ratio", "two-nn-dimension",
    }  # fmt: skip
    assert METRICS["rankme"].range_and_direction == "0 to ∞, neither direction is better"


def test_only_metrics_with_two_bounds_go_on_a_logit_scale() -> None:
    assert {name for name, metric in METRICS.items() if not metric.bounded} == {
        "alpha-req",
        "ami",
        "angle-mean",
        "angle-median",
        "colour-blue",
        "colour-green",
        "colour-red",
        "depth-rmse",
        "effective-robustness",
        "lpips-alexnet",
        "lpips-squeezenet",
        "lpips-vgg",
        "participation-ratio",
        "rankme",
        "two-nn-dimension",
    }
    assert METRICS["top1"].bounded


def test_an_information_below_minus_one_half_is_why_ami_has_no_bound() -> None:
    found = clustering_scores(torch.tensor([0, 0, 0, 1, 2]), torch.tensor([0, 1, 2, 0, 0]))
    assert found.ami == pytest.approx(-0.5440960671809476, abs=1e-9)
    assert METRICS["ami"].allows(found.ami)
    assert not METRICS["ari"].allows(found.ami)


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        METRICS["top1"] = METRICS["ece"]  # type: ignore[index]


def test_a_bound_that_is_none_allows_every_value_on_its_side() -> None:
    errors = METRICS["depth-rmse"]
    assert (errors.allows(1e300), errors.allows(-1e-6), errors.allows(-1e-6, rounding=1e-5)) == (True, False, True)
    assert (errors.range, METRICS["effective-robustness"].range) == ("0 to ∞", "−∞ to ∞")
    assert METRICS["ari"].position(0.25) == 0.5
    with pytest.raises(ValueError, match="two bounds"):
        errors.position(0.5)
