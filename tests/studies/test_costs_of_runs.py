"""Costs through the engine: recorded with a run, in parts, from stores of another run, and kept when it is resumed."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from coloured_images import coloured

from studies import run_of, study_of
from unseen.api.run import Run
from unseen.errors import OtherPartsError
from unseen.runs.data import RunData
from unseen.runs.record import read_run
from unseen.studies.study import Study

NETS = ["demo:supervised", "demo:untrained"]


def study(**more: Any) -> Study:
    keys = {"probes": ["knn"], "knn": {"k": 3}, "precision": "single"} | more
    return study_of("", **keys)


def cost_run(out: Path, nets: Any = NETS, **given: Any) -> RunData:
    return run_of(study(), out, nets, datasets=[coloured()], **given)


def costs(data: RunData) -> list[tuple[Any, ...]]:
    known = [each.cost for each in data.backbones]
    return [(each.parameters, each.multiply_adds, each.size, each.speed) if each else () for each in known]


def test_a_run_records_what_its_backbones_cost(tmp_path: Path) -> None:
    first = cost_run(tmp_path / "run")
    [(parameters, multiply_adds, size, speed), other] = costs(first)
    # The network of the demo, by its layers (`unseen.backbones.tiny_cnn`).
    assert (parameters, multiply_adds, size) == (395_488, 38_760_960, 28)
    assert other[:3] == (parameters, multiply_adds, size)
    assert speed.images > 0
    assert speed.device.startswith("CPU")
    before = (tmp_path / "run/run.json").read_bytes()
    assert costs(cost_run(tmp_path / "run")) == costs(first)
    assert (tmp_path / "run/run.json").read_bytes() == before
    table = Run(tmp_path / "run").costs().set_index("backbone")
    assert table.loc["demo:supervised", "multiply_adds"] == multiply_adds


@pytest.mark.long_suite
def test_features_from_stores_keep_the_speed_of_their_extraction(tmp_path: Path) -> None:
    first = cost_run(tmp_path / "run")
    again = run_of(
        study(), tmp_path / "again", datasets=[coloured()], features=tmp_path / "run/features",
    )  # fmt: skip
    assert {each.name: each.cost for each in again.backbones} == {each.name: each.cost for each in first.backbones}


@pytest.mark.long_suite
def test_parts_together_have_one_cost(tmp_path: Path) -> None:
    with suppress(OtherPartsError):
        cost_run(tmp_path, part=(2, 2))
    cost_run(tmp_path, part=(1, 2))
    done = cost_run(tmp_path, part=(2, 2))
    assert [each[0] for each in costs(done)] == [395_488] * 2
    assert all(each[3].images > 0 for each in costs(done))


@pytest.mark.long_suite
def test_a_trained_network_is_counted_without_a_speed(tmp_path: Path) -> None:
    data = run_of(study_of("finetune").replace(**{"fine-tuned": {"steps": 2, "trials": 1}}), tmp_path, NETS[:1],
                  datasets=[coloured()])  # fmt: skip
    [(parameters, multiply_adds, _, speed)] = costs(data)
    assert (parameters, multiply_adds, speed) == (395_488, 38_760_960, None)


def test_a_run_from_before_costs_is_read(tmp_path: Path) -> None:
    cost_run(tmp_path, NETS[:1])
    record = json.loads((tmp_path / "run.json").read_text())
    for each in record["backbones"]:
        del each["cost"]
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert read_run(tmp_path).backbones[0].cost is None
