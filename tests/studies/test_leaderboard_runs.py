"""Runs on the leaderboard: from folders on disk to their places, and the runs that are refused."""

from pathlib import Path

import pytest
from run_folders import write_concept_run

from unseen.errors import UserError
from unseen.report.run_data import Backbone
from unseen.results.concept_generalization import DOMAINS
from unseen.studies.leaderboard import leaderboard_with_runs

MINE = Backbone("mine", "yours", cautions=("mean pooling",))


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
    with pytest.raises(UserError, match="drawings: not a run over the concepts of ImageNet-CoG"):
        leaderboard_with_runs([folder])


def test_a_run_without_scores_and_a_folder_without_a_run_are_refused(tmp_path: Path) -> None:
    folder = write_concept_run(tmp_path / "run", [MINE], flat)
    for path in (folder / "results").glob("*.json"):
        path.write_text("{")  # as a kill in the middle of a write by another program would leave it
    with pytest.raises(UserError, match="no scores yet"):
        leaderboard_with_runs([folder])
    with pytest.raises(UserError, match="not the folder of a run"):
        leaderboard_with_runs([tmp_path])
