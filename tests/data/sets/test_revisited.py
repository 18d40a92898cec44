"""Revisited Oxford and Paris in their own files, and their protocols against the published description."""

import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from dataset_trees import write, write_images
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import unseen as package
from studies import run_of, study_of
from unseen.data.core.open_dataset import examine, open_dataset
from unseen.data.core.ranking import relations
from unseen.data.registry import DATASETS
from unseen.data.sets.revisited import read
from unseen.errors import UserError
from unseen.probes.by_name.retrieval import Retrieval
from unseen.probes.probe import ProbeData
from unseen.probes.protocol import Setting
from unseen.runs.kept_units import kept_units
from unseen.runs.record import read_results
from unseen.runs.results import RESULTS

IMAGES = [f"all_souls_{number:06d}" for number in range(10)]
QUERIES = ["christ_church_000179", "bodleian_000107"]
BOX = [1.5, 2.5, 9.2, 7.6]
"""Of images of 12 × 9 pixels; halves are rounded to even numbers."""
MARKS = [
    {"bbx": BOX, "easy": [3, 1], "hard": [0], "junk": [8, 9]},
    {"bbx": [0.0, 0.0, 12.0, 9.0], "easy": [], "hard": [2, 5], "junk": [1]},
]
TRUTH = "gnd_roxford5k.pkl"


def truth(**changes: Any) -> dict[str, Any]:
    arrays = [
        {"bbx": mark["bbx"], **{name: np.array(mark[name], dtype=np.int64) for name in ("easy", "hard", "junk")}}
        for mark in MARKS
    ]
    return {"imlist": IMAGES, "qimlist": QUERIES, "gnd": arrays} | changes


def tree(place: Path, content: Any = None, protocol: int = 2) -> Path:
    """A tiny copy: images below `jpg`, and the pickle."""
    write_images(place / "jpg", [f"{name}.jpg" for name in (*IMAGES, *QUERIES)])
    write(place / TRUTH, pickle.dumps(truth() if content is None else content, protocol))
    return place


def tiny(name: str = "roxford5k") -> Any:
    return replace(DATASETS[name], counts={"train": len(IMAGES), "test": len(QUERIES)})


def numpy_1(content: bytes) -> bytes:
    """As NumPy 1 wrote it."""
    return content.replace(b"numpy._core.", b"numpy.core.")


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_the_data_set_is_read_from_its_own_files(tmp_path: Path, protocol: int) -> None:
    tree(tmp_path / "roxford5k", protocol=protocol)
    opened = open_dataset(tiny(), tmp_path)
    entries, splits = opened.manifest.entries, opened.manifest.splits
    assert [entry.id for entry in entries] == [f"jpg/{name}.jpg" for name in (*IMAGES, *QUERIES)]
    assert list(splits) == ["train"] * 10 + ["test"] * 2
    labels = [entry.label for entry in entries]
    assert labels[:4] == ["hard:0", "easy:0+junk:1", "hard:1", "easy:0"]
    assert labels[-4:] == ["junk:0", "junk:0", "query:0", "query:1"]
    codes = relations(labels[:10], labels[10:], "")
    for query, mark in enumerate(MARKS):
        for code, name in enumerate(("easy", "hard", "junk"), 1):
            assert np.flatnonzero(codes[:, query] == code).tolist() == sorted(mark[name])
    assert (opened.classes, len(opened.rows), "10 train" in repr(opened)) == ((), 2, True)
    with Image.open(tmp_path / f"roxford5k/jpg/{QUERIES[0]}.jpg") as picture:  # as the authors' code crops
        expected = np.asarray(picture.convert("RGB").crop(BOX))
    cropped = opened.source.read(10)
    assert isinstance(cropped, np.ndarray)
    np.testing.assert_array_equal(cropped, expected)
    assert cropped.shape == (6, 7, 3)
    assert isinstance(opened.source.read(0), bytes)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: numpy_1(pickle.dumps(content, 2)),
        lambda content: pickle.dumps({**content, "gnd": MARKS}, 4),
        lambda content: pickle.dumps(
            {**content, "gnd": [{**mark, "bbx": list(np.float32(mark["bbx"]))} for mark in content["gnd"]]}, 3
        ),
        lambda content: pickle.dumps(
            {name.encode(): [each.encode() for each in part] if name != "gnd" else [
                {key.encode(): value for key, value in mark.items()} for mark in part
            ] for name, part in content.items()}, 2,
        ),
        lambda content: pickle.dumps(
            {**content, "gnd": [{k: np.array(v, dtype=">i4") if k != "bbx" else np.array(v) for k, v in mark.items()}
                                for mark in content["gnd"]]}, 4,
        ),
    ],
    ids=["numpy-1", "lists", "scalars", "bytes", "big-endian"],
)  # fmt: skip
def test_other_ways_of_writing_the_same_truth(tmp_path: Path, change: Callable[[Any], bytes]) -> None:
    place = tree(tmp_path / "a")
    expected = read(place, truth=TRUTH).rows
    write(place / TRUTH, change(truth()))
    assert read(place, truth=TRUTH).rows == expected


