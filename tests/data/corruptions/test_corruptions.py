"""Corruptions: strength, independent references, and what they must not do."""

import numpy as np
import pytest
from scipy import ndimage

from unseen.data.corruptions.blurs import defocus_blur, gaussian_blur, zoom_blur
from unseen.data.corruptions.corruptions import CORRUPTIONS, SEVERITIES, corrupt
from unseen.errors import UserError

NOT_ORDERED = {"saturate": "first less, then more", "elastic_transform": "1 and 2 are affine, 3 to 5 are local"}


def scene(side: int = 96) -> np.ndarray:
    """Smooth colours with edges that no grid of pixels follows, and some texture; nothing black or white."""
    y, x = np.mgrid[0:side, 0:side] / side
    rng = np.random.default_rng(3)
    base = np.stack([np.sin(7 * x + 3 * y), np.cos(5 * y - x), np.sin(4 * x * y)], axis=-1)
    squares = ((np.floor(5.3 * x + 2.1 * y) + np.floor(6.7 * y - 1.3 * x)) % 2)[..., None] * [0.25, -0.2, 0.15]
    pixels = 0.5 + 0.2 * base + squares + rng.normal(0, 0.03, (side, side, 3))
    return (pixels.clip(0.1, 0.9) * 255).astype(np.uint8)


def change(name: str, severity: int) -> float:
    found = corrupt(scene(), name, severity, np.random.default_rng(0))
    return float(((found / 255.0 - scene() / 255.0) ** 2).mean())


@pytest.mark.parametrize("name", sorted(set(CORRUPTIONS) - set(NOT_ORDERED) - {"fog"}))
def test_every_severity_is_stronger(name: str) -> None:
    changes = [change(name, severity) for severity in SEVERITIES]
    assert changes == sorted(changes)
    assert changes[0] > 1e-5


def test_fog_hides_more_of_the_picture() -> None:
    """What is left of the scene's contrast is (severity's maximum) / (maximum + thickness), which falls."""
    scene_ = scene() / 255.0
    slopes = []
    for severity in (1, 2, 3, 5):
        found = corrupt(scene(), "fog", severity, np.random.default_rng(0)) / 255.0
        difference = (scene_[..., 0] - scene_[..., 2]).ravel()  # the fog is grey, so it cancels between channels
        slopes.append(np.polyfit(difference, (found[..., 0] - found[..., 2]).ravel(), 1)[0])
    expected = [scene_.max() / (scene_.max() + thickness) for thickness in (1.5, 2, 2.5, 3)]
    np.testing.assert_allclose(slopes, expected, rtol=0.02)


@pytest.mark.parametrize("severities", [(2, 1), (3, 4, 5)])
def test_saturation_goes_down_and_up(severities: tuple[int, ...]) -> None:
    def saturation(severity: int) -> float:
        found = corrupt(scene(), "saturate", severity, np.random.default_rng(0)) / 255.0
        return float(((found.max(2) - found.min(2)) / found.max(2)).mean())

    values = [saturation(severity) for severity in severities]
    assert values == sorted(values)


def test_local_elastic_severities_are_ordered() -> None:
    changes = [change("elastic_transform", severity) for severity in (3, 4, 5)]
    assert changes == sorted(changes)


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("value", [0, 255])
def test_black_and_white_images_survive(name: str, value: int) -> None:
    image = np.full((40, 40, 3), value, np.uint8)
    with np.errstate(all="raise"):
        found = corrupt(image, name, 3, np.random.default_rng(0))
    assert found.shape == image.shape
    assert found.dtype == np.uint8


@pytest.mark.parametrize("deviation", [1, 3])
def test_gaussian_blur_is_scipys(deviation: float) -> None:
    pixels = scene() / 255.0
    expected = np.stack([ndimage.gaussian_filter(pixels[..., c], deviation, mode="mirror") for c in range(3)], axis=-1)
    np.testing.assert_allclose(gaussian_blur(pixels, deviation, np.random.default_rng(0)), expected, atol=1e-5)


