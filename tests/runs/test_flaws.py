"""Sentences on images that were left out and on rows of zeros."""

from unseen.runs.flaws import Flaw, flaw_sentences


def flaw(backbone: str, domain: str, count: int = 1) -> Flaw:
    return Flaw("zero-rows", backbone, domain, f"{domain}/train.npz", count, 60, tuple(map(str, range(count))))


def test_what_all_backbones_share_is_said_once() -> None:
    shared = [flaw("a", "l1"), flaw("b", "l1")]
    assert len(flaw_sentences(shared, {"l1": "Level 1"})) == 1
    assert flaw_sentences(shared, {"l1": "Level 1"})[0].startswith("Level 1: 1 of 60 rows of l1/train.npz (row 0)")
    [first, second] = flaw_sentences([*shared, flaw("a", "l2", 5)])
    assert first == "l1: 1 of 60 rows of l1/train.npz (row 0) is all zeros."
    assert second.startswith("l2, features of a: 5 of 60 rows of l2/train.npz (rows 0, 1, 2, …)")


def test_a_flaw_of_one_of_several_backbones_says_whose_it_is() -> None:
    """As where runs were merged and only one of them has a flaw."""
    [sentence] = flaw_sentences([flaw("a", "l1", 2)], among=["a", "b"])
    assert sentence.startswith("l1, features of a: 2 of 60 rows")