def mark(**changes: Any) -> list[Any]:
    return [{**MARKS[0], **changes}, MARKS[1]]


@pytest.mark.parametrize(
    "content",
    [
        [],
        {},
        truth(gnd=MARKS[:1]),
        truth(gnd={}),
        truth(gnd=[1, 2]),
        truth(imlist=[]),
        truth(imlist=IMAGES[:2]),
        truth(imlist=[*IMAGES, IMAGES[0]]),
        truth(imlist=[*IMAGES[1:], "../secret"]),
        truth(imlist=[*IMAGES[1:], QUERIES[0]]),
        truth(imlist=[1, 2]),
        truth(gnd=mark(easy=[10])),
        truth(gnd=mark(easy=[-1])),
        truth(gnd=mark(easy=[1.5])),
        truth(gnd=mark(easy=[1, 1])),
        truth(gnd=mark(easy=[8])),
        truth(gnd=mark(easy="1")),
        truth(gnd=mark(easy=[True])),
        truth(gnd=mark(bbx=[1, 2, 3])),
        truth(gnd=mark(bbx=[1, 2, 3, float("nan")])),
        truth(gnd=mark(bbx=None)),
        truth(gnd=[{"easy": []}, MARKS[1]]),
    ],
)
def test_a_truth_that_makes_no_sense_is_refused_by_its_file(tmp_path: Path, content: Any) -> None:
    tree(tmp_path / "roxford5k", content)
    with pytest.raises(UserError) as refused:
        open_dataset(tiny(), tmp_path)
    assert "\n" not in str(refused.value)
    assert "roxford5k" in str(refused.value)


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 1 << 30), st.integers(0, 255)), min_size=1, max_size=6), st.integers(0, 5))
def test_a_damaged_truth_never_crashes(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], protocol: int
) -> None:
    content = bytearray(pickle.dumps(truth(), protocol))
    for place, value in changes:
        content[place % len(content)] = value
    folder = tmp_path_factory.getbasetemp() / "fuzz"
    folder.mkdir(exist_ok=True)
    (folder / TRUTH).write_bytes(content)
    try:
        listing = read(folder, truth=TRUTH)
    except UserError as error:
        assert str(folder) in str(error)
    else:
        assert {row.part for row in listing.rows} <= {"train", "test"}


def test_a_truth_with_a_program_is_refused_and_does_not_run(tmp_path: Path) -> None:
    place = tree(tmp_path / "roxford5k", truth(gnd=[partial(print, "executed"), MARKS[1]]))
    with pytest.raises(UserError, match="refused, not a pickle of plain data"):
        read(place, truth=TRUTH)


@pytest.mark.parametrize("box", [[20, 20, 30, 30], [5, 5, 5, 8], [9, 2, 1, 7], [0, 0, 1e6, 9]])
def test_a_box_that_does_not_fit_its_image_is_refused_by_name(tmp_path: Path, box: list[float]) -> None:
    tree(tmp_path / "roxford5k", truth(gnd=mark(bbx=box)))
    source = open_dataset(tiny(), tmp_path).source
    with pytest.raises(UserError, match=QUERIES[0]):
        source.read(10)


def test_a_box_beyond_the_edge_is_padded_with_black_as_by_pil(tmp_path: Path) -> None:
    tree(tmp_path / "roxford5k", truth(gnd=mark(bbx=[-2, 0, 12, 9])))
    pixels = open_dataset(tiny(), tmp_path).source.read(10)
    assert isinstance(pixels, np.ndarray)
    assert pixels.shape == (9, 14, 3)
    assert not pixels[:, :2].any()


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    place = tree(tmp_path / "oxford5k")
    assert examine(DATASETS["roxford5k"], tmp_path).state == "partial"
    assert examine(tiny(), tmp_path).state == "complete"
    (place / "jpg" / f"{IMAGES[3]}.jpg").unlink()
    assert IMAGES[3] in examine(tiny(), tmp_path).reason
    (place / TRUTH).unlink()
    with pytest.raises(UserError, match=TRUTH):
        open_dataset(tiny(), tmp_path)


