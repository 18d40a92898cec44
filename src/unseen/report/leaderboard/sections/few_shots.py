"""Accuracy by the number of images per concept (Figs. 4, 10 and 11 of ImageNet-CoG)."""

from unseen.papers.concept_generalization import DOMAINS
from unseen.papers.leaderboard import Leaderboard
from unseen.report.concepts.published_parts import SHOTS, few_shot_figures, published_table
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.leaderboard.own_scores import own_backbones, own_scores


def build(board: Leaderboard) -> Section:
    backbones, table = own_backbones(board), published_table(SHOTS)
    figures = few_shot_figures(backbones, table, own_scores(board), DOMAINS)
    far = table[table["domain"] == "l5"]
    best = {shots: far[far["shots"] == shots].sort_values("mean").iloc[-1] for shots in ("1", "8", "all")}
    words = {"1": "one image per concept", "8": "8", "all": "all"}
    leaders = [f"{row['model']} with {words[shots]} ({100 * row['mean']:.1f}%)" for shots, row in best.items()]
    sentences = [f"The best published model on L5 is {', '.join(leaders[:-1])}, and {leaders[-1]}."]
    note = "Published numbers with 1 to 128 and with all images."
    if backbones:
        note += " Your backbones are shown at the number of images of this ranking; the report of a run has its curves."
    return Section("few-shots", "Few images per concept", sentences, figures, note)


SECTION = PageSection("leaderboard", 30, build)
