"""The leaderboard against the printed tables, the paper's cautions, and a user's models whose place is known."""

import numpy as np
import pytest
from scipy.stats import rankdata

from unseen.papers import published
from unseen.papers.concept_generalization import Accuracies, published_accuracies
from unseen.papers.leaderboard import LARGER_IMAGES, OTHER_SIZE, WEB_DATA, Leaderboard, Own, leaderboard


@pytest.fixture(scope="module")
def board() -> Leaderboard:
    return leaderboard()


def test_it_is_in_the_order_of_the_printed_table(board: Leaderboard) -> None:
    table = published("cog-v2")
    column = table[(table["domain"] == "l5") & (table["shots"] == "all")].set_index("model")["mean"]
    ranks = dict(zip(column.index, rankdata(-column, method="min").astype(int), strict=True))
    assert {entry.model: entry.rank for entry in board.entries} == ranks
    assert [entry.rank for entry in board.entries] == sorted(ranks.values())


def test_rank_ranges_hold_the_rank_and_open_where_accuracies_are_equal(board: Leaderboard) -> None:
    assert all(entry.low <= entry.rank <= entry.high for entry in board.entries)
    ties = [entry for entry in board.entries if entry.accuracy["l5"] == pytest.approx(0.567)]
    # Equal in print, 56.7: rounding alone decides who is third.
    assert {(entry.rank, entry.low, entry.high) for entry in ties} == {(3, 3, 4)}
    assert len(ties) == 2
    assert sum(entry.best for entry in board.entries) == pytest.approx(1)


def test_cautions_are_those_of_the_paper(board: Leaderboard) -> None:
    having = {
        text: {entry.model for entry in board.entries if text in entry.cautions}
        for text in (WEB_DATA, LARGER_IMAGES, OTHER_SIZE)
    }
    assert having[WEB_DATA] == {"d-MoPro", "d-Semi-Sup", "d-Semi-Weakly-Sup", "d-CLIP"}
    assert having[LARGER_IMAGES] == {"a-Inception-v3", "a-EfficientNet-B1", "a-EfficientNet-B4", "a-DeiT-B-distilled"}
    # Table 1's parameters, against 23.5 million: 7.6, 6.5, 17.5, 86.1, 58.1 and 139.6; and CLIP's tower.
    small_or_large = {"a-NAT-M4", "a-EfficientNet-B1", "a-EfficientNet-B4", "a-DeiT-B-distilled", "a-ResNet152"}
    assert having[OTHER_SIZE] == small_or_large | {"a-VGG19", "d-CLIP"}


def test_differences_are_from_resnet50_and_from_the_line(board: Leaderboard) -> None:
    entries = {entry.model: entry for entry in board.entries}
    assert set(entries["ResNet50"].relative.values()) == {0}
    assert entries["s-DINO"].relative["l5"] == pytest.approx(0.576 - 0.520)
    for entry in board.entries:
        values = [entry.effective[level].value for level in ("l1", "l2", "l3", "l4", "l5")]
        assert entry.effective["mean"].value == pytest.approx(np.mean(values))
        assert entry.effective["mean"].low < entry.effective["mean"].value < entry.effective["mean"].high


def test_other_orders(board: Leaderboard) -> None:
    by_mean, by_effective = leaderboard(by="mean"), leaderboard(by="effective")
    means = [entry.accuracy["mean"] for entry in by_mean.entries]
    assert means == sorted(means, reverse=True)
    values = [entry.effective["mean"].value for entry in by_effective.entries]
    assert values == sorted(values, reverse=True)
    assert {e.model: e.effective["l5"] for e in by_mean.entries} == {e.model: e.effective["l5"] for e in board.entries}


def test_a_users_model_is_placed_among_the_published() -> None:
    printed = published_accuracies("8")
    row = printed.models.index("ResNet50")
    mean = np.vstack([printed.mean[row], np.full(6, 0.99)])
    own = Accuracies(("twin", "perfect"), mean, np.zeros((2, 6)), np.zeros(2))
    board = leaderboard(own, {"twin": Own(cautions=("other pooling",))}, shots="8")
    entries = {entry.model: entry for entry in board.entries}
    assert len(entries) == 33
    assert (entries["perfect"].rank, entries["perfect"].best, entries["perfect"].yours) == (1, 1.0, True)
    twin, original = entries["twin"], entries["ResNet50"]
    assert (twin.rank, twin.category, twin.cautions) == (original.rank, "yours", ("other pooling",))
    assert twin.relative["l5"] == pytest.approx(0)
    # A user's models never move the line.
    assert original.effective == {e.model: e for e in leaderboard(shots="8").entries}["ResNet50"].effective


def test_the_table_has_shares_and_cautions(board: Leaderboard) -> None:
    table = board.to_frame()
    first = table.iloc[0]
    assert (first["model"], first["l5"], first["rank"], first["cautions"]) == ("s-DINO", pytest.approx(0.576), 1, "")
    assert table["cautions"].str.contains(WEB_DATA).sum() == 4
    assert not table.isna().any(axis=None)
