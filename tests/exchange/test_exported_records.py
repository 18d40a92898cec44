"""Runs as records: the numbers of the run's own tables, all that they rest on, and nothing of the machine."""

import json
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from run_folders import whole_data
from scipy.stats import binomtest
from tracked_runs import tracked_run

from build_results_schema import PLACE, schema_text
from unseen.data.core.decoding.transform import Transform
from unseen.errors import UserError
from unseen.exchange.check import check_results
from unseen.exchange.export import export_runs, over_images, run_records, write_results
from unseen.exchange.places import names_a_place, without_places
from unseen.exchange.read import read_results_file, run_of_records
from unseen.exchange.record import (
    BackboneFacts,
    DataFacts,
    FitHits,
    Hits,
    ImageSource,
    Interval95,
    Levels,
    Made,
    ResultRecord,
    ResultsFile,
    ScoreFacts,
    Splits,
    Told,
)
from unseen.features.about import BackboneAbout
from unseen.reading.json_records import plain
from unseen.runs.cautions import caution
from unseen.runs.data import Backbone, Domain, RunData, Written
from unseen.runs.flaws import Flaw
from unseen.runs.notices import left_out, notice, told
from unseen.runs.record import write_run
from unseen.runs.score import Score
from unseen.runs.setup import Extraction, FeatureKey, ImagesUsed, LevelsUsed, ProtocolUsed, SplitsUsed
from unseen.runs.tables import score_table, summarise
from unseen.studies.differences import setting_values
from unseen.studies.toml import study_of

PAGE = (Path(__file__).parents[2] / "docs/results.md").read_text()
ABOUT = BackboneAbout("timm:x", "x.in1k", "penultimate", "cls", 384, 21_000_000, Transform(256, 292), "ab" * 32)


def a_run() -> RunData:
    """Of two backbones, with everything that a record can have."""
    scores = [
        Score("concepts", "cog-v2", name, domain, "logistic", shots, seed, "top1", 0.5 + 0.01 * seed + bonus,
              seconds=2.0, versions={"unseen": "1"}, key=f"{name}{domain}{shots}{seed}")
        for name, bonus in (("a", 0.0), ("b", 0.1)) for domain in ("in1k", "l5") for shots in (1, None)
        for seed in range(3)
    ]  # fmt: skip
    episodes = Score("concepts", "other", "a", "l5", "centroids", 5, 0, "top1", 0.6, 0.59, 0.61)
    backbones = [
        Backbone("a", "yours", "384 features", [caution("image-size", size=256)], 0.8, ["web"],
                 Extraction(ABOUT, "half", fast=True, exif=False, decode="gpu")),
        Backbone("b", "yours", finetuning=ABOUT),
    ]  # fmt: skip
    return RunData(
        title="A run of /home/jane/run",
        scores=[*scores, episodes],
        domains=[Domain("in1k", "IN-1K", seen=True), Domain("l5", "L5", similarity=0.2, licence="research")],
        backbones=backbones,
        baseline="a",
        told=[told("Images of /home/jane/data/x.npz were taken."), left_out("l4", "l4: no such folder"),
              notice("other-size", backbone="b", size=256, published=224)],
        protocols=[ProtocolUsed("logistic", "cog-v2", {"trials": 30, "rates": [0.1, 100.0]})],
        levels=LevelsUsed("cog-v2", "0" * 16),
        splits=SplitsUsed(0, 50, 1300),
        images=[ImagesUsed("in1k", "test", 50_000, "imagenet-1k-val", blurred=False),
                ImagesUsed("levels", "train", 14, pool=True)],
        written=Written("2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", {"unseen": "1"}, "A GPU", "unseen /home/jane"),
        scored=[whole_data(name, domain) for name in "ab" for domain in ("in1k", "l5")],
        features=[FeatureKey("a", "l5", {"train": "k1", "test": "k2"}, {"train": "/home/jane/f.npz"})],
        flaws=[Flaw("damaged-images", "a", "l5", "test images", 2, 50, ("/data/x/1.jpg", "2.jpg"))],
    )  # fmt: skip


