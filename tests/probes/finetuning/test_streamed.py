"""Training images that are decoded while a network trains: the same whether they are kept, and from any step on."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_training import hues

from unseen.data.core.decoding.transform import Transform
from unseen.data.core.folder import folder_images
from unseen.probes.finetuning import streamed
from unseen.probes.finetuning.protocol import Augment, FinetuneProtocol
from unseen.probes.finetuning.streamed import StreamedImages

CPU = torch.device("cpu")


@pytest.mark.parametrize("augment", ["crop+flip", "centre", "large-crop"])
def test_kept_images_are_those_that_are_streamed(
    augment: Augment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = folder_images(hues(tmp_path / "hues", count=3))
    protocol = FinetuneProtocol("test", 7, 4, 0.1, 0.0, augment=augment)
    chosen = np.array([1, 2, 5, 8, 3])

    def batches(start: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
        images = StreamedImages(source)
        found = images.training(chosen, torch.from_numpy, start, Transform(12, 14), protocol, 5, CPU)
        return list(islice(found, 7 - start))

    kept = batches(0)
    assert {int(row) for _, rows in kept for row in rows} == set(chosen.tolist())
    monkeypatch.setattr(streamed, "KEPT", 0)
    for start in (0, 3):
        for (pixels, rows), (other, same) in zip(kept[start:], batches(start), strict=True):
            assert torch.equal(pixels, other)
            assert torch.equal(rows, same)
