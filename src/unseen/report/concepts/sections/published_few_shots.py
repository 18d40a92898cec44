"""Few shots among the published models (Figs. 4 and 11 of ImageNet-CoG)."""

from unseen.papers.concept_generalization import DOMAINS
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import bars_text, comparable, first_few, neighbours
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Section
from unseen.report.core.model_lines import SHOTS, few_shot_figures, published_table
from unseen.runs.comparability_words import searched_with


def build(context: ConceptContext) -> Section | None:
    """Accuracy by samples per concept beside the published models, then relative to the reference, on each domain."""
    data, own = context.data, comparable(context)
    wanted = [name for name in SHOTS if name in set(own["shots"])]
    chosen = [name for name in DOMAINS if name in set(own["domain"])]
    if len(wanted) < 2:
        return None
    table = published_table(SHOTS)
    between = neighbours(data, table[table["shots"] == wanted[0]], own[own["shots"] == wanted[0]], chosen[-1])
    sentences = [between[backbone.name] for backbone in data.backbones if backbone.name in between]
    first = "one sample" if wanted[0] == "1" else f"{wanted[0]} samples"
    return Section(
        "published-few-shots", "Few shots among the published models",
        first_few([f"With {first} per concept: {text[0].lower()}{text[1:]}" for text in sentences]),
        few_shot_figures(data.backbones, table, own, chosen),
        f"Thick lines are of this run{searched_with(data)}. Error bars are {bars_text(own)}.",
    )  # fmt: skip


SECTION = PageSection("concepts", 60, build)