def test_one_record_for_each_backbone_protocol_and_domain() -> None:
    found = run_records(a_run())
    assert [each.key[1:] for each in found] == [
        ("a", "cog-v2", "in1k"), ("a", "cog-v2", "l5"), ("b", "cog-v2", "in1k"), ("b", "cog-v2", "l5"),
        ("a", "other", "l5"),
    ]  # fmt: skip
    a, b, few = found[1], found[3], found[4]
    assert (a.backbone.digest, a.backbone.resizer, a.backbone.finetuned) == ("ab" * 32, "pytorch", False)
    assert (b.backbone.layer, b.backbone.finetuned) == ("penultimate", True)
    assert a.data.splits is not None
    assert found[0].data.splits is None
    assert [each.images for each in a.data.sources] == [14]
    assert [each.images for each in found[0].data.sources] == [50_000]
    assert (a.made.seconds, a.made.device, a.made.last[:10]) == (12.0, "A GPU", "2026-01-02")
    assert [each.code for each in a.notices] == ["told", "flaw"]  # not what is about l4, or about b
    assert [each.code for each in b.notices] == ["told", "other-size"]
    assert [(each.over, each.low, each.high) for each in few.scores[0].intervals] == [("episodes", 0.59, 0.61)]


def test_numbers_are_those_of_the_runs_own_tables() -> None:
    data = a_run()
    table = summarise(score_table(data.scores)).set_index(["backbone", "protocol", "domain", "shots"])
    for record in run_records(data):
        for score in record.scores:
            shots = "all" if score.shots is None else str(score.shots)
            row = table.loc[(record.backbone.name, record.protocol, record.data.name, shots)]
            assert score.value == row["mean"]
            assert score.deviation == (None if np.isnan(row["deviation"]) else row["deviation"])
            seeds = [each for each in score.intervals if each.over == "seeds"]
            assert [(each.low, each.high) for each in seeds] == ([(row["low"], row["high"])] if seeds else [])


@pytest.mark.parametrize(("correct", "images"), [(0, 5), (5, 5), (3, 7), (730, 1000), (49_999, 50_000)])
def test_the_interval_over_images_is_wilsons(correct: int, images: int) -> None:
    known = binomtest(correct, images).proportion_ci(method="wilson")
    found = over_images(correct / images, images)
    assert (found.low, found.high) == pytest.approx((known.low, known.high), abs=1e-12)


def test_a_file_is_read_back_as_the_run(tmp_path: Path) -> None:
    data = a_run()
    write_results(ResultsFile("unseen-results", 1, "1", run_records(data)), tmp_path / "r.json")
    file = read_results_file(tmp_path / "r.json")
    assert file.records == run_records(data)
    back = run_of_records([each for each in file.records if each.protocol == "cog-v2"])
    assert back.backbones[0] == replace(data.backbones[0], cautions=list(data.backbones[0].cautions))
    assert back.backbones[1].finetuning == ABOUT
    assert list(back.scored) == sorted(data.scored, key=lambda each: each.backbone)
    assert {(s.backbone, s.domain, s.shots, s.seed, s.value) for s in back.scores} == {
        (s.backbone, s.domain, s.shots, s.seed, s.value) for s in data.scores if s.protocol == "cog-v2"
    }


def test_facts_about_the_users_own_metrics_are_exported() -> None:
    data = a_run()
    own = Score("concepts", "cog-v2", "a", "l5", "logistic", None, 0, "own-errors", 3.0)
    facts = {"lower": 0.0, "upper": None, "higher_is_better": False, "unit": "score", "code": "ab" * 32}
    protocols = [*data.protocols, ProtocolUsed("own-errors", "own-metric", facts)]
    records = run_records(replace(data, scores=[*data.scores, own], protocols=protocols))
    assert [each.key[1:] for each in records if "own-errors" in each.settings] == [("a", "cog-v2", "l5")]
    back = run_of_records(records[:4]).metrics["own-errors"]
    assert (back.lower, back.upper, back.higher_is_better, back.unit) == (0.0, None, False, "score")


def test_there_are_no_places_of_the_machine_in_a_file(tmp_path: Path) -> None:
    write_results(ResultsFile("unseen-results", 1, "1", run_records(a_run())), tmp_path / "r.json")
    text = (tmp_path / "r.json").read_text()
    assert "jane" not in text
    assert "/data" not in text
    assert "x.npz" in text  # of a path its last name is left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("'/data/imagenet/val': no", "'val': no"), ("C:\\Users\\Jane Doe\\m.pth", "m.pth"),
        ("/home/jane doe/d/x.csv left", "x.csv left"), ("timm:resnet50@/w/moco.pth", "timm:resnet50@moco.pth"),
        ("models/mine.py:make", "mine.py:make"), ("~/x/y.pth, ../b", "y.pth, b"), ("file:///home/u/z.py", "z.py"),
        (f"{Path.home()}/a b/c.npz", "c.npz"), ("hub:/home/jane/repo:net", "hub:repo:net"),
        ("/data/my own images/net.pth", "net.pth"), ("C:\\my images\\net.pth", "net.pth"),
        ("of /data/a and /data/b: 3", "of a and b: 3"),
    ],
)  # fmt: skip
def test_of_paths_the_last_name_is_left(text: str, left: str) -> None:
    assert without_places({"a": [text]})["a"][0] == left
    assert names_a_place(text)


