"""What a comparison of predictors resolves, in sentences."""

from collections.abc import Iterator, Sequence

from unseen.analyses.robustness.predictor_columns import NOTHING
from unseen.analyses.robustness.predictors import PredictorScore, PredictorStudy
from unseen.metrics.comparisons import is_resolved
from unseen.text.words import counted, joined, signed

FEW_GROUPS = 10


def statements(study: PredictorStudy) -> list[str]:
    """What is resolved on average over the OOD test sets, and on how many of them."""
    return [*_overall(study), *_single(study), *_few(study)]


def resolved(score: PredictorScore) -> bool:
    """Whether its error differs from that of the first ID test set, after correction."""
    return score.p_holm is not None and is_resolved(score.p_holm)


def _overall(study: PredictorStudy) -> Iterator[str]:
    scores, single = study.overall, len(study.ood_sets) == 1
    first, best = scores[0], min(scores, key=lambda score: score.error.value)
    on = f"On {first.ood}" if single else f"Over {len(study.ood_sets) - 1} OOD test sets"
    held = f"{first.groups} {study.held_out} held out in turn" if study.held_out == "models" else (
        f"{counted(first.groups, 'group')} of {_models(first)} held out in turn"
    )  # fmt: skip
    tied = [name for name, p in study.best.items() if not is_resolved(p)]
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
    apart = [score for score in others if not resolved(score)]
    if apart:
        many = f"{len(apart)} of {counted(len(others), 'other predictor')} {'is' if len(apart) == 1 else 'are'}"
        yield f"{many} not resolved from {name}{_could(apart)}."


def _could(apart: Sequence[PredictorScore]) -> str:
    """The differences that comparisons with the first predictor would resolve, by name: they are not alike."""
    sizes = {score.candidate.name: score.difference.detectable() for score in apart if score.difference}
    sizes = {name: size for name, size in sizes.items() if size > 0}  # the same column twice has no difference at all
    if not sizes:
        return ""
    low, high = (choose(sizes, key=lambda name: sizes[name]) for choose in (min, max))
    ends = [f"{sizes[name]:.2f} points ({name})" for name in dict.fromkeys((low, high))]
    return f"; alone, each would be resolved with a power of 80% from a difference of {' to '.join(ends)}"


def _models(score: PredictorScore) -> str:
    """Their number, or its range if it differs between OOD test sets."""
    if score.models == score.most_models:
        return counted(score.models, "model")
    return f"{score.models} to {score.most_models} models, depending on the OOD test set,"


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
            f"Of {counted(len(found), 'comparison')} with {study.id_sets[0]} on single OOD test sets, {better} "
            f"{'is' if better == 1 else 'are'} resolved as better and {worse} as worse, after Holm's correction over "
            "all of them."
        )


def _few(study: PredictorStudy) -> Iterator[str]:
    groups = study.overall[0].groups
    if study.held_out == "groups" and groups < FEW_GROUPS:
        yield f"{counted(groups, 'group')} say little of other groups: intervals are wide, as they have to be."
