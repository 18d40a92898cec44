"""Scores in the formats of others, against their published descriptions and their own readers."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from huggingface_hub.utils import validate_repo_id
from jsonschema import Draft7Validator
from result_records import concept_records
from run_folders import write_concept_run

from unseen.api.run import Run
from unseen.errors import UserError
from unseen.exchange import published
from unseen.exchange.every_eval_ever import VERSION, write_every_eval_ever
from unseen.exchange.formats import export_for_others
from unseen.exchange.hub_results import REPOSITORIES, write_hub_results
from unseen.exchange.portable import portable_name
from unseen.exchange.record import ResultRecord, ResultsFile, ScoreFacts, Told
from unseen.runs.data import Backbone

PUBLISHED = Path(published.__path__[0])
SCHEMA = json.loads((PUBLISHED / "every-eval-ever.schema.json").read_text())
HOSTILE = ["../../etc", 'a: "b"\n- c #\u2028', "😀 数据", "con", "<script>", "x" * 300, "..", "a/b\\c", "\x1b[31m"]


def file_of(records: list[ResultRecord]) -> ResultsFile:
    return ResultsFile("unseen-results", 1, "1", records, ["probes = ['knn']"])


def named(records: list[ResultRecord], text: str) -> list[ResultRecord]:
    """The records with a text as each of their names."""
    return [
        replace(
            each,
            protocol=text,
            backbone=replace(each.backbone, name=text, id=f"timm:{text}", description=text),
            data=replace(each.data, name=text, title=text),
            scores=[replace(score, probe=text) for score in each.scores],
        )
        for each in records[:1]
    ]


def with_scores(record: ResultRecord, *scores: tuple[str, float]) -> ResultRecord:
    return replace(
        record, scores=[ScoreFacts("p", None, name, value, None, [0], [value], []) for name, value in scores]
    )


def hub_entries(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        path.relative_to(folder).as_posix(): yaml.safe_load(path.read_text("utf-8")) for path in folder.rglob("*.yaml")
    }


def required(value: Any) -> Any:
    """The keys of the annotated example of the Hub, in which optional values are not left out."""
    return {key: required(each) for key, each in value.items()} if isinstance(value, dict) else None


def test_the_hub_reads_its_entries(tmp_path: Path) -> None:
    written = write_hub_results(file_of(concept_records()), tmp_path, "my-lab")
    entries = hub_entries(tmp_path)
    assert {*entries} == {f"mine/.eval_results/unseen-{name}.yaml" for name in ("in1k", "l1", "l2", "l3", "l4", "l5")}
    assert len(written.files) == 6
    assert written.scores == 12
    [few, every] = parse_eval_result_entries(entries["mine/.eval_results/unseen-l5.yaml"])
    # Table 10 of the paper: 52.0 for ResNet50 on L5.
    assert (every.dataset_id, every.task_id, every.value) == ("my-lab/l5", "cog-v2_logistic_top1", 52.0)
    assert few.task_id == "cog-v2_logistic_1-shot_top1"
    assert "percent" in every.notes
    assert "1 training images per class" in few.notes
    allowed = required(
        yaml.safe_load((PUBLISHED / "hf-eval-results.spec.yaml").read_text().replace("{", "").replace("}", ""))[0]
    )
    for entry in entries["mine/.eval_results/unseen-l5.yaml"]:
        assert entry.keys() <= allowed.keys()
        assert entry["dataset"].keys() <= allowed["dataset"].keys()


def test_without_an_owner_only_known_repositories_are_written(tmp_path: Path) -> None:
    written = write_hub_results(file_of(concept_records()), tmp_path)
    [entries] = hub_entries(tmp_path).values()
    assert {each["dataset"]["id"] for each in entries} == {REPOSITORIES["in1k"][0]}
    assert {*written.left_out} == {"l1", "l2", "l3", "l4", "l5"}
    with pytest.raises(UserError, match="hf-eval-results:OWNER"):
        write_hub_results(file_of(concept_records()[1:]), tmp_path / "none")
    few = [replace(each, data=replace(each.data, images={"train": 1000, "test": 1000})) for each in concept_records()]
    with pytest.raises(UserError):  # a part of ImageNet is not ImageNet
        write_hub_results(file_of(few), tmp_path / "few")
    with pytest.raises(UserError, match="no name of a user"):
        write_hub_results(file_of(concept_records()), tmp_path / "bad", "my lab/x")
    assert not (tmp_path / "none").exists()


def test_every_eval_ever_follows_its_schema(tmp_path: Path) -> None:
    assert SCHEMA["version"] == VERSION
    records = [
        replace(each, backbone=replace(each.backbone, id="hf:facebook/dinov2-base")) for each in concept_records()
    ]
    written = write_every_eval_ever(file_of(records), tmp_path)
    [path] = written.files
    assert path.parent == tmp_path / "data/unseen-concepts/facebook/dinov2-base"
    assert UUID(path.stem).version == 4
    log = json.loads(path.read_text())
    Draft7Validator(SCHEMA).validate(log)
    assert log["model_info"]["id"] == "facebook/dinov2-base"
    assert log["eval_library"]["additional_details"]["study 1"] == "probes = ['knn']"
    [l5] = [each for each in log["evaluation_results"] if each["evaluation_result_id"] == "l5/cog-v2/logistic/all/top1"]
    assert l5["score_details"]["score"] == pytest.approx(0.52)
    assert (l5["metric_config"]["lower_is_better"], l5["metric_config"]["metric_unit"]) == (False, "proportion")
    ends = l5["score_details"]["uncertainty"]["confidence_interval"]
    assert ends["lower"] < 0.52 < ends["upper"]
    before = path.read_bytes()
    assert write_every_eval_ever(file_of(records), tmp_path).files == [path]
    assert path.read_bytes() == before


def test_directions_and_bounds_of_metrics(tmp_path: Path) -> None:
    record = with_scores(concept_records()[0], ("depth-rmse", 2.5), ("ami", 0.1), ("rankme", 30.0), ("unknown", 1.0))
    written = write_every_eval_ever(file_of([record]), tmp_path)
    log = json.loads(written.files[0].read_text())
    Draft7Validator(SCHEMA).validate(log)
    found = {each["metric_config"]["metric_name"]: each["metric_config"] for each in log["evaluation_results"]}
    assert {*found} == {"depth-rmse", "ami"}
    assert {*written.left_out} == {"rankme", "unknown"}
    assert found["depth-rmse"]["lower_is_better"] is True
    assert (found["depth-rmse"]["min_score"], found["depth-rmse"]["max_score"]) == (0, "Infinity")
    assert (found["ami"]["min_score"], found["ami"]["metric_id"]) == ("-Infinity", "unseen.ami")
    hub = write_hub_results(file_of([record]), tmp_path / "hub", "lab")
    assert [each["value"] for of in hub_entries(tmp_path / "hub").values() for each in of] == [2.5, 0.1]
    assert {*hub.left_out} == {"rankme", "unknown"}


def test_notes_on_the_hub_have_only_what_concerns_their_score(tmp_path: Path) -> None:
    arguments = {"shots": "5 and 20", "on": " on l5"}
    told = [
        Told("skipped-episodes", arguments, "Episodes are skipped."),
        Told("fewer-samples", arguments, "Classes have fewer."),
        Told("label-free", {}, "No labels."),
        Told("told", {}, "Of all."),
    ]
    record = with_scores(concept_records()[0], ("top1", 0.5))
    for shots in (None, 5):
        scores = [replace(each, shots=shots) for each in record.scores]
        write_hub_results(file_of([replace(record, scores=scores, notices=told)]), tmp_path / f"{shots}", "lab")
        [[entry]] = hub_entries(tmp_path / f"{shots}").values()
        assert entry["notes"].endswith("Of all")
        assert [text in entry["notes"] for text in ("skipped", "fewer", "labels")] == [False, shots == 5, False]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_only_text(text: str, tmp_path: Path) -> None:
    records = named(concept_records(), text)
    for number, written in enumerate(
        (
            write_hub_results(file_of(records), tmp_path / "0", "lab"),
            write_every_eval_ever(file_of(records), tmp_path / "1"),
        )
    ):
        root = (tmp_path / str(number)).resolve()
        assert written.files
        assert all(path.resolve().is_relative_to(root) for path in written.files)
        parts = [part for path in written.files for part in path.relative_to(root).parts[number : 1 + 3 * number]]
        assert [portable_name(part) for part in parts] == parts
    for entry in parse_eval_result_entries(next(iter(hub_entries(tmp_path / "0").values()))):
        validate_repo_id(entry.dataset_id)
        assert text in entry.notes
    log = json.loads(next((tmp_path / "1").rglob("*.json")).read_text())
    Draft7Validator(SCHEMA).validate(log)
    assert log["model_info"]["name"] == text


def test_two_backbones_have_two_files(tmp_path: Path) -> None:
    first = concept_records()[:1]
    second = [replace(each, backbone=replace(each.backbone, name="mine:")) for each in first]
    for write in (write_every_eval_ever, lambda file, out: write_hub_results(file, out, "lab")):
        assert len(write(file_of([*first, *second]), tmp_path).files) == 2


def test_the_command(unseen: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = write_concept_run(tmp_path / "run", [Backbone("mine", "yours")], lambda *_: 0.5)
    answer = unseen("export", run, "--format", "every-eval-ever")
    assert answer.code == 0, answer.err
    assert list((tmp_path / "every-eval-ever/data/unseen-concepts/unknown/mine").glob("*.json"))
    known = unseen("export", run, "--format", "hf-eval-results", "--out", "hub")
    assert known.code == 0, known.err
    assert known.err.count("Left out") == 5
    for wrong in (("--format", "mteb"), ("--format", "every-eval-ever:x"), ("--format", "every-eval-ever", "--hits")):
        refused = unseen("export", run, *wrong)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
    folder = Run(run).export(tmp_path / "python", format="every-eval-ever")
    assert [path.read_bytes() for path in folder.rglob("*.json")] == [
        path.read_bytes() for path in (tmp_path / "every-eval-ever").rglob("*.json")
    ]
    with pytest.raises(UserError, match="hits=True"):
        Run(run).export(tmp_path / "x", format="every-eval-ever", hits=True)
    (tmp_path / "taken").write_text("")
    with pytest.raises(UserError, match="taken"):
        export_for_others([run], "every-eval-ever", tmp_path / "taken")
