"""Paired comparisons of two backbones, from the results of real runs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from unseen.errors import UserError
from unseen.studies.comparison import compare_backbones, comparison_table

CLASSES, EACH = 6, 30


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Probes of clear and of blurred features of the same images, and of images in another order."""
    from unseen.cli.studies import probe

    folder = tmp_path_factory.mktemp("compared")
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), EACH)
    centres = rng.standard_normal((CLASSES, 8))
    clean = {split: centres[y] + 0.5 * rng.standard_normal((len(y), 8)) for split in ("train", "test")}
    made = {}
    for name, noise in (("clear", 0.3), ("blurred", 1.6), ("shuffled", 0.3)):
        labels = np.roll(y, 1) if name == "shuffled" else y
        for split, X in clean.items():
            np.savez(folder / f"{name}-{split}.npz", X=X + noise * rng.standard_normal(X.shape), y=labels)
        made[name] = folder / f"run-{name}"
        probe(
            folder / f"{name}-train.npz", folder / f"{name}-test.npz", protocol="cog-v2-short", shots="all", seeds=2,
            backbone=name, domain="blobs", out=made[name], workers=1,
        )  # fmt: skip
    return made


def accuracy(run: Path) -> float:
    table = pd.read_csv(run / "scores.csv")
    return float(table.loc[table["metric"] == "top1", "mean"].iloc[0])


def test_the_difference_is_that_of_the_scores(runs: dict[str, Path]) -> None:
    (found,) = compare_backbones([runs["clear"], runs["blurred"]], "clear", "blurred")
    assert found.seeds == 2
    assert found.difference.concepts == CLASSES
    assert found.difference.accuracy.value == pytest.approx(accuracy(runs["clear"]) - accuracy(runs["blurred"]))
    assert found.difference.accuracy.low > 0
    # Six concepts that all favour one side: of 2⁶ patterns of signs, two are as extreme.
    assert found.p_holm == pytest.approx(2 / 2**CLASSES)
    table = comparison_table([found])
    assert table.loc[0, "difference"] == found.difference.accuracy.value


def test_a_backbone_is_not_better_than_itself(runs: dict[str, Path]) -> None:
    (found,) = compare_backbones([runs["clear"]], "clear", "clear")
    assert found.difference.accuracy.value == 0
    assert found.p_holm == 1


def test_other_images_are_refused(runs: dict[str, Path]) -> None:
    with pytest.raises(UserError, match="blobs: the two backbones were tested on other images"):
        compare_backbones([runs["clear"], runs["shuffled"]], "clear", "shuffled")


def test_the_command(runs: dict[str, Path], unseen: Callable[..., Any], tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    answer = unseen("compare", "clear", "blurred", runs["clear"], runs["blurred"], "--out", table)
    assert answer.code == 0
    assert "clear minus blurred" in answer.out
    assert pd.read_csv(table)["domain"].tolist() == ["blobs"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["clear", "blured"], "did you mean blurred?"),
        (["clear", "blurred", "--shots", "8"], "no results of 'clear' with 8 shots"),
    ],
)
def test_mistakes(runs: dict[str, Path], unseen: Callable[..., Any], arguments: list[str], sentence: str) -> None:
    answer = unseen("compare", *arguments[:2], runs["clear"], runs["blurred"], *arguments[2:])
    assert answer.code == 2
    assert sentence in answer.err
