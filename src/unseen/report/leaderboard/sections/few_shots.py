"""Accuracy by the number of images per concept (Figs. 4, 10 and 11 of ImageNet-CoG)."""

from unseen.metrics.ranks import ranks_from_draws
from unseen.papers.concept_generalization import DOMAINS, published_accuracies
from unseen.papers.leaderboard import Leaderboard
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.model_lines import SHOTS, few_shot_figures, published_table
from unseen.report.leaderboard.parts import own_backbones, own_scores
from unseen.text.words import joined


def build(board: Leaderboard) -> Section:
    backbones, table = own_backbones(board), published_table(SHOTS)
    figures = few_shot_figures(backbones, table, own_scores(board), DOMAINS)
    words = {"1": "one image per concept", "8": "8 images", "all": "all images"}
    first = [f"{_first_on_l5(shots)} with {text}" for shots, text in words.items()]
    sentences = [f"First on L5 among the published models, as far as seeds tell: {'; '.join(first)}."]
    note = "Published numbers with 1 to 128 and with all images."
    if backbones:
        note += " Your backbones are shown at the number of images of this ranking; the report of a run has its curves."
    return Section("few-shots", "Few images per concept", sentences, figures, note)


def _first_on_l5(shots: str) -> str:
    """The published models whose 95% range of ranks on L5 includes the first, with their accuracies."""
    accuracies = published_accuracies(shots)
    values, place = accuracies.mean[:, -1], {name: row for row, name in enumerate(accuracies.models)}
    ranks = ranks_from_draws(values, accuracies.draws()[:, :, -1])
    leaders = sorted((name for name in place if ranks.low[place[name]] == 1), key=lambda name: -values[place[name]])
    return joined([f"{name} ({100 * values[place[name]]:.1f}%)" for name in leaders])


SECTION = PageSection("leaderboard", 30, build)
