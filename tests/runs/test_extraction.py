"""Extraction shared by several workers: the same bytes as by one, and parts of a job array that wait for each other."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from PIL import Image

from unseen.backbones.load import load_backbone
from unseen.data.core.folder import FileImages, folder_images
from unseen.data.core.manifest import whole
from unseen.errors import OtherPartsError, UserError
from unseen.features.costs import COST
from unseen.features.extract import extract
from unseen.features.settings import Settings
from unseen.runs.extraction import Pass, extract_passes, refuse_unfinished
from unseen.runs.means import ALONE, Means
from unseen.runs.sent_backbone import SentBackbone

SETTINGS = Settings(batch=3, workers=0, shard_rows=2)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> FileImages:
    root, rng = tmp_path_factory.mktemp("images"), np.random.default_rng(0)
    for number in range(12):
        (root / f"class{number % 3}").mkdir(exist_ok=True)
        pixels = rng.integers(0, 256, (28, 28, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(root / f"class{number % 3}" / f"{number}.png")
    return folder_images(root)


def contents(folder: Path) -> dict[str, bytes]:
    """The files of a store but the speed that was measured."""
    kept = (path for path in folder.iterdir() if not path.name.startswith(".") and path.name != COST)
    return {path.name: path.read_bytes() for path in kept}


@pytest.fixture(params=["this process", pytest.param("two processes", marks=pytest.mark.long_suite)])
def devices(request: pytest.FixtureRequest) -> Means:
    """Two workers; processes of their own load PyTorch first."""
    if request.param == "two processes":
        return Means(2, devices=("cpu", "cpu"))
    return cast("Means", request.getfixturevalue("two_devices"))


def test_two_workers_make_the_store_that_one_makes(images: FileImages, tmp_path: Path, devices: Means) -> None:
    """One is loaded again by its id, the other is sent; what is there is not made again."""
    known = load_backbone("demo:supervised")
    sent = replace(load_backbone("demo:untrained"), load=None)
    seen: list[int] = []
    nets, manifest = [known, sent], whole(images, "all")
    two = Pass(images, manifest, "all", tmp_path / "two")
    [found] = extract_passes(devices, [two], nets, SETTINGS, lambda name, split: lambda at: seen.append(at.done))
    expected = extract(images, manifest, "all", nets, tmp_path / "one", SETTINGS)
    assert [contents(store) for store in found] == [contents(store) for store in expected]
    assert seen == sorted(seen) == [2, 4, 6, 8, 10, 12]
    times = {path: path.stat().st_mtime_ns for store in found for path in store.iterdir()}
    assert [*extract_passes(devices, [two], nets, SETTINGS)] == [found]  # starts no process
    assert times == {path: path.stat().st_mtime_ns for store in found for path in store.iterdir()}


def test_a_part_that_is_done_before_others_says_so(images: FileImages, tmp_path: Path) -> None:
    net = load_backbone("demo:supervised")
    arguments = (ALONE, [Pass(images, whole(images, "all"), "all", tmp_path)], [net])
    [stores] = extract_passes(*arguments, replace(SETTINGS, part=(1, 2)))
    with pytest.raises(OtherPartsError, match="part 1 of 2"):
        refuse_unfinished(stores, (1, 2))
    [stores] = extract_passes(*arguments, replace(SETTINGS, part=(2, 2)))
    refuse_unfinished(stores, (2, 2))


def test_other_weights_on_a_node_are_refused() -> None:
    net = load_backbone("demo:supervised")
    other = SentBackbone.of(replace(net, spec=replace(net.spec, digest="other")))
    sent = pickle.loads(pickle.dumps(other))
    with pytest.raises(UserError, match="different weights"):
        sent.loaded("cpu")
