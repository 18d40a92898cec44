"""What a comparison of predictors resolves, in sentences."""

from collections.abc import Iterator

from unseen.analyses.robustness.predictor_columns import NOTHING
from unseen.analyses.robustness.predictors import PredictorScore, PredictorStudy
from unseen.text.words import counted, joined, signed

LEVEL = 0.05
FEW_GROUPS = 10


def statements(study: PredictorStudy) -> list[str]:
    """What is resolved on average over the OOD test sets, and on how many of them."""
    return [*_overall(study), *_single(study), *_few(study)]


def resolved(score: PredictorScore) -> bool:
    """Whether its error differs from that of the first ID test set, after correction."""
    return score.adjusted is not None and score.adjusted < LEVEL


def _overall(study: PredictorStudy) -> Iterator[str]:
    scores, single = study.overall, len(study.ood_sets) == 1
    first, best = scores[0], min(scores, key=lambda score: score.error.value)
    on = f"On {first.ood}" if single else f"Over {len(study.ood_sets) - 1} OOD test sets"
    held = f"{first.groups} {study.held_out} held out in turn" if study.held_out == "models" else (
        f"{counted(first.groups, 'group')} of {first.models} models held out in turn"
    )  # fmt: skip
    tied = [name for name, p in study.best.items() if p >= LEVEL]
    if len(scores) == 1:
        yield f"{on}, {first.candidate.name} predicts with an error of {first.error.value:.2f} points ({held})."
        return
    if tied:
        named = joined([*tied[:4], *([f"{len(tied) - 4} more"] if len(tied) > 4 else [])])
        yield (
            f"{on}, no predictor is resolved as the best one ({held}): the error of {best.candidate.name} is the "
            f"lowest, {best.error.value:.2f} points, but not resolved from that of {named}."
        )
    else:
        yield f"{on}, {best.candidate.name} predicts best, with an error of {best.error.value:.2f} points ({held})."
    others = [score for score in scores[1:] if score.candidate.name != NOTHING]
    better = [score for score in others if resolved(score) and score.difference and score.difference.value < 0]
    worse = [score for score in others if resolved(score) and score.difference and score.difference.value > 0]
    name = first.candidate.name
    if better:
        parts = [f"{score.candidate.name} ({_difference(score)})" for score in better[:3]]
        yield f"Better than {name} alone ({first.error.value:.2f} points): {joined(parts)}."
    if worse:
        yield f"Worse than {name} alone: {joined([score.candidate.name for score in worse[:5]])}."
    apart = [score.difference for score in others if not resolved(score) and score.difference]
    if apart:
        smallest = min(each.detectable() for each in apart)
        yield (
            f"{counted(len(apart), 'predictor')} of {len(others)} {'is' if len(apart) == 1 else 'are'} not resolved "
            f"from {name}; with so many {study.held_out}, a single comparison would resolve a difference of "
            f"{smallest:.2f} points or more."
        )


def _difference(score: PredictorScore) -> str:
    assert score.difference is not None
    found = score.difference.interval()
    ends = f"{signed(found.low, 2)} to {signed(found.high, 2)}"
    return f"{signed(found.value, 2)} points, 95% interval {ends}"


def _single(study: PredictorStudy) -> Iterator[str]:
    """On how many OOD test sets a predictor is resolved from accuracy, corrected over all of them together."""
    oods = study.ood_sets[:-1]
    if not oods:
        return
    found = [score for ood in oods for score in study.on(ood)[1:] if score.candidate.name != NOTHING]
    if found:
        better = sum(resolved(score) and score.difference is not None and score.difference.value < 0 for score in found)
        worse = sum(resolved(score) for score in found) - better
        yield (
            f"Of {len(found)} comparisons with {study.id_sets[0]} on single OOD test sets, {better} are resolved as "
            f"better and {worse} as worse, after Holm's correction over all of them."
        )


def _few(study: PredictorStudy) -> Iterator[str]:
    groups = study.overall[0].groups
    if study.held_out == "groups" and groups < FEW_GROUPS:
        yield f"{counted(groups, 'group')} say little of other groups: intervals are wide, as they have to be."
