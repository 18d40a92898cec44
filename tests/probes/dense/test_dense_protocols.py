"""The protocols' rates and moments, against the values that the paper and its code give."""

import pytest

from unseen.errors import UserError
from unseen.probes.dense.protocols import DETECTION_FROZEN, NORMALS, SEGMENTATION, shortened


def test_detection_rates() -> None:
    rate = DETECTION_FROZEN.rate_at
    assert rate(0) == pytest.approx(0.0025 / 1000)
    assert rate(100) == rate(95_999) == pytest.approx(0.0025)
    assert rate(96_000) == pytest.approx(0.00025)
    assert rate(143_999) == pytest.approx(0.000025)


def test_weight_decay_is_of_what_the_paper_says() -> None:
    kinds = {each.head: each.decayed for each in (DETECTION_FROZEN, NORMALS, SEGMENTATION)}
    assert kinds == {"faster-rcnn": "without-norms", "psp": "all", "upernet": "weights"}


def test_polynomial_decay_per_step() -> None:
    assert NORMALS.steps == 13_500
    assert SEGMENTATION.rate_at(75_000) == pytest.approx(0.02 * 0.5**0.9)
    assert 0 < NORMALS.rate_at(13_499) < 1e-5


def test_a_short_form_has_another_name_and_its_moments_move_alike() -> None:
    short = shortened(DETECTION_FROZEN, 1440, scale=0.5)
    assert short.name == "ericsson-2021-detection-frozen-short"
    assert short.milestones == (960, 1280)
    assert short.tested == (400,)
    assert shortened(NORMALS, NORMALS.steps) is NORMALS
    with pytest.raises(UserError):
        shortened(NORMALS, NORMALS.steps + 1)
