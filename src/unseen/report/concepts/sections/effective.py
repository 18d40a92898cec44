"""What a backbone has on each level beyond what its accuracy on IN-1K predicts."""

from unseen.papers.concept_generalization import (
    LEVELS,
    effective_generalization,
    measured_accuracies,
    published_accuracies,
)
from unseen.report.concepts.context import ConceptContext
from unseen.report.concepts.section_parts import comparable, first_few
from unseen.report.core.discover import PageSection
from unseen.report.core.model import Figure, Section, Series
from unseen.report.core.model_lines import domain_title
from unseen.runs.comparability_words import with_protocol
from unseen.text.words import signed

USUALLY_OFF = (
    "Many models differ significantly from the expectation: 14 of the 31 published ones on L5, after Holm's correction "
    "for all comparisons. None of them differs more than is usual, so a deviation alone is no exception."
)


def build(context: ConceptContext) -> Section | None:
    """What a backbone has on each level beyond what its accuracy on IN-1K predicts."""
    complete, _ = measured_accuracies(comparable(context))
    if not complete.models:
        return None
    found = effective_generalization(complete, published_accuracies())
    series, sentences = list[Series](), list[str]()
    for number, name in enumerate(complete.models):
        values, low, high = (100 * part[number] for part in (found.effective, found.low, found.high))
        hover = [
            f"{name}, {domain_title(level)}: {signed(v)} points ({signed(a)} to {signed(b)})"
            for level, v, a, b in zip(LEVELS, values, low, high, strict=True)
        ]
        series.append(
            Series(
                name, [float(i) for i in range(len(LEVELS))], values.tolist(), strong=True, backbone=name,
                low=low.tolist(), high=high.tolist(), hover=hover,
            )
        )  # fmt: skip
        sure = "" if low[-1] <= 0 <= high[-1] else "; the interval excludes zero"
        sentences.append(
            f"On L5, {with_protocol(context.data, name)} has {signed(values[-1])} points ({signed(low[-1])} to "
            f"{signed(high[-1])}) beyond what its accuracy on IN-1K predicts{sure}."
        )
    ticks = tuple((float(i), domain_title(name)) for i, name in enumerate(LEVELS))
    figure = Figure("", "Level", "Beyond expectation (points)", series, ticks, zero=True)
    note = (
        "The expectation is a logit-linear fit to the published models trained on IN-1K alone, at the same accuracy on "
        "IN-1K. 95% intervals resample these models, and accuracies within their spread over seeds."
    )
    return Section(
        "effective", "Effective concept generalization", [*first_few(sentences), USUALLY_OFF], [figure], note
    )


SECTION = PageSection("concepts", 50, build)
