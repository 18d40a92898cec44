"""Retrieval of images of the same concept, by domain."""

from unseen.metrics.catalogue import SAME_CLASS
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import by_domain, domain_ticks, title_of
from unseen.report.core.discover import PageSection
from unseen.report.core.metric_words import metric_words
from unseen.report.core.model import Figure, Section
from unseen.report.core.model_lines import own_series

NOTE = (
    "Each test image is a query, and images of its concept are to be found, by cosine similarity of features. MAP@R is "
    "the mean average precision of the first R images, where R is the number of images to be found (Musgrave et al. "
    "2020); recall@1 is the share of queries whose most similar image is of their concept; mean average precision is "
    "over the whole ranking. Nothing is trained."
)


def build(context: ConceptContext) -> Section | None:
    """One figure per measure."""
    data, summary = context.main, context.summary
    table = summary[(summary["probe"] == "retrieval") & summary["metric"].isin(SAME_CLASS)]
    if table.empty:
        return None
    places = {domain.name: float(place) for place, domain in enumerate(data.domains)}
    figures, sentences = list[Figure](), list[str]()
    for metric in SAME_CLASS:
        part, words = table[table["metric"] == metric], metric_words(metric)
        title = words[:1].upper() + words[1:]
        lines = own_series(part, data.backbones, places, column="domain")
        figures.append(Figure(title, "Domain", f"{title} (%)", lines, domain_ticks(data.domains)))
    mean = table[table["metric"] == SAME_CLASS[0]].set_index(["backbone", "domain"])["mean"]
    for backbone in data.backbones:
        line = by_domain(data, mean, backbone.name)
        ends = dict.fromkeys([*list(line)[:1], *list(line)[-1:]])
        values = " and ".join(f"{line[domain]:.1%} on {title_of(data, domain)}" for domain in ends)
        sentences += [f"{backbone.name} retrieves with a {metric_words(SAME_CLASS[0])} of {values}."] if values else []
    return Section("retrieval", "Retrieval", sentences, figures, NOTE)


SECTION = PageSection("concepts", 135, build)