@pytest.mark.parametrize(
    "text",
    ["hf:facebook/dinov2-base", "https://arxiv.org/abs/2012.05649", "</b> [x]", "ViT-B/16", "3/4", "and / or", "/", ""],
)
def test_what_is_no_path_stays(text: str) -> None:
    assert without_places(text) == text


def test_the_schema_is_that_of_the_types_and_takes_what_is_written() -> None:
    assert PLACE.read_text() == schema_text(), "run scripts/build_results_schema.py, and raise VERSION if it was used"
    schema = json.loads(schema_text())
    Draft202012Validator.check_schema(schema)
    file = plain(ResultsFile("unseen-results", 1, "1", run_records(a_run())))
    validator = Draft202012Validator(schema)
    assert list(validator.iter_errors(file)) == []
    changes: list[tuple[str, Any]] = [("version", 2), ("unseen", None), ("records", {}), ("more", 1)]
    for key, value in changes:
        assert list(validator.iter_errors(file | {key: value})), key
    file["records"][0]["scores"][0]["value"] = "0.5"
    assert len(list(validator.iter_errors(file))) == 1


HEADINGS = {
    "the file": ResultsFile, "a record": ResultRecord, "backbone": BackboneFacts, "preprocessing": Transform,
    "data": DataFacts, "levels": Levels, "splits": Splits, "sources": ImageSource, "scores": ScoreFacts,
    "intervals": Interval95, "a test set with hits": Hits, "hits of a fit": FitHits, "made": Made,
    "notices and cautions": Told,
}  # fmt: skip


@pytest.mark.parametrize("heading", HEADINGS)
def test_the_page_explains_every_key(heading: str) -> None:
    below = PAGE.partition(f"\n### {heading}\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (`.*?) \|", below, re.MULTILINE)
    explained = [key for row in rows for key in re.findall(r"`(\w+)`", row)]
    assert sorted(explained) == sorted(each.name for each in fields(HEADINGS[heading]))


def test_what_cannot_be_exported_is_said(tmp_path: Path) -> None:
    data = replace(a_run(), scores=())
    write_run(tmp_path / "run", data, [])
    with pytest.raises(UserError, match="no scores yet"):
        export_runs([tmp_path / "run"], tmp_path / "r.json")
    with pytest.raises(UserError, match=r"written as \.json"):
        export_runs([tmp_path / "run"], tmp_path / "r.txt")


def test_studies_are_embedded_as_text_and_as_settings(tmp_path: Path) -> None:
    out = tmp_path / "run"
    tracked_run(out)
    file = export_runs([out], tmp_path / "r.json")
    assert read_results_file(tmp_path / "r.json") == file
    [settings] = file.study_settings
    assert settings == dict(setting_values(study_of(file.studies[0], "", "")))
    assert (settings["knn.k"], settings["shots"], settings["seeds"]) == (20, [2, "all"], 2)
    assert not [each for each in check_results(tmp_path / "r.json") if each.severity == "error"]
    record = json.loads((tmp_path / "r.json").read_text())
    Draft202012Validator(json.loads(PLACE.read_text())).validate(record)

    def errors(**changes: Any) -> list[tuple[str, str]]:
        (tmp_path / "c.json").write_text(json.dumps(record | changes))
        found = check_results(tmp_path / "c.json")
        return [(each.where, each.text) for each in found if each.severity == "error"]

    assert errors(study_settings=[]) == []  # as in files of before
    assert [where for where, _ in errors(study_settings=[{**settings, "knn.k": 5}])] == ["study 1"]
    assert [where for where, _ in errors(study_settings=[{**settings, "knn.more": 5}])] == ["study 1"]
    assert [where for where, _ in errors(study_settings=[settings, settings])] == [""]
    assert [where for where, _ in errors(studies=["nonsense"])] == ["study 1"]
    older = {key: value for key, value in record.items() if key not in {"studies", "study_settings"}}
    Draft202012Validator(json.loads(PLACE.read_text())).validate(older)
    (tmp_path / "older.json").write_text(json.dumps(older))
    assert list(read_results_file(tmp_path / "older.json").studies) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (r"\input{x}", r"\input{x}"), (r"a \textbf{b}", r"a \textbf{b}"), (r"\x", r"\x"),
        ("C:\\Users\\jane\\x.pth", "x.pth"),
        (r"\\server\share\x.pth", "x.pth"), (r"\data\x.pth", "x.pth"), ("{/home/jane/x.pth}", "{x.pth}"),
    ],
)  # fmt: skip
def test_backslashes_of_names_are_kept(text: str, kept: str) -> None:
    assert without_places({"name": text}) == {"name": kept}
