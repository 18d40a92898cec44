"""The JSON schema of study files takes what the reader takes, and refuses what it refuses."""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from studies import run_of, study_of
from unseen.errors import UserError
from unseen.studies.schema import DRAFT, study_schema
from unseen.studies.toml import find_study, shipped_studies, study_keys
from unseen.studies.toml import study_of as read

jsonschema = pytest.importorskip("jsonschema")


def flaws(record: dict[str, Any]) -> list[str]:
    """What the schema says against a study."""
    return [each.json_path for each in jsonschema.Draft202012Validator(study_schema()).iter_errors(record)]


def test_it_is_a_schema_and_describes_every_key() -> None:
    schema = study_schema()
    assert schema["$schema"] == DRAFT
    jsonschema.Draft202012Validator.check_schema(schema)
    for place, each in study_keys():
        *tables, name = place.split(".")
        inner = schema["properties"]
        for table in tables:
            inner = inner[table]["properties"]
        if place == "backbone.id":
            inner = schema["properties"]["backbone"]["additionalProperties"]["properties"]
        assert inner[name]["description"] == each.help, place


@pytest.mark.parametrize("name", shipped_studies())
def test_shipped_studies_fit_as_they_are_and_with_every_setting(name: str) -> None:
    text = files("unseen.studies.shipped").joinpath(f"{name}.toml").read_text("utf-8")
    assert flaws(tomllib.loads(text)) == []
    assert flaws(tomllib.loads(find_study(name).to_toml())) == []


def test_the_study_in_a_run_fits(tmp_path: Path) -> None:
    y, rng = np.arange(40) % 2, np.random.default_rng(0)
    for split in ("train", "test"):
        (tmp_path / "features/cats").mkdir(parents=True, exist_ok=True)
        np.savez(tmp_path / f"features/cats/{split}.npz", X=np.eye(2)[y] + rng.normal(0, 0.1, (40, 2)), y=y)
    study = study_of(datasets=["cats"], probes=["knn", "ridge"], knn={"k": [1, 5]}, shots=[1, "all"])
    run_of(study, tmp_path / "run", features=tmp_path / "features")
    written = tomllib.loads((tmp_path / "run/study.toml").read_text("utf-8"))
    assert written["knn"]["k"] == [1, 5]
    assert flaws(written) == []


OWN = """
datasets = ["plants", "dtd"]
backbones = ["dinov2-s", "timm:resnet50"]
probes = ["knn", "probes/mine.py"]
shots = [5, "all"]
knn.k = [5, 20]
mine.depth = 3

[data.plants]
train = "photos/train.csv"
test = { images = "photos/test.csv", root = "photos" }
classes = ["moss", "fern"]
label = "species"

[backbone]
size = 224

[backbone.dinov2-s]
id = "timm:vit_small_patch14_dinov2.lvd142m"
layers = ["blocks.8", "blocks.11"]
pool = ["cls", "avg"]
"""


def test_a_study_of_ones_own_fits() -> None:
    assert read(OWN, "own", "own.toml").data["plants"]["label"] == "species"
    assert flaws(tomllib.loads(OWN)) == []


@pytest.mark.parametrize(
    "line",
    [
        "seed = 5", "seeds = 0", "seeds = 1000", 'seeds = "many"', "shots = [0]", 'levels = 5',
        'missing-classes = "go"',
        "knn.temperature = 0", "shots = [1, 1]", 'datasets = ""',
        'knn.k = "five"', "knn.neighbours = 5", 'knn.weights = "none"', "backbone.sizes = 3", 'backbone.size = "small"',
        "backbone.mine.size = 0", 'backbone.normalize = "own"',
    ],
)  # fmt: skip
def test_what_is_refused_in_a_file_is_no_valid_study(line: str) -> None:
    text = f'probes = ["knn"]\n{line}\n'
    with pytest.raises(UserError):
        read(text, "own", "own.toml")
    assert flaws(tomllib.loads(text)) != []


@pytest.mark.parametrize("table", ["lable = 'species'", "train = 3", "metric = 'top2'", "classes = 4"])
def test_wrong_keys_of_a_data_set_are_marked(table: str) -> None:
    assert flaws(tomllib.loads(f"[data.plants]\n{table}\n")) != []
