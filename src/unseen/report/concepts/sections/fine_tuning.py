"""Features against fine-tuning (Fig. 6 of ImageNet-CoG, Sariyildiz et al. 2021)."""

from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import domain_ticks
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.runs.data import Domain
from unseen.text.words import signed

FINE_TUNED = "fine-tuned"


def build(context: ConceptContext) -> Section | None:
    """Accuracy of the regression on all samples relative to that of fine-tuning, by domain."""
    data, summary = context.main, context.summary
    table = summary[(summary["metric"] == "top1") & (summary["shots"] == "all")]
    means = 100 * table.pivot_table(index=["backbone", "domain"], columns="probe", values="mean")
    if not {FINE_TUNED, "logistic"} <= set(means.columns):
        return None
    both = means[["logistic", FINE_TUNED]].dropna()
    domains = [domain for domain in data.domains if domain.name in set(both.index.get_level_values("domain"))]
    absolute, relative, sentences = list[Series](), list[Series](), list[str]()
    for backbone in data.backbones:
        known = [domain for domain in domains if (backbone.name, domain.name) in both.index]
        if not known:
            continue
        places = [float(domains.index(domain)) for domain in known]
        cells = [both.loc[(backbone.name, domain.name)] for domain in known]
        features, tuned = ([float(cell[probe]) for cell in cells] for probe in ("logistic", FINE_TUNED))
        less = [one - other for one, other in zip(features, tuned, strict=True)]
        texts = [
            f"{backbone.name}, {domain.title}: {a:.1f}% on features, {b:.1f}% fine-tuned, {signed(a - b)} points"
            for domain, a, b in zip(known, features, tuned, strict=True)
        ]
        name, own = f"{backbone.name}, fine-tuned", f"{backbone.name}, features"
        absolute.append(Series(name, places, tuned, strong=True, hover=texts, backbone=backbone.name, variant=1))
        absolute.append(Series(own, places, features, strong=True, hover=texts, backbone=backbone.name))
        relative.append(Series(backbone.name, places, less, strong=True, hover=texts, backbone=backbone.name))
        sentences.append(_fine_tuning_sentence(backbone.name, known, features, tuned))
    if not relative:
        return None
    ticks = domain_ticks(domains)
    figures = [
        Figure(
            "Relative to fine-tuning", "Domain", "Top-1 minus that of fine-tuning (points)", relative, ticks, zero=True
        ),
        Figure("Accuracy", "Domain", "Top-1 accuracy (%)", absolute, ticks),
    ]
    note = (
        "Fine-tuned: the whole backbone and a new linear layer are trained on the images of the domain. If levels "
        "differed only in difficulty, frozen features would lose the same amount to fine-tuning on all of them."
    )
    return Section("fine-tuning", "Features relative to fine-tuning", sentences, figures, note)


def _fine_tuning_sentence(backbone: str, domains: list[Domain], features: list[float], tuned: list[float]) -> str:
    ends = dict.fromkeys((0, len(domains) - 1))
    parts = [
        f"{signed(features[place] - tuned[place])} points on {domains[place].title} ({features[place]:.1f}% against "
        f"{tuned[place]:.1f}%)"
        for place in ends
    ]
    return f"Relative to fine-tuning, the features of {backbone} have {' and '.join(parts)}."


SECTION = PageSection("concepts", 70, build)
