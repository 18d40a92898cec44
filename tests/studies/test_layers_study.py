"""The study `layers` and concatenated blocks through the engine: stores, parts, workers, and the page."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from coloured_images import coloured

from studies import run_of, study_of
from unseen.analyses.core.comparables import comparables
from unseen.analyses.core.layers import LayerScores, by_depth, layer_scores, layered_backbones
from unseen.backbones.load import load_backbone, open_backbone
from unseen.errors import OtherPartsError, UserError
from unseen.features.extract import extract
from unseen.features.settings import Settings
from unseen.features.store import read_store
from unseen.probes.vectors import probe_data
from unseen.report.core.compared import Resolution
from unseen.report.core.layers import layer_section
from unseen.runs.data import RunData
from unseen.runs.means import Means
from unseen.studies.stored_features import read_for_planning

NET = "demo:supervised"
KEYS = {"probes": ["knn"], "knn": {"k": 3}, "precision": "single"}


def layers_run(out: Path, **given: object) -> RunData:
    study = study_of("layers", **KEYS).replace(backbone={"size": 28})
    return run_of(study, out, [NET], datasets=[coloured()], **given)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunData:
    return layers_run(tmp_path_factory.mktemp("layers"))


def stores(out: Path) -> dict[str, bytes]:
    """The bytes of all shards by the layer and the split of their store."""
    found = {}
    for place in sorted((out / "features/digits").iterdir()):
        about = read_store(place).provenance
        rows = np.asarray(read_store(place).X[:])
        found[f"{about['backbone']['layer']} {about['split']}"] = rows.tobytes()
    return found


def test_a_store_is_that_of_the_layer_alone(tmp_path: Path) -> None:
    """Same keys and same bits; layers that are there are not extracted again, and others are."""
    opened, data = open_backbone(NET, size=28), coloured()
    layers = opened.layer_names(["all"])
    assert len(layers) > 2
    settings = Settings(batch=5, workers=0, shard_rows=7)
    source, manifest = data.part("train")
    alone = [
        extract(source, manifest, "train", [load_backbone(NET, size=28, layer=layer)], tmp_path / "alone", settings)[0]
        for layer in layers
    ]
    first = extract(source, manifest, "train", [opened.backbone(layers[1])], tmp_path / "both", settings)[0]
    stamps = {file: file.stat().st_mtime_ns for file in first.iterdir()}
    every = [opened.backbone(layer) for layer in layers]
    for part in ((1, 2), (2, 2)):
        made = extract(source, manifest, "train", every, tmp_path / "both", replace(settings, part=part))
    assert {file: file.stat().st_mtime_ns for file in first.iterdir()} == stamps
    assert [place.name for place in made] == [place.name for place in alone]
    for one, other in zip(made, alone, strict=True):
        assert np.array_equal(read_store(one).X[:], read_store(other).X[:])


def test_rows_of_every_block_and_of_the_own_features(run: RunData) -> None:
    opened = open_backbone(NET, size=28)
    assert [each.name for each in run.backbones] == [f"{NET}/{layer}" for layer in opened.layer_names(["all", "own"])]
    assert {score.backbone for score in run.scores} == {each.name for each in run.backbones}
    sizes = [each for each in run.told if each.code == "other-size"]
    assert [dict(each.arguments)["backbone"] for each in sizes] == [NET]


@pytest.mark.parametrize("way", ["part", pytest.param("devices", marks=pytest.mark.long_suite)])
def test_any_way_of_running_gives_the_same_stores(run: RunData, tmp_path: Path, way: str) -> None:
    if way == "part":
        with pytest.raises(OtherPartsError):
            layers_run(tmp_path, part=(2, 2))
        layers_run(tmp_path, part=(1, 2))
        layers_run(tmp_path)
    else:
        layers_run(tmp_path, means=Means(devices=("cpu", "cpu")))
    assert stores(tmp_path) == stores(run.folders[0])


def found_layers(run: RunData) -> LayerScores:
    [network] = layered_backbones(run)
    assert network.name == NET
    assert network.own is not None
    [scores] = layer_scores(comparables(run).every[0], [network])
    return scores


def test_the_best_layer_and_what_others_lose(run: RunData) -> None:
    scores = found_layers(run)
    by_row = {score.backbone: score.value for score in run.scores if score.metric == "top1"}
    values = {layer: by_row[row] for layer, row in scores.backbone.rows.items()}
    assert [scores.score(layer) for layer in scores.layers] == pytest.approx([*values.values()])
    assert values[scores.best] == max(values.values())
    assert scores.best in scores.tied
    assert scores.backbone.depth(scores.last) == 1
    lost = scores.lost_by_last()
    assert (0 if lost is None else lost.value) == pytest.approx(values[scores.best] - values[scores.last])
    own = scores.lost_by_own()
    assert own is not None
    assert own.value == pytest.approx(values[scores.best] - by_row[scores.backbone.own[1]])  # type: ignore[index]


def test_the_section_draws_every_layer(run: RunData) -> None:
    section = layer_section(Resolution(run, comparables(run)))
    assert section is not None
    [figure] = section.figures
    line, *marks = figure.series
    scores = found_layers(run)
    assert (len(line.x), line.x[-1], line.name) == (len(scores.layers), 1, NET)
    assert sum(len(each.x) for each in marks) == len(scores.tied) + 1  # and the network's own features
    [row] = section.tables[0].rows
    assert row.cells[3].values[0] == scores.best
    plain = replace(run, backbones=run.backbones[:2])
    assert layer_section(Resolution(plain, comparables(plain))) is None


def test_a_probe_is_told_the_parts_of_a_vector(tmp_path: Path) -> None:
    study = study_of(**KEYS).replace(backbone={"size": 28, "layers": ["layers.3+layers.4"]}, seeds=1)
    layers = open_backbone(NET, size=28).layer_names(["all"])
    study = study.replace(backbone={"layers": ["+".join(layers[-2:])]})
    out = run_of(study, tmp_path, [NET], datasets=[coloured()])
    assert [each.name for each in out.backbones] == [NET]
    places = {read_store(each).provenance["split"]: each for each in (tmp_path / "features/digits").iterdir()}
    parts = {split: read_for_planning(place) for split, place in places.items()}
    data = probe_data(parts, {"order of classes": "sorted"}, "here")
    assert [part.block for part in data.parts] == layers[-2:]
    assert data.parts[-1].stop == data.X_train.shape[1]


def test_layers_are_in_the_order_of_the_network_however_they_were_run() -> None:
    assert by_depth(["blocks.10", "own", "blocks.9", "blocks.0"]) == ["blocks.0", "blocks.9", "blocks.10"]
    assert by_depth(["layer3", "conv1", "layer1", "layer2"]) == ["layer1", "layer2", "layer3"]


def test_parallel_branches_are_no_layers() -> None:
    with pytest.raises(UserError, match="has no numbered blocks"):
        load_backbone("torchvision:googlenet", layer="all", weights="random", size=64)
