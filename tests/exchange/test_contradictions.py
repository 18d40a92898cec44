"""Every export of a run is free of contradictions, and whichever of its numbers is changed contradicts the others."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from unseen.exchange.check import check_results, errors
from unseen.exchange.contradictions import setting_contradictions
from unseen.exchange.export import run_records, write_results
from unseen.exchange.record import ResultsFile
from unseen.papers.comparability import ScoredData
from unseen.probes.dense.protocols import DETECTION_FROZEN, SEGMENTATION, extended, shortened
from unseen.probes.inversion.protocol import InversionProtocol
from unseen.probes.many_shot import PROTOCOLS as TASKS
from unseen.probes.patches.protocols import PATCH_CONTEXT, PATCH_LINEAR
from unseen.probes.protocol import COG_V2, PROTOCOLS
from unseen.probes.saliency.grid import Grid
from unseen.probes.saliency.protocol import SaliencyProtocol
from unseen.reading.json_records import plain, typed
from unseen.runs.data import Axis, Backbone, Domain, RunData
from unseen.runs.score import Score
from unseen.runs.setup import ProtocolUsed

CONCEPTS = [*PROTOCOLS.values(), COG_V2.sequential]
COUNTED = {"concepts": ("logistic", "knn-20", "pca-32", "mlp"), "tasks": ("linear", "fine-tuned")}


@st.composite
def runs(draw: st.DrawFn) -> RunData:
    """A run of concepts or tasks with accuracies as they can be: numbers of correct images."""
    axis: Axis = draw(st.sampled_from(["concepts", "tasks"]))
    protocol: Any = draw(st.sampled_from(CONCEPTS if axis == "concepts" else list(TASKS.values())))
    images = draw(st.sampled_from([3, 7, 150, 3333, 50_000]))
    scores = []
    for probe in draw(st.sets(st.sampled_from(COUNTED[axis]), min_size=1)):
        for shots in draw(st.sets(st.sampled_from([1, 8, None]), min_size=1)):
            for seed in range(draw(st.integers(1, 6))):
                correct = draw(st.integers(0, images))
                scores.append(Score(axis, protocol.name, "a", "d", probe, shots, seed, "top1", correct / images))
                further = draw(st.integers(0, 997)) / 997
                scores.append(Score(axis, protocol.name, "a", "d", probe, shots, seed, "mean-per-class", further))
    middle, half = (draw(st.integers(1, 996)) / part for part in (997, 9970))
    scores.append(Score(axis, protocol.name, "a", "d", "centroids", 5, 0, "top1", middle, middle - half, middle + half))
    counts = {"train": 1000, "test": images}
    used = ProtocolUsed.of("logistic" if axis == "concepts" else "linear", protocol)
    return RunData(
        "", scores, [Domain("d", "D", axis=axis)], [Backbone("a", "")], "a", protocols=[used],
        scored=[ScoredData("a", "d", protocol.name, 3, counts, "given")],
    )  # fmt: skip


def numbers(value: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield before
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from numbers(each, (*before, key))


@examples(40)
@given(runs(), st.data())
def test_exports_are_sound_and_a_changed_number_is_an_error(data: RunData, draw: st.DataObject) -> None:
    file = ResultsFile("unseen-results", 1, "1", run_records(data))
    assert [*errors(file)] == []
    whole = plain(file)
    ways = [
        ("records", place, part, *way)
        for place, record in enumerate(whole["records"])
        for part in ("scores", "settings")
        for way in numbers(record[part])
        if not {"seeds", "shots"} & {*way}
    ]
    way = draw.draw(st.sampled_from(ways))
    inner: Any = whole
    for key in way[:-1]:
        inner = inner[key]
    before = inner[way[-1]]
    factor = draw.draw(st.sampled_from([1.5, 0.9, 1.001]))
    inner[way[-1]] = before + 1 if isinstance(before, int) else before * factor if abs(before) > 1e-9 else 0.001
    assert [*errors(typed(whole, ResultsFile, "a file"))], (way, before, inner[way[-1]])


@pytest.mark.parametrize(
    ("probe", "protocol", "name"),
    [
        ("inversion", InversionProtocol.of(), "steps"),
        ("inversion", InversionProtocol.of(7, sigmoid=True), "steps"),
        ("saliency", SaliencyProtocol.of(Grid(10, 1)), "stride"),
        ("saliency", SaliencyProtocol.of(Grid(8, 4)), "mask"),
        ("patch-linear", PATCH_LINEAR, "epochs"),
        ("patch-linear", replace(PATCH_LINEAR, patches=10), "epochs"),
        ("patch-context", replace(PATCH_CONTEXT, patches=10), "neighbours"),
        ("upernet", SEGMENTATION, "steps"),
        ("detector-frozen-extended", extended(DETECTION_FROZEN), "rate"),
        ("upernet", shortened(SEGMENTATION, 100, 0.5), "momentum"),
        ("upernet", shortened(extended(SEGMENTATION), 100), "momentum"),
    ],
)
def test_every_named_protocol_is_known(probe: str, protocol: Any, name: str) -> None:
    used = ProtocolUsed.of(probe, protocol)
    assert [*setting_contradictions(probe, used.name, used.settings)] == []
    changed = {**used.settings, name: 7.25}
    assert len([*setting_contradictions(probe, used.name, changed)]) == 1
    assert [*setting_contradictions(probe, "unheard-of", changed)] == []


@pytest.mark.parametrize("more", [0, 1])
def test_accuracies_are_counts_of_the_test_images(tmp_path: Path, more: int) -> None:
    counts = {"train": 900, "test": 150}
    scores = [Score("tasks", "t", "a", "d", "linear", None, seed, "top1", k / 150) for seed, k in enumerate([112, 113])]
    data = RunData(
        "", scores, [Domain("d", "D", axis="tasks")], [Backbone("a", "")], "a",
        scored=[ScoredData("a", "d", "t", 3, counts, "given")],
    )  # fmt: skip
    [record] = run_records(data)
    record = replace(record, data=replace(record.data, images=counts | {"test": 150 + more}))
    write_results(ResultsFile("unseen-results", 1, "1", [record]), tmp_path / "r.json")
    assert [each.severity for each in check_results(tmp_path / "r.json")].count("error") == more
    assert json.loads((tmp_path / "r.json").read_text())["records"][0]["scores"][0]["values"] == [112 / 150, 113 / 150]


def test_data_without_classes_can_be_exported(tmp_path: Path) -> None:
    score = Score("tasks", "patch-linear", "a", "depths", "patch-linear", None, 0, "rmse", 0.5)
    data = RunData(
        "", [score], [Domain("depths", "Depths", axis="tasks")], [Backbone("a", "")], "a",
        protocols=[ProtocolUsed.of("patch-linear", PATCH_LINEAR)],
        scored=[ScoredData("a", "depths", "patch-linear", 0, {"train": 9, "test": 3}, "given")],
    )  # fmt: skip
    file = ResultsFile("unseen-results", 1, "1", run_records(data))
    assert [*errors(file)] == []
    assert file.records[0].data.classes is None
