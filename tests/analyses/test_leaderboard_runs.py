"""Runs on the leaderboard: from folders on disk to their places, and the runs that are refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hit_runs import normal_hits, write_hit_run
from result_records import concept_records
from run_folders import write_concept_run

from unseen.analyses.core.study_leaderboard import StudyLeaderboard
from unseen.analyses.leaderboard import any_leaderboard, leaderboard_with_runs
from unseen.errors import UserError
from unseen.exchange.contributions import Contribution, read_contributions
from unseen.papers.concept_generalization import DOMAINS, published_accuracies, seen_only_models
from unseen.probes.protocol import COG_V2_PRUNED
from unseen.runs.cautions import caution
from unseen.runs.data import Backbone
from unseen.runs.notices import SENTENCES, notice, told
from unseen.runs.record import read_record, write_run
from unseen.runs.setup import ProtocolUsed

MINE = Backbone("mine", "yours", cautions=(caution("told", text="mean pooling"),))


def flat(_: str, domain: str, seed: int) -> float:
    """76, 70, 65, 61, 60, 55 percent, a tenth more or less by seed."""
    return [0.76, 0.70, 0.65, 0.61, 0.60, 0.55][DOMAINS.index(domain)] + 0.001 * (seed - 1)


def test_a_run_is_placed_where_its_accuracy_is(tmp_path: Path) -> None:
    board = leaderboard_with_runs([write_concept_run(tmp_path / "run", [MINE], flat)])
    entry = next(entry for entry in board.entries if entry.yours)
    assert entry.accuracy["l5"] == pytest.approx(0.55)
    # In print, nine models have more than 55.0 on L5.
    assert (entry.rank, len(board.entries)) == (10, 32)
    assert (entry.category, entry.cautions) == ("yours", ("mean pooling",))


def test_several_runs_and_names_that_are_taken(tmp_path: Path) -> None:
    one = write_concept_run(tmp_path / "one", [Backbone("ResNet50", "reference")], flat)
    two = write_concept_run(tmp_path / "two", [MINE], lambda b, d, s: flat(b, d, s) - 0.02)
    board = leaderboard_with_runs([one, two])
    assert {entry.model for entry in board.entries if entry.yours} == {"ResNet50 (yours)", "mine"}
    assert {entry.model: entry.yours for entry in board.entries}["ResNet50"] is False


def test_a_run_that_lacks_a_level_is_refused_by_name(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat, domains=DOMAINS[:4])
    with pytest.raises(UserError, match="mine has no score on l4, l5 with all shots"):
        leaderboard_with_runs([folder])


def test_a_run_without_the_shots_is_refused(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat, shots=8)
    with pytest.raises(UserError, match="mine has no score on in1k, .* with all shots"):
        leaderboard_with_runs([folder])
    assert any(entry.yours for entry in leaderboard_with_runs([folder], shots="8").entries)


def test_runs_over_other_concepts_are_refused(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "drawings", [MINE], flat, published="")
    with pytest.raises(UserError, match="drawings: not a run on the concepts of ImageNet-CoG"):
        leaderboard_with_runs([folder])


@pytest.mark.parametrize(
    ("domain", "changes", "message"),
    [
        # Twelve training and four test images per concept.
        ("l3", {"images": {"train": 12_000, "test": 4000}}, "L3 has 12,000 training images, not 1,095,206"),
        ("in1k", {"images": {"train": 8000, "test": 50_000}}, "IN1K has 8,000 training images, not 1,281,167"),
        ("l5", {"classes": 8}, "L5 has 8 classes, not 1,000"),
        ("l5", {"protocol": "cog-v2-short"}, "the protocol is cog-v2-short, not cog-v2"),
        ("l5", {"variant": "class-balanced"}, "class-balanced"),
    ],
)
def test_runs_of_other_images_are_refused_with_the_reason(
    domain: str, changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat)
    data, keys = read_record(folder)
    other = [replace(each, **changes) if each.domain == domain else each for each in data.scored]
    write_run(folder, replace(data, scored=other), keys)
    with pytest.raises(UserError, match=f"scores of mine are not comparable with the published ones: .*{message}"):
        leaderboard_with_runs([folder])


def test_entries_name_the_contributed_model_that_they_are() -> None:
    """Labels have the protocol, or the kind of model, behind the name."""
    settings = {"logistic": ProtocolUsed.of("logistic", COG_V2_PRUNED).settings}
    pruned = tuple(replace(each, protocol="cog-v2-pruned", settings=settings) for each in concept_records())
    board = leaderboard_with_runs([], [Contribution("mine", ("mine.json",), pruned)])
    assert [(each.model, each.source) for each in board.entries if each.yours] == [("mine (cog-v2-pruned)", "mine")]


def test_own_runs_on_a_site_are_not_called_contributed(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat)
    board = leaderboard_with_runs([], read_contributions([folder]))
    assert [each.category for each in board.entries if each.yours] == ["own run"]


@pytest.mark.parametrize("protocols", [[], [{"probe": "logistic", "name": "cog-v2", "settings": {"trials": 30}}]])
def test_a_run_that_does_not_record_its_settings_is_refused(tmp_path: Path, protocols: list[dict[str, Any]]) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat)
    record = json.loads((folder / "run.json").read_text()) | {"protocols": protocols}
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match="does not record"):
        leaderboard_with_runs([folder])


def test_a_run_that_does_not_say_what_it_is_of_is_refused(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat)
    record = json.loads((folder / "run.json").read_text())
    record["scored"] = []  # as before runs had it
    (folder / "run.json").write_text(json.dumps(record))
    with pytest.raises(UserError, match="does not record the number of images of IN1K; run its command again"):
        leaderboard_with_runs([folder])


def test_an_own_draw_is_said_beside_the_ranks(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat)
    data, keys = read_record(folder)
    write_run(folder, replace(data, scored=[replace(each, draw="ours") for each in data.scored]), keys)
    board = leaderboard_with_runs([folder])
    assert [entry.cautions for entry in board.entries if entry.yours] == [("mean pooling", "own draw of test images")]
    assert "the test images of L1, L2, L3, L4 and L5 are our own draw" in board.notice
    write_run(folder, replace(data, scored=[replace(each, protocol="cog-v2-pruned") for each in data.scored]), keys)
    [entry] = [entry for entry in leaderboard_with_runs([folder]).entries if entry.yours]
    assert entry.model == "mine (cog-v2-pruned)"
    assert any("cog-v2-pruned" in text for text in entry.cautions)


def test_a_run_without_scores_and_a_folder_without_a_run_are_refused(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat)
    for path in (folder / "results").glob("*.json"):
        path.write_text("{")  # as a kill in the middle of a write by another program would leave it
    with pytest.raises(UserError, match="no scores yet"):
        leaderboard_with_runs([folder])
    with pytest.raises(UserError, match="not the folder of a run"):
        leaderboard_with_runs([tmp_path])


def test_what_a_run_has_to_say_is_on_the_leaderboard(tmp_path: Path) -> None:
    plain = write_concept_run(tmp_path / "plain", [MINE], flat)
    assert leaderboard_with_runs([plain]).notice == ""
    other = Backbone("other", "yours")
    notices = [told("Mind this."), notice("blurred-faces")]
    blurred = write_concept_run(tmp_path / "blurred", [other], flat, notices=notices)
    board = leaderboard_with_runs([plain, blurred])
    assert board.notice == f"blurred: Mind this. {SENTENCES['blurred-faces']}"
    cautions = {entry.model: entry.cautions for entry in board.entries if entry.yours}
    assert cautions == {"mine": ("mean pooling",), "other": ("IN-1K with blurred faces",)}
    next((plain / "results").glob("*.json")).unlink()
    assert "1 of 18 jobs have no result yet" in leaderboard_with_runs([plain]).notice


RESNET50 = "torchvision:resnet50.IMAGENET1K_V1"


@pytest.mark.parametrize(
    ("name", "category", "left_out"),
    [
        (RESNET50, "reference", "ResNet50"),
        ("timm:deit_small_patch16_224", "architecture", "a-DeiT-S"),  # a name without a tag, as the library allows
        (RESNET50, "yours", ""),  # other weights under that name
        ("timm:resnet50.fb_ssl_yfcc100m_ft_in1k", "web data", ""),  # in no line at all
    ],
)
def test_a_published_model_is_left_out_of_its_own_line(tmp_path: Path, name: str, category: str, left_out: str) -> None:
    board = leaderboard_with_runs([write_concept_run(tmp_path / "run", [Backbone(name, category)], flat)])
    (entry,) = (entry for entry in board.entries if entry.yours)
    printed = published_accuracies()
    rows = [printed.models.index(model) for model in seen_only_models() if model != left_out]
    logits = np.log(printed.mean[rows] / (1 - printed.mean[rows]))
    slope, level = np.polyfit(logits[:, 0], logits[:, 5], 1)
    expected = 1 / (1 + np.exp(-(slope * np.log(0.76 / 0.24) + level)))
    assert entry.effective["l5"].value == pytest.approx(0.55 - expected, abs=1e-9)


def concept_run_with_hits(folder: Path, *names: str) -> Path:
    """Backbones on the concepts of ImageNet-CoG: the first two are alike, others are each worse."""
    accuracy = {name: 0.7 - 0.15 * max(0, place - 1) for place, name in enumerate(names)}
    backbones = [Backbone(name, "yours") for name in names]
    return write_concept_run(folder, backbones, flat, hits=normal_hits(accuracy, 500, spread=0.5), seeds=2)


@pytest.mark.parametrize("by", ["l5", "mean"])
def test_own_backbones_are_ranked_among_themselves_from_their_hits(tmp_path: Path, by: Any) -> None:
    folder = concept_run_with_hits(tmp_path / "run", "a", "ResNet50", "worse")
    board = leaderboard_with_runs([folder], by=by)
    assert board.own is not None
    assert {*board.own.names[:2]} == {"a", "ResNet50 (yours)"}
    assert list(zip(board.own.low.tolist(), board.own.high.tolist(), strict=True)) == [(1, 2), (1, 2), (3, 3)]
    assert board.own.groups == (board.own.names[:2], ("worse",))
    table = board.to_frame().set_index("model")
    domain = "l5" if by == "l5" else "mean"
    own = dict(zip(board.own.names, board.own.value, strict=True))
    assert {name: table.loc[name, domain] for name in own} == pytest.approx(own)
    assert table.loc["worse", ["own_rank", "own_low", "own_high", "own_group"]].tolist() == [3, 3, 3, 2]
    assert table["own_rank"].isna().sum() == 31
    assert leaderboard_with_runs([folder], by="effective").own is None


def test_own_backbones_of_a_site_are_ranked_among_themselves_too(tmp_path: Path) -> None:
    folder = concept_run_with_hits(tmp_path / "run", "a", "b", "worse")
    board = leaderboard_with_runs([], read_contributions([folder]), behind=[folder])
    assert board.own is not None
    assert board.own.groups[1] == ("worse",)
    assert leaderboard_with_runs([], read_contributions([folder])).own is None


def test_one_own_backbone_or_none_with_hits_has_no_ranks_of_its_own(tmp_path: Path) -> None:
    one = concept_run_with_hits(tmp_path / "one", "a")
    without = write_concept_run(tmp_path / "two", [MINE, Backbone("b", "yours")], flat)
    assert leaderboard_with_runs([one]).own is None
    assert leaderboard_with_runs([without]).own is None
    both = leaderboard_with_runs([concept_run_with_hits(tmp_path / "three", "a", "c"), without])
    assert both.own is not None
    assert {*both.own.names} == {"a", "c"}
    assert "mine is not ranked among yours: l5: logistic of mine on l5 keeps no values" in both.notice


def test_which_leaderboard_runs_are_on(tmp_path: Path) -> None:
    levels = concept_run_with_hits(tmp_path / "levels", "a", "b", "worse")
    other = write_hit_run(tmp_path / "other", ["a", "b"], normal_hits({"a": 0.6, "b": 0.5}))
    assert not isinstance(any_leaderboard([levels]), StudyLeaderboard)
    assert not isinstance(any_leaderboard([levels], by="l5"), StudyLeaderboard)
    by_l3 = any_leaderboard([levels], by="l3")
    assert isinstance(by_l3, StudyLeaderboard)
    assert by_l3.rankings[0].by == ("l3",)
    for by, expected in ((None, ("a", "b", "c")), ("mean", ("a", "b", "c")), ("b", ("b",))):
        board = any_leaderboard([other], by=by)
        assert isinstance(board, StudyLeaderboard)
        assert board.rankings[0].by == expected
    for by in ("l6", "effective"):
        with pytest.raises(UserError, match=f"no scores on a data set '{by}'; there are a, b, c"):
            any_leaderboard([other], by=by)
    with pytest.raises(UserError, match="by must be one of l5, mean, effective, not 'l6'"):
        any_leaderboard([levels], by="l6")
