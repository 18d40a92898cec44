"""The page of the leaderboard."""

from pathlib import Path

from unseen.papers.leaderboard import Entry, Leaderboard
from unseen.report.core.discover import build_sections
from unseen.report.core.model import Backbone, Page
from unseen.report.core.render import write_page
from unseen.report.leaderboard.parts import percent, points, shown_domain
from unseen.text.words import counted, joined

RANKED_BY = {
    "l5": "accuracy on L5",
    "mean": "mean accuracy on L1 to L5",
    "effective": "mean effective concept generalization",
}
MOST_NAMED = 5
"""Backbones of the user that have a sentence in the findings."""


def write_leaderboard_page(board: Leaderboard, path: Path) -> None:
    """Write the page of the published models and the user's."""
    write_page(leaderboard_page(board), path)


def leaderboard_page(board: Leaderboard) -> Page:
    """The page of the published models and the user's."""
    shots = "all images" if board.shots == "all" else f"{counted(int(board.shots), 'image')} per concept"
    return Page(
        title="ImageNet-CoG leaderboard",
        sections=build_sections("leaderboard", board),
        facts=[
            f"{len(board.entries)} models", shots, f"ranked by {RANKED_BY[board.by]}", "top-1 accuracy, linear probe"
        ],
        notices=[*filter(None, [board.notice])],
        findings=_findings(board, shown_domain(board)),
        backbones=[Backbone(entry.model, entry.category) for entry in board.entries if entry.yours],
        beside_published=True,
    )  # fmt: skip


def _findings(board: Leaderboard, domain: str) -> list[str]:
    """The first model, the ranks of the user's backbones, and how much of the variance accuracy on IN-1K explains."""
    sentences = [_leader(board)]
    own = [entry for entry in board.entries if entry.yours]
    for entry in own[:MOST_NAMED]:
        effective = entry.effective[domain]
        sentences.append(
            f"{entry.model} ranks {entry.rank} of {len(board.entries)}{_range(entry)}, "
            f"with {_score(entry, board)}, {points(entry.relative[domain])} points against ResNet50 and "
            f"{points(effective.value)} ({points(effective.low)} to {points(effective.high)}) beyond what its "
            f"accuracy on IN-1K predicts."
        )
    if len(own) > MOST_NAMED:
        sentences.append(f"The ranking has {len(own) - MOST_NAMED} more models that are not from the paper.")
    near, far = board.fits["l1"], board.fits["l5"]
    sentences.append(
        f"Over the {near.n} published models trained on IN-1K alone, accuracy on IN-1K explains {100 * near.r2:.0f}% "
        f"of the variance on L1 and {100 * far.r2:.0f}% on L5."
    )
    return sentences


def _leader(board: Leaderboard) -> str:
    """The model or models on the first rank, and the models whose range of ranks also includes the first."""
    first = [entry for entry in board.entries if entry.rank == 1]
    score, unit = _score(first[0], board), RANKED_BY[board.by]
    if len(first) > 1:
        return f"{joined([entry.model for entry in first])} share the first rank by {unit}, with {score}."
    rivals = [entry.model for entry in board.entries if entry.low == 1 and entry.rank > 1]
    if tied := [name for name in _tied_with(first[0].model, board) if name not in rivals]:
        who = joined(tied) if len(tied) <= MOST_NAMED else counted(len(tied), "model")
        return (
            f"{first[0].model} is first by {unit}, with {score}, but on the same test images its lead over {who} is "
            "not resolved."
        )
    if not rivals:
        return f"{first[0].model} has the highest {unit}, {score}, beyond the uncertainty over seeds."
    who = joined(rivals) if len(rivals) <= MOST_NAMED else counted(len(rivals), "model")
    return (
        f"{first[0].model} is first by {unit}, with {score}, but its lead over {who} is within the uncertainty over "
        "seeds."
    )


def _tied_with(model: str, board: Leaderboard) -> list[str]:
    """The user's other backbones in the same tie group."""
    groups = board.own.groups if board.own is not None else ()
    return [name for group in groups if model in group for name in group if name != model]


def _score(entry: Entry, board: Leaderboard) -> str:
    if board.by == "effective":
        return f"{points(entry.effective['mean'].value)} points"
    return f"{percent(entry.accuracy[shown_domain(board)])}%"


def _range(entry: Entry) -> str:
    return f" ({entry.low} to {entry.high})" if entry.low != entry.high else ""
