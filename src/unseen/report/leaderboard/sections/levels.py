"""Accuracy by level, absolute and relative to ResNet50 (Fig. 3 of ImageNet-CoG)."""

from unseen.papers.concept_generalization import DOMAINS
from unseen.papers.leaderboard import REFERENCE, Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.model_lines import level_figures, published_table
from unseen.report.leaderboard.parts import TITLES, own_backbones, own_scores


def build(board: Leaderboard) -> Section:
    ticks = tuple((float(place), TITLES[name]) for place, name in enumerate(DOMAINS))
    figures = level_figures(own_backbones(board), published_table([board.shots]), own_scores(board), ticks, DOMAINS)
    others = [entry for entry in board.entries if entry.model != REFERENCE]
    ahead = {name: sum(round(entry.relative[name], 9) > 0 for entry in others) for name in DOMAINS}
    lost = {entry.model: entry.accuracy["in1k"] - entry.accuracy["l5"] for entry in board.entries}
    least, most = (choose(lost, key=lost.__getitem__) for choose in (min, max))
    sentences = [
        f"From IN-1K to L5, accuracy falls by {100 * lost[least]:.1f} points ({least}) to {100 * lost[most]:.1f} "
        f"points ({most}).",
        f"Models more accurate than {REFERENCE}, of {len(others)}: "
        + ", ".join(f"{number} on {TITLES[name]}" for name, number in ahead.items())
        + ".",
    ]
    note = "One line per model, coloured by category: press a category to hide it, hover over a point for its numbers."
    return Section("levels", "Accuracy by level", sentences, figures, note)


SECTION = PageSection("leaderboard", 20, build)
