"""Where the fitted plane is looked at from."""

import numpy as np
import pytest

from unseen.report.shifts.camera import ASIDE, MOST_HEIGHT, TILT, plane_eye


@pytest.mark.parametrize("weights", [(0.9, 0.1), (0.1, 0.9), (0.5, 0.5), (0.7, -0.3), (-0.2, 0.8), (3.0, -2.0)])
@pytest.mark.parametrize("apart", [1.0, 0.05])
def test_the_plane_is_seen_nearly_edge_on(weights: tuple[float, float], apart: float) -> None:
    """For ID test sets that are unrelated, and for nearly collinear ones, where weights mean little."""
    rng = np.random.default_rng(0)
    first = rng.normal(size=80)
    second = np.sqrt(1 - apart**2) * first + apart * rng.normal(size=80)
    level = weights[0] * first + weights[1] * second
    points = np.stack([first, second, level + 0.1 * level.std() * rng.normal(size=80)], axis=1)
    eye = np.array(plane_eye(weights, points))
    assert np.linalg.norm(eye) == pytest.approx(1)
    spans = np.ptp(points, axis=0)
    normal = np.array([-weights[0] * spans[0] / spans[2], -weights[1] * spans[1] / spans[2], 1])
    assert np.degrees(np.arcsin(eye @ normal / np.linalg.norm(normal))) == pytest.approx(TILT)
    assert 0 <= eye[2] <= np.sin(np.radians(MOST_HEIGHT))
    azimuth = np.degrees(np.arctan2(eye[1], eye[0])) % 90
    assert min(azimuth, 90 - azimuth) >= ASIDE - 1e-9
    # Points are spread across the line of sight, not along it.
    cube = (points - points.mean(axis=0)) / spans
    along = cube @ eye
    across = cube - np.outer(along, eye)
    assert (across**2).sum(axis=1).mean() > (along**2).mean()


def test_models_in_one_place_and_flat_planes_have_a_view() -> None:
    assert np.isfinite(plane_eye([0.0, 0.0], np.random.default_rng(0).normal(size=(9, 3)))).all()
    assert np.isfinite(plane_eye([0.5, 0.5], np.zeros((3, 3)))).all()
