"""What the words on the concept page mean, for readers who do not know the benchmark."""

from unseen.report.concepts.context import ConceptContext
from unseen.runs.tables import LOGISTIC


def concept_terms(context: ConceptContext) -> list[tuple[str, str]]:
    """Each word that this page uses, with a sentence or two on it."""
    data = context.main
    levels = [domain for domain in data.domains if not domain.seen]
    seen = next((domain for domain in data.domains if domain.seen), None)
    terms = [
        ("Backbone", "A network without its classifier, which turns an image into features. Its weights stay fixed.")
    ]
    if not context.has_levels:
        terms.append(("Concept", "A class of the images."))
    if seen:
        terms.append(
            (f"Seen concepts ({seen.title})", "Concepts that backbones were trained on. All others are unseen.")
        )
    if len(levels) > 1 and context.has_levels:
        first, last = levels[0].title, levels[-1].title
        terms.append(
            (
                f"Levels ({first} to {last})",
                f"Sets of unseen concepts, ordered by similarity to the seen ones: {first} is the most similar, {last} "
                "the least. A level is a classification problem of its own. Its number says how far its concepts are "
                "from the seen ones, not how hard they are to tell apart.",
            )
        )
    if any(row.setting.endswith(f", {LOGISTIC} probe") for row in context.plotted):
        terms.append(
            (
                "Linear probe",
                "A logistic regression trained on the frozen features of a backbone"
                f"{', separately for each level' if context.has_levels else ''}. Its "
                "test accuracy shows how well a linear classifier can tell the concepts apart.",
            )
        )
    if any(row.shots != "all" for row in context.plotted):
        terms.append(("Shots", "Training images per concept; all means every training image."))
    if context.drops:
        terms.append(
            ("Drop from seen", "Accuracy on a level minus accuracy on the seen concepts, in percentage points.")
        )
    if context.data.concept_intervals:
        same = " of the same level" if context.has_levels else ""
        terms.append(
            (
                "Interval over concepts",
                f"The range of values to expect with other concepts{same} and other seeds: a 95% interval "
                "that draws both anew. A change from the seen concepts is called clear if its interval excludes zero, "
                "a lead over another backbone only if p < 0.05 in the paired comparison of both.",
            )
        )
    return terms
