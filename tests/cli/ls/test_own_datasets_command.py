"""A user's own data sets on the command line and in Python: looked through, and studied."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from own_trees import CLASSES, write_birds, write_toml

import unseen as library
from unseen.probes.many_shot import ERICSSON_2021, PROTOCOLS
from unseen.runs.record import read_record

Unseen = Callable[..., tuple[int, str, str]]
CODE = """
from torch import nn

from unseen.data.core.decoding.transform import Transform


def pixels():
    return nn.Sequential(nn.AvgPool2d(4), nn.Flatten()), Transform(size=8, resize=8)
"""
TABLES = '[train]\nimages = "birds/train"\n[test]\nimages = "birds/test"\n'


@pytest.fixture(autouse=True)
def few_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four ℓ2 constants instead of 45: what is tested here does not depend on them."""
    monkeypatch.setitem(PROTOCOLS, "ericsson-2021", replace(ERICSSON_2021, steps=4))


@pytest.fixture
def backbone(tmp_path: Path) -> str:
    (tmp_path / "own.py").write_text(CODE)
    return f"{tmp_path / 'own.py'}:pixels"


def test_looking_through_a_data_set(unseen: Unseen, tmp_path: Path) -> None:
    write_birds(tmp_path / "birds")
    place = write_toml(tmp_path, f'name = "garden"\nlicence = "CC0"\ncitation = "Me 2026"\n{TABLES}')
    code, said, _ = unseen("ls", "datasets", place)
    assert code == 0
    assert "15 train, 3 val, 6 test" in said
    assert all(word in said for word in ("CC0", "Me 2026", *CLASSES))
    images = sorted((tmp_path / "birds/test").rglob("*.jpg"))
    images[0].write_bytes(b"no image")
    code, said, _ = unseen("ls", "datasets", place, "--json")
    assert (code, len(json.loads(said)["damaged"])) == (0, 1)
    for image in images:
        image.write_bytes(b"no image")
    code, _, error = unseen("ls", "datasets", place)
    assert (code, "3 of 3 decoded test images" in error) == (2, True)
    write_birds(tmp_path / "birds")
    (tmp_path / "birds/test/wren/test0.jpg").write_bytes((tmp_path / "birds/train/wren/train0.jpg").read_bytes())
    (tmp_path / "birds/train/wren/train1.jpg").write_bytes(b"")
    code, said, error = unseen("ls", "datasets", place, "--json")
    found = json.loads(said)
    assert code == 2
    missing = str(tmp_path / "birds/train/wren/train1.jpg")
    assert f"1 of 24 image files are missing or empty: {missing}" in error
    assert found["missing"] == [missing]
    pair = ["train/wren/train0.jpg", "test/wren/test0.jpg"]
    assert found["shared"] == [{"first": "train", "second": "test", "pairs": [pair]}]
    assert found["counts"]["test"] == dict.fromkeys(CLASSES, 2)
    assert len(found["problems"]) == 2
    assert "Oxford-IIIT Pets" in unseen("ls", "datasets", "pets")[1]


def test_a_study_of_an_own_data_set(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    write_birds(tmp_path / "birds")
    head = f'name = "garden"\ntitle = "Garden birds"\nlicence = "CC0"\ncitation = "Me 2026"\n{TABLES}'
    place, out = write_toml(tmp_path, head), tmp_path / "run"
    options = ("run", "ericsson-2021", "--probes", "linear", "--backbone", backbone, "--out", out, "--workers", 1)
    options += ("--datasets", place)
    code, said, notes = unseen(*options)
    assert code == 0, notes
    assert "Garden birds (your data set)" in said
    page = (out / "report.html").read_text()
    assert "Garden birds (your data set)" in page
    assert "Me 2026" in page
    data, _ = read_record(out)
    [domain] = data.domains
    assert (domain.name, domain.title, domain.licence) == ("garden", "Garden birds", "CC0")
    content = library.open_dataset(place).dataset.content
    assert {images.hash for images in data.images} == {content}
    assert {*pd.read_csv(out / "scores.csv")["domain"]} == {"garden"}

    code, said, _ = unseen(*options, "--dry-run")
    assert (code, "Jobs: 0 of 1 to do" in said) == (0, True)
    (tmp_path / "birds/train/wren/train2.jpg").rename(tmp_path / "birds/train/tit/moved.jpg")
    code, _, error = unseen(*options)
    assert (code, "a run that differs in the list of the images of garden" in error) == (2, True)
    opened = library.open_dataset(place)
    plan = library.run("ericsson-2021", backbone, data=opened, out=tmp_path / "other", dry_run=True)
    assert [part["data set"] for part in plan.parts] == ["garden"]


def test_words_that_are_no_data_sets(unseen: Unseen, tmp_path: Path, backbone: str) -> None:
    options = ("run", "ericsson-2021", "--backbone", backbone, "--out", tmp_path / "run", "--datasets")
    places = [write_birds(tmp_path / part / "birds", {"train": 5, "test": 1}) for part in "ab"]
    for words, reason in [
        ("cifar", "did you mean cifar10"),
        (f"digits,{tmp_path}/none.toml", "none.toml: no such file"),
        (f"{places[0]},{places[1]}", "two data sets are named 'birds'"),
    ]:
        code, _, error = unseen(*options, words)
        assert (code, reason in error) == (2, True), error