def test_defocus_keeps_the_mean_and_spreads_a_point_over_a_disk() -> None:
    pixels = np.zeros((41, 41, 3))
    pixels[20, 20] = 1
    found = defocus_blur(pixels, (6, 0.1), np.random.default_rng(0))
    y, x = np.mgrid[-20:21, -20:21]
    disk = x**2 + y**2 <= 36
    np.testing.assert_allclose(found.sum(axis=(0, 1)), 1, atol=1e-5)
    np.testing.assert_allclose(found[disk][:, 0], 1 / disk.sum(), rtol=1e-4)


def test_zoom_blur_keeps_the_centre_and_radial_lines() -> None:
    side = 41
    y, x = np.mgrid[0:side, 0:side] - (side - 1) / 2
    angle = np.arctan2(y, x)
    pixels = np.repeat((0.5 + 0.3 * np.cos(angle))[..., None], 3, axis=2)  # the same along every line from the centre
    found = zoom_blur(pixels, (1.31, 0.03), np.random.default_rng(0))
    far = (np.hypot(y, x) > 6) & (np.hypot(y, x) < 18)
    np.testing.assert_allclose(found[far], pixels[far], atol=0.02)


def test_shot_noise_has_the_mean_and_variance_of_photons() -> None:
    image = np.full((200, 200, 3), 102, np.uint8)  # 0.4
    found = corrupt(image, "shot_noise", 1, np.random.default_rng(0)) / 255.0
    assert found.mean() == pytest.approx(0.4, abs=0.002)
    assert found.var() == pytest.approx(0.4 / 60, rel=0.05)


def test_impulse_noise_hits_its_share() -> None:
    found = corrupt(np.full((200, 200, 3), 99, np.uint8), "impulse_noise", 4, np.random.default_rng(0))
    assert (found == 255).mean() == pytest.approx(0.17 / 2, rel=0.05)
    assert (found == 0).mean() == pytest.approx(0.17 / 2, rel=0.05)
    assert (found == 99).mean() == pytest.approx(0.83, rel=0.01)


def test_brightness_is_that_of_hue_saturation_value() -> None:
    import colorsys

    image = np.array([[[200, 100, 50], [0, 0, 0], [255, 10, 10], [30, 60, 90]]], np.uint8)
    found = corrupt(image, "brightness", 2, np.random.default_rng(0))
    for before, after in zip(image[0] / 255.0, found[0], strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        expected = np.round(np.array(colorsys.hsv_to_rgb(hue, saturation, min(value + 0.2, 1))) * 255)
        np.testing.assert_allclose(after, expected, atol=1)


@pytest.mark.parametrize(("severity", "factor", "added"), [(1, 0.3, 0), (4, 5, 0.1)])
def test_saturation_is_that_of_hue_saturation_value(severity: int, factor: float, added: float) -> None:
    import colorsys

    image = np.array([[[200, 100, 50], [0, 0, 0], [120, 120, 120], [30, 60, 90]]], np.uint8)
    found = corrupt(image, "saturate", severity, np.random.default_rng(0))
    for before, after in zip(image[0] / 255.0, found[0], strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        wanted = min(saturation * factor + added, 1)
        np.testing.assert_allclose(after, np.round(np.array(colorsys.hsv_to_rgb(hue, wanted, value)) * 255), atol=1)


def test_unknown_corruptions_and_severities_are_refused() -> None:
    with pytest.raises(
        UserError, match="the corruption 'gausian_noise' is not implemented; did you mean gaussian_noise"
    ):
        corrupt(scene(), "gausian_noise", 1, np.random.default_rng(0))
    with pytest.raises(UserError, match="from 1 to 5, not 0"):
        corrupt(scene(), "fog", 0, np.random.default_rng(0))
