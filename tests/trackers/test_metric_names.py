"""Names of scores in trackers, which dashboards are built on: no version may change one."""

import re

import pytest

from unseen.trackers.metric_names import folder_name, metric_name
from unseen.trackers.tracker import LoggedScore

WANDB = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*(/[_a-zA-Z0-9]+)*")


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("dtd", "knn", "top1", None), "dtd/knn/top1"),
        (("dtd", "knn", "top1", 8), "dtd/knn/8_shot/top1"),
        (("imagenet-v2", "pca-32", "mean-per-class", None), "imagenet_v2/pca_32/mean_per_class"),
        (("my_photos", "centroids", "top1", 5), "my_photos/centroids/5_shot/top1"),
        (("3d", "linear", "within-11.25", None), "_3d/linear/within_11_25"),
        (("a b/c", "knn", "top1", None), "a_b_c_5391/knn/top1"),
        (("", "knn", "top1", None), "_e3b0/knn/top1"),
    ],
)
def test_the_scheme(parts: tuple[str, str, str, int | None], name: str) -> None:
    assert metric_name(*parts) == name
    dataset, probe, metric, shots = parts
    assert LoggedScore(dataset, probe, metric, 0.5, shots=shots, seed=3, step=7).name == name


@pytest.mark.parametrize("text", ["<b>", "..", "数据", "a\nb", "\udc80", "x" * 300, "=1+1", "a\x1b[31m", "-"])
def test_every_tracker_takes_every_name(text: str) -> None:
    name = metric_name(text, text, text, 1)
    assert WANDB.fullmatch(name)
    assert len(name) <= 250  # MLflow
    assert not {"", ".", ".."} & {*folder_name(text).split("/"), folder_name(text)}
    assert re.fullmatch(r"[\w. -]+", folder_name(text), re.ASCII)


def test_texts_that_look_alike_have_other_names() -> None:
    odd = ["a b", "a/b", "a:b", "a.b", "a+b", "x" * 100, "x" * 101]
    assert len({metric_name(text, "knn", "top1") for text in odd}) == len(odd)
    assert folder_name("timm:resnet50.a1_in1k") == "timm-resnet50.a1_in1k"
    assert folder_name("a:b", taken={"a-b"}) != "a-b"
