"""Rankings of the backbones of runs: known orders, and the same numbers as from each pair alone."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hit_runs import normal_hits, write_hit_run
from numpy.typing import NDArray

from unseen.analyses.core.comparables import comparables
from unseen.analyses.core.rankings import Ranking, rankings
from unseen.analyses.core.study_leaderboard import study_leaderboard
from unseen.errors import UserError
from unseen.metrics.comparisons import holm
from unseen.metrics.paired.suites import suite_means
from unseen.probes.job import Fit, Job
from unseen.probes.units import ScoredImages, Units
from unseen.runs.data import Domain
from unseen.runs.record import read_run

ACCURACY = {"best": 0.9, "near": 0.9, "mid": 0.7, "low": 0.5}


def nested(backbone: str, dataset: str, seed: int) -> NDArray[np.bool_]:
    """`best` and `near` are right on 90 of 100 images, each on five that the other is not; the others on a part."""
    right = np.arange(100) < 100 * ACCURACY[backbone]
    if backbone == "near":
        right[85:95] = ~right[85:95]
    return right


def only(folder: Path, **options: Any) -> Ranking:
    [ranking] = rankings(read_run(folder), **options)
    return ranking


def ranks(ranking: Ranking) -> dict[str, tuple[int | None, int | None, int | None, int | None]]:
    return {each.backbone: (each.rank, each.low, each.high, each.group) for each in ranking.entries}


def test_a_tie_group_with_known_truth(tmp_path: Path) -> None:
    ranking = only(write_hit_run(tmp_path, [*ACCURACY], nested))
    assert ranks(ranking) == {"best": (1, 1, 2, 1), "near": (1, 1, 2, 1), "mid": (3, 3, 3, 2), "low": (4, 4, 4, 3)}
    assert (ranking.basis, ranking.by, ranking.units, ranking.fewest_seeds) == (
        "pairs",
        ("a", "b", "c"),
        ("images",),
        1,
    )
    # Equal differences on all data sets: on others, too, nothing is known of the first two, and all of the rest.
    assert [each.others for each in ranking.entries] == [(1, 2), (1, 2), (3, 3), (4, 4)]
    assert ranking.standings is not None
    assert ranking.standings.winner is None


@pytest.mark.parametrize("axis", ["tasks", "shifts"])
def test_intervals_are_those_of_each_pair_alone(tmp_path: Path, axis: Any) -> None:
    accuracy = {"a1": 0.72, "a2": 0.70, "a3": 0.68, "a4": 0.66, "a5": 0.6}
    folder = write_hit_run(tmp_path, [*accuracy], normal_hits(accuracy, spread=0.7, seeds=0.03), axis=axis, seeds=3)
    ranking, compared = only(folder), comparables(read_run(folder)).every
    for own in ranking.entries:
        p_values, ahead = [], []
        for other in accuracy:
            if other == own.backbone:
                continue
            each = [place.difference(own.backbone, other) for place in compared]
            estimate = suite_means(each).over_these
            if axis == "shifts":  # test sets share training images: as if fully correlated
                error, df = sum(one.error for one in each) / 3, min(one.df for one in each)
                estimate = replace(estimate, error=error, df=df)
            p_values.append(estimate.p_value)
            ahead.append(estimate.value > 0)
        sure = holm(np.array(p_values)) <= 0.05
        assert own.low == 1 + int((sure & ~np.array(ahead)).sum())
        assert own.high == 5 - int((sure & np.array(ahead)).sum())


def test_a_lone_backbone_is_not_ranked(tmp_path: Path) -> None:
    ranking = only(write_hit_run(tmp_path, ["best"], nested))
    assert (ranking.basis, ranks(ranking)) == ("alone", {"best": (None, None, None, None)})
    assert ranking.entries[0].value == 0.9


def test_a_backbone_is_not_ranked_on_its_training_data(tmp_path: Path) -> None:
    data = read_run(write_hit_run(tmp_path, [*ACCURACY], nested))
    known = [replace(each, training_data=["A", "web"] if each.name == "best" else None) for each in data.backbones]
    [ranking] = rankings(replace(data, backbones=known))
    assert [(each.backbone, each.rank, each.trained_on) for each in ranking.entries] == [
        ("near", 1, ()), ("mid", 2, ()), ("low", 3, ()), ("best", None, ("a",)),
    ]  # fmt: skip
    assert ranking.left_out[0].scores["a"] == 0.9
    [on_b] = rankings(replace(data, backbones=known), by="b")
    assert on_b.entries[0].rank == on_b.entries[1].rank == 1
    [two] = rankings(read_run(write_hit_run(tmp_path / "two", ["best", "mid"], nested)))
    assert two.by == ("a", "b", "c")
    data = read_run(tmp_path / "two")
    [without] = rankings(replace(data, backbones=[replace(each, training_data=["a"]) for each in data.backbones[:1]]))
    assert (without.by, without.entries[0].rank) == (("b", "c"), 1)


def test_seeds_that_one_backbone_lacks(tmp_path: Path) -> None:
    seeds = {"best": [0, 1, 2], "near": [0, 1], "mid": [0, 1, 2], "low": [5]}
    folder = write_hit_run(tmp_path, [*ACCURACY], normal_hits(ACCURACY, spread=0.5, seeds=0.02), seeds=seeds)
    ranking = only(folder)
    # Nothing is resolved for `low`, which has no seed in common with others; nor may it take the last rank alone.
    assert ranks(ranking)["low"] == (4, 1, 4, 1)
    assert ranks(ranking)["mid"][1:3] == (3, 4)
    assert (ranking.fewest_seeds, len(ranking.notes)) == (0, 4)
    [first, *_] = comparables(read_run(folder)).every
    for one in ("best", "near", "mid"):
        for other in ("best", "near", "mid"):
            row, column = first.backbones.index(one), first.backbones.index(other)
            alone = first.difference(one, other)
            assert first.pairs.value[row, column] == pytest.approx(alone.value)
            assert first.pairs.p_values[row, column] == pytest.approx(alone.p_value)


def test_backbones_on_other_images_are_named_and_left_out(tmp_path: Path) -> None:
    one = write_hit_run(tmp_path / "one", ["best", "near"], nested)
    two = write_hit_run(tmp_path / "two", ["mid", "low"], nested, ids="other/")
    [ranking] = study_leaderboard([one, two]).rankings
    assert ranks(ranking) == {
        "best": (1, 1, 2, 1), "near": (1, 1, 2, 1), "mid": (None,) * 4, "low": (None,) * 4
    }  # fmt: skip
    assert all("the names of their images differ" in each.reason for each in ranking.left_out)
    same = write_hit_run(tmp_path / "three", ["mid", "low"], nested)
    assert ranks(study_leaderboard([one, same]).rankings[0])["low"] == (4, 4, 4, 3)


def test_lower_is_better(tmp_path: Path) -> None:
    """Depths: a backbone with larger errors on all images is last."""

    def depths(job: Job) -> Fit:
        rng = np.random.default_rng([len(job.dataset), sum(map(ord, job.dataset))])
        errors = rng.uniform(0.5, 1, 200) + {"small": 0.0, "same": 0.0, "large": 0.2}[job.backbone]
        errors += np.random.default_rng(sum(map(ord, job.backbone))).normal(0, 0.05, 200)
        arrays = {"rmse": errors, "delta1": np.full(200, 0.5)}
        images = ScoredImages.unlabelled((), 200, [f"{number}" for number in range(200)])
        values = [("depth-rmse", float(errors.mean())), ("delta1", 0.5)]
        return Fit(job.probe, None, 0, values, units=Units("depths", arrays, images))

    folder = write_hit_run(tmp_path, ["large", "small", "same"], nested, fit=depths, datasets=("a", "b"))
    ranking = only(folder)
    assert (ranking.metric.name, ranking.units) == ("depth-rmse", ("groups of images",))
    assert ranks(ranking)["large"] == (3, 3, 3, 2)
    assert {each.backbone for each in ranking.entries[:2]} == {"small", "same"}
    assert ranking.entries[0].value is not None
    assert ranking.entries[0].value < ranking.entries[2].value  # type: ignore[operator]


def test_one_data_set_and_backbones_without_a_score(tmp_path: Path) -> None:
    def hits(backbone: str, dataset: str, seed: int) -> NDArray[np.bool_]:
        return np.arange(100) < (95 if (backbone, dataset) == ("low", "b") else 100 * ACCURACY[backbone])

    folder = write_hit_run(tmp_path, [*ACCURACY], hits)
    ranking = only(folder, by="b")
    assert (ranking.by, ranking.entries[0].backbone, ranking.entries[0].value) == (("b",), "low", 0.95)
    assert all(each.others is None for each in ranking.entries)
    with pytest.raises(UserError, match="no scores on a data set 'd'; there are a, b, c"):
        only(folder, by="d")
    with pytest.raises(UserError, match="no scores with 5 shots; there are scores with all"):
        only(folder, shots=5)
    data = read_run(folder)

    def without(cells: Sequence[tuple[str, str]]) -> Ranking:
        kept = [score for score in data.scores if (score.backbone, score.domain) not in cells]
        return rankings(replace(data, scores=kept))[0]

    one_lacks = without([("mid", "c")])
    assert [(each.backbone, each.reason) for each in one_lacks.left_out] == [("mid", "no score on c")]
    assert one_lacks.by == ("a", "b", "c")
    all_lack = without([("best", "a"), ("near", "b"), ("mid", "b"), ("low", "a")])
    assert (all_lack.by, len(all_lack.left_out)) == (("c",), 0)


def test_without_hits_ranks_have_no_interval(tmp_path: Path) -> None:
    ranking = only(write_hit_run(tmp_path / "none", [*ACCURACY], nested, kept=lambda *_: False))
    assert (ranking.basis, ranks(ranking)["mid"]) == ("scores", (3, None, None, None))
    some = only(write_hit_run(tmp_path / "some", [*ACCURACY], nested, kept=lambda name, _: name != "low"))
    assert some.basis == "pairs"
    assert [each.backbone for each in some.left_out] == ["low"]
    assert "keeps no values of single images" in some.left_out[0].reason
    assert ranks(some)["mid"] == (3, 3, 3, 2)


def test_levels_of_concepts_are_not_a_sample_of_levels(tmp_path: Path) -> None:
    domains = [Domain(name, name, seen=name == "seen", axis="concepts") for name in ("seen", "l1", "l2")]
    hits = normal_hits(ACCURACY, 600, spread=0.5)
    ranking = only(
        write_hit_run(tmp_path, [*ACCURACY], hits, datasets=("seen", "l1", "l2"), domains=domains, classes=30)
    )
    assert (ranking.by, ranking.units) == (("l1", "l2"), ("concepts",))
    assert {*ranking.metrics} == {"seen", "l1", "l2"}
    assert all(each.others is None for each in ranking.entries)
    assert ranks(ranking)["low"] == (4, 4, 4, 3)


def test_ranks_by_shifts_leave_test_sets_that_are_not_shifted_aside(tmp_path: Path) -> None:
    domains = [Domain(name, name, shifted=name != "val", axis="shifts") for name in ("val", "sketch")]
    folder = write_hit_run(tmp_path, [*ACCURACY], nested, datasets=("val", "sketch"), domains=domains)
    assert only(folder).by == ("sketch",)
    assert only(folder, by="val").by == ("val",)


def test_a_leaderboard_of_a_study_as_a_table(tmp_path: Path) -> None:
    board = study_leaderboard([write_hit_run(tmp_path, [*ACCURACY], nested)])
    table = board.to_frame().set_index("backbone")
    assert table.loc["mid", ["rank", "rank_low", "rank_high", "tie_group"]].tolist() == [3, 3, 3, 2]
    assert table.loc["mid", ["value", "a", "b", "c"]].tolist() == pytest.approx([0.7] * 4)
    assert table["rank_basis"].unique().tolist() == ["pairs"]
    assert "best" in repr(board)
    assert board._repr_html_().count("<tr") == 5
    with pytest.raises(UserError, match="shots must be"):
        study_leaderboard([tmp_path], shots="1,2")