def published(similarities: np.ndarray, marks: list[dict[str, Any]], level: str) -> dict[str, float]:
    """The protocol, written from its description: a walk down each ranking without junk."""
    precisions, firsts = list[float](), dict[int, list[float]]({1: [], 5: [], 10: []})
    for query, each in enumerate(marks):
        positive = {"easy": [*each["easy"]], "medium": [*each["easy"], *each["hard"]], "hard": [*each["hard"]]}[level]
        junk = {*each["junk"]} | {"easy": {*each["hard"]}, "medium": set(), "hard": {*each["easy"]}}[level]
        if not positive:
            continue
        ranking = [image for image in np.argsort(-similarities[:, query], kind="stable").tolist() if image not in junk]
        hits = [image in positive for image in ranking]
        area, recall, precision = 0.0, 0.0, 1.0
        for place in range(len(hits)):
            now = sum(hits[: place + 1])
            area += (now / len(positive) - recall) * (precision + now / (place + 1)) / 2
            recall, precision = now / len(positive), now / (place + 1)
        precisions.append(area)
        last = max(place for place, hit in enumerate(hits, 1) if hit)
        for k, found in firsts.items():
            found.append(sum(hits[: min(k, last)]) / min(k, last))
    return {f"map-{level}": float(np.mean(precisions))} | {
        f"precision-at-{k}-{level}": float(np.mean(found)) for k, found in firsts.items()
    }


def test_the_protocols_are_those_of_the_paper() -> None:
    rng = np.random.default_rng(0)
    database, queries = (rng.standard_normal((count, 5)) for count in (300, 12))
    marks = list[dict[str, Any]]()
    for _ in range(12):
        order = rng.permutation(300).tolist()
        easy, hard, junk = rng.integers(0, 15, 3)
        marks.append({"easy": order[:easy], "hard": order[20 : 20 + hard], "junk": order[40 : 40 + junk]})
    marks[3]["easy"], marks[4]["hard"] = [], []
    codes = np.zeros((300, 12), dtype=np.int8)
    for query, each in enumerate(marks):
        for code, name in enumerate(("easy", "hard", "junk"), 1):
            codes[each[name], query] = code
    units = [X / np.linalg.norm(X, axis=1, keepdims=True) for X in (database, queries)]
    expected = dict[str, float]()
    for level in ("easy", "medium", "hard"):
        expected |= published(units[0] @ units[1].T, marks, level)
    data = ProbeData(*map(torch.from_numpy, (database, codes, queries, np.arange(12))), 0)
    [fit] = Retrieval().fit(data, [Setting()])
    assert dict(fit.values) == pytest.approx(expected, abs=1e-12)
    assert fit.units is not None
    for name, each in fit.units.arrays.items():
        level = name.rpartition("-")[2]
        empty = [not {"easy": m["easy"], "hard": m["hard"]}.get(level, [*m["easy"], *m["hard"]]) for m in marks]
        assert np.isnan(each).tolist() == empty
        assert fit.details[f"queries_{level}"] == 12 - sum(empty)


def test_a_query_without_anything_to_find_under_any_protocol_is_refused() -> None:
    X = torch.randn(4, 3)
    data = ProbeData(X, torch.full((4, 2), 3, dtype=torch.int8), X[:2], torch.arange(2), 0)
    with pytest.raises(UserError):
        list(Retrieval().fit(data, [Setting()]))


def test_a_run_keeps_each_query_and_writes_a_page(tmp_path: Path) -> None:
    tree(tmp_path / "roxford5k")
    opened = open_dataset(tiny(), tmp_path)
    study = study_of("retrieval", datasets="all")
    nets = [package.load_backbone(f"demo:{name}") for name in ("supervised", "untrained")]
    data = run_of(study, tmp_path / "run", nets, datasets=[opened])
    assert {score.metric for score in data.scores} == {*Retrieval.metrics[3:]}
    for result in read_results(tmp_path / "run"):
        [kept] = kept_units(tmp_path / "run" / RESULTS, result)
        assert kept.images is not None
        assert (kept.kind, kept.images.count, kept.images.y) == ("queries", 2, None)
        values = kept.values("map-easy")
        assert values is not None
        assert len(values) == 1
    page = package.report(tmp_path / "run", tmp_path / "page.html", compare=("demo:supervised", "demo:untrained"))
    text = page.read_text()
    assert "mean average precision, medium" in text
    assert "precision@10, hard" in text
    refused = study_of("retrieval", datasets="all", probes=["knn"])
    with pytest.raises(UserError, match="knn takes one class per image"):
        run_of(refused, tmp_path / "other", nets, datasets=[opened])
