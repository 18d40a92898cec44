"""The measures of each axis from the results of its study: accuracy on levels, task scores, effective robustness."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isclose
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from unseen.analyses.axes.compared import compared_logits
from unseen.analyses.axes.compared_pairs import ComparedPairs
from unseen.analyses.axes.together import CONCEPTS, SEEN, SHIFTS, TASKS, Measure
from unseen.analyses.core.comparable import Comparable
from unseen.analyses.robustness.fit_scores import RHO
from unseen.analyses.tasks.averages import FAMILIES, LEAST_SHARE, averages, in_paper, scaled
from unseen.analyses.tasks.data import OTHER
from unseen.data.registry import DATASETS, dense_sets, task_sets
from unseen.metrics.accuracy_scales import logit
from unseen.metrics.catalogue import METRICS
from unseen.metrics.correlation import NORMAL_975
from unseen.metrics.resampling import RESAMPLES, Floats
from unseen.papers.concept_generalization import Accuracies, effective_generalization, published_accuracies
from unseen.papers.dense_settings import DENSE_SETTINGS, PATCH_PROBES, dense_title, is_headline
from unseen.papers.transfer import (
    ECE,
    FINETUNED,
    FINETUNED_ECE,
    FINETUNED_SCALED_ECE,
    LINEAR,
    SCALED_ECE,
    episode_shots,
    task_setting,
)
from unseen.runs.score import Score

FEW_SHOT = "few-shot"
TITLES = {
    LINEAR: "Many-shot linear",
    FINETUNED: "Many-shot fine-tuned",
    **{f"{FEW_SHOT} {family}": f"Few-shot {title}" for family, title in FAMILIES.items()},
    ECE: "Calibration",
    SCALED_ECE: "Scaled calibration",
    FINETUNED_ECE: "Fine-tuned calibration",
    FINETUNED_SCALED_ECE: "Fine-tuned scaled calibration",
}
DENSE = {setting: dense_title(setting) for setting in DENSE_SETTINGS if is_headline(setting)}
TITLES |= DENSE | {f"{setting} {OTHER}": f"{title}, {FAMILIES[OTHER]}" for setting, title in DENSE.items()}
CALIBRATION = (ECE, SCALED_ECE, FINETUNED_ECE, FINETUNED_SCALED_ECE)
TITLES |= {f"{name} {OTHER}": f"{TITLES[name]}, {FAMILIES[OTHER]}" for name in (LINEAR, FINETUNED, *CALIBRATION)}
ABOUT = {
    LINEAR: "Score of a linear probe on all training images, mean of logits over data sets",
    FINETUNED: "Score of the whole network trained on all training images, mean of logits over data sets",
    ECE: "Expected calibration error of the linear probe, 15 bins; lower is better",
    SCALED_ECE: "The same after temperature scaling; lower is better",
    FINETUNED_ECE: "Expected calibration error of the fine-tuned network, 15 bins; lower is better",
    FINETUNED_SCALED_ECE: "The same after temperature scaling; lower is better",
    **{setting: f"{title}, mean of logits over data sets" for setting, title in DENSE.items()},
    "upernet-miou": f"{DENSE['upernet-miou']}; the paper's numbers need caution, as its public code did not give them",
}


def concept_measures(
    accuracies: Accuracies, *, published: bool, compared: Mapping[str, ComparedPairs] = MappingProxyType({})
) -> list[Measure]:
    """Accuracy on seen concepts, accuracy on the levels, and effective concept generalization.

    The drop from seen concepts to levels is not a separate measure, since a classifier at chance has none. It is shown
    with the accuracy on levels.

    Args:
        accuracies: accuracies without known errors get no draws.
        published: whether accuracies are on the concepts of ImageNet-CoG, whose models then define the expectation.
        compared: `seen` and `levels` → comparisons of pairs on the same test images.
    """
    names = accuracies.models
    sure = accuracies.at(np.flatnonzero(np.isfinite(accuracies.error).all(axis=1)).tolist())
    drawn = sure.draws()
    seen, levels = accuracies.mean[:, 0], accuracies.mean[:, 1:].mean(axis=1)
    drawn_seen, drawn_levels = drawn[:, :, 0], drawn[:, :, 1:].mean(axis=2)
    found = [
        _measure(SEEN, "seen", "Seen concepts", "Top-1 accuracy of the linear probe on the concepts trained on",
                 names, _logit(seen), _by_name(sure.models, _logit(drawn_seen)),
                 shares=dict(zip(names, seen.tolist(), strict=True)), compared=compared.get("seen")),
        _measure(CONCEPTS, "levels", "Unseen concepts",
                 "Top-1 accuracy of the linear probe, mean over levels L1 to L5. Below it is the difference from seen "
                 "concepts in points, which must be read together with the accuracy: at chance there is no drop",
                 names, _logit(levels), _by_name(sure.models, _logit(drawn_levels)),
                 shares=dict(zip(names, levels.tolist(), strict=True)),
                 from_seen=dict(zip(names, (100 * (levels - seen)).tolist(), strict=True)),
                 compared=compared.get("levels")),
    ]  # fmt: skip
    if published:
        scored = effective_generalization(accuracies, published_accuracies())
        about = "Mean accuracy over levels beyond what accuracy on IN-1K predicts (unseen leaderboard), in points"
        values, spread = scored.effective.mean(axis=1), _by_name(names, scored.draws.mean(axis=2))
        effective = _measure(CONCEPTS, "effective", "Effective concepts", about, names, values, spread, bounded=False)
        found.insert(2, effective)
    return found


def task_measures(scores: Iterable[Score], compared: Sequence[Comparable] = ()) -> tuple[list[Measure], list[str]]:
    """Linear probes, fine-tuning, few-shot episodes by family of data sets, calibration, dense tasks: means of logits.

    A mean is over the data sets (and numbers of shots) that every backbone with any of them has. Its uncertainty comes
    from the intervals of the scores over episodes, if all have one.

    Args:
        compared: what is comparable on the same test images, from which ranks then are.

    Returns:
        The measures, and a sentence about each measure without a common data set, or without some backbones.
    """
    groups: dict[str, dict[str, dict[tuple[str, str], Score]]] = {}
    for score in scores:
        if has_measure(score):
            groups.setdefault(_group(score), {}).setdefault(score.backbone, {})[task_setting(score), score.domain] = (
                score
            )
    found = {name: _task_measure(name, groups[name], compared) for name in TITLES if name in groups}
    apart = [name for name, measure in found.items() if measure is None]
    notes = [
        f"{TITLES[name]} is not shown: the backbones have no data set and number of shots in common." for name in apart
    ]
    return [measure for measure in found.values() if measure], [*notes, *_without_means(found, groups)]


def _without_means(found: Mapping[str, Measure | None], groups: Mapping[str, Collection[str]]) -> list[str]:
    """Sentences about the backbones without all of the paper's data sets, one for measures that lack the same ones."""
    lacking: dict[str, list[str]] = {}
    for name, measure in found.items():
        absent = [backbone for backbone in groups[name] if measure and backbone not in measure.values]
        if absent:
            lacking.setdefault(", ".join(absent), []).append(TITLES[name])
    return [
        f"{' and '.join(titles)}: published errors are means over ten data sets, so backbones without all ten are left "
        f"out: {who}."
        for who, titles in lacking.items()
    ]


def has_measure(score: Score) -> bool:
    """Whether a score is part of a measure of tasks; accuracy on ImageNet is not."""
    return _group(score) in TITLES


def _group(score: Score) -> str:
    few = episode_shots(task_setting(score)) is not None
    setting = FEW_SHOT if few else task_setting(score)
    if score.probe in PATCH_PROBES:
        return setting
    if not in_paper(score.domain):
        return f"{setting} {OTHER}"
    return f"{setting} {DATASETS[score.domain].few_shot}" if few else setting


def _task_measure(
    name: str, cells: Mapping[str, Mapping[tuple[str, str], Score]], compared: Sequence[Comparable]
) -> Measure | None:
    shared = [key for key in next(iter(cells.values())) if all(key in of for of in cells.values())]
    # A mean over data sets is not another data set: it is used only if there is nothing else.
    shared = [key for key in shared if key[1]] or shared
    if not shared:
        # Published calibration errors are means over ten data sets and are compared with means over the same ten.
        means = averages(score for of in cells.values() for score in of.values()) if name in CALIBRATION else []
        if not means:
            return None
        about = f"{_about(name, [(name, '')])}."
        values, shares = means[0].values, _same(means[0].means, means[0].values)
        return Measure(TASKS, name, TITLES[name], about, values, higher_is_better=False, shares=shares)
    metric = METRICS[cells[next(iter(cells))][shared[0]].metric]
    values = {backbone: float(np.mean([scaled(of[key]) for key in shared])) for backbone, of in cells.items()}
    plain = {backbone: float(np.mean([of[key].value for key in shared])) for backbone, of in cells.items()}
    draws = {}
    for number, (backbone, of) in enumerate(cells.items()):
        error = _error_of_mean([of[key] for key in shared])
        if error is not None:
            draws[backbone] = _normal(values[backbone], error, number)
    return Measure(
        TASKS, name, TITLES[name], f"{_about(name, shared)}.", values, higher_is_better=metric.ranks_high,
        draws=draws, shares=_same(plain, values), over_episodes=name.startswith(FEW_SHOT),
        compared=compared_logits(cells, shared, compared),
    )  # fmt: skip


def _about(name: str, shared: Sequence[tuple[str, str]]) -> str:
    known = {**task_sets(), **dense_sets()}
    datasets = [known[name].title if name in known else name for name in dict.fromkeys(key[1] for key in shared)]
    of = f": {', '.join(datasets)}" if any(datasets) else ", mean over the paper's data sets"
    if (setting := name.partition(" ")[0]) in ABOUT:
        return f"{ABOUT[setting]}{of}"
    shots = sorted({int(setting.removesuffix("-shot")) for setting, _ in shared})
    return (
        f"5-way nearest-centroid episodes with {', '.join(map(str, shots))} shots, mean of logits over shots and "
        f"data sets{of}"
    )


def _error_of_mean(scores: Sequence[Score]) -> float | None:
    """Standard error of the mean of the logits of scores; None if a score has no interval.

    Episodes of one data set with different shots have the same classes, so their errors are correlated: they are added,
    which is an upper bound. Errors on different data sets are independent.
    """
    by_dataset: dict[str, float] = {}
    for score in scores:
        error = _error(score)
        if error is None:
            return None
        by_dataset[score.domain] = by_dataset.get(score.domain, 0.0) + error
    return float(np.sqrt(np.square(list(by_dataset.values())).sum())) / len(scores)


def _error(score: Score) -> float | None:
    """Standard error of the logit of a score, from its 95% interval, to first order."""
    if score.half_width is None:
        return None
    share = min(max(score.value, LEAST_SHARE), 1 - LEAST_SHARE)
    return score.half_width / NORMAL_975 / (share * (1 - share))


def shift_measures(scores: Iterable[Score]) -> tuple[list[Measure], list[str]]:
    """Effective robustness and accuracy, means over the shifted test sets that every model has.

    Errors of ρ on several test sets are correlated, since the models of the fit are the same: the error of the mean is
    taken as the mean of the errors, which is an upper bound. Without a fit there are only accuracies.

    Returns:
        The measures, and a sentence if the models have no test set in common.
    """
    accuracies, robustness = dict[str, dict[str, Score]](), dict[str, dict[str, Score]]()
    for score in scores:
        (robustness if score.metric == RHO else accuracies).setdefault(score.backbone, {})[score.domain] = score
    shared = [ood for ood in next(iter(accuracies.values()), {}) if all(ood in of for of in accuracies.values())]
    if not shared:
        return [], ["Shifts are not shown: the models have no test set in common."] if accuracies else []
    names, of = list(accuracies), ", ".join(shared)
    each = np.array([[accuracies[name][ood].value for ood in shared] for name in names])
    means, values = (dict(zip(names, of.mean(axis=1).tolist(), strict=True)) for of in (each, _logit(each)))
    found = [
        Measure(SHIFTS, "ood", "Under shift", f"Accuracy, mean of logits over shifted test sets: {of}.", values,
                shares=_same(means, values)),
    ]  # fmt: skip
    if robustness:
        rho = np.array([[robustness[name][ood].value for ood in shared] for name in names]).mean(axis=1)
        widths = [[robustness[name][ood].half_width or 0.0 for ood in shared] for name in names]
        errors = np.array(widths).mean(axis=1) / NORMAL_975
        draws = {name: _normal(rho[place], errors[place], place) for place, name in enumerate(names)}
        about = f"Accuracy beyond what ID accuracy predicts, in points: {of}"
        found.insert(0, _measure(SHIFTS, "rho", "Effective robustness", about, names, rho, draws, bounded=False))
    return found, []


def _measure(
    axis: str, name: str, title: str, about: str, names: Sequence[str], values: Floats, draws: Mapping[str, Floats], *,
    bounded: bool = True, shares: Mapping[str, float] | None = None, from_seen: Mapping[str, float] | None = None,
    compared: ComparedPairs | None = None,
) -> Measure:  # fmt: skip
    return Measure(
        axis, name, title, f"{about}.", dict(zip(names, values.tolist(), strict=True)), bounded=bounded, draws=draws,
        shares=shares or {}, from_seen=from_seen or {}, compared=compared,
    )  # fmt: skip


def _same(means: Mapping[str, float], values: Mapping[str, float]) -> dict[str, float]:
    """The means of shares whose logit is the mean of logits, because there is only one share or all are equal."""
    return {name: mean for name, mean in means.items() if isclose(float(_logit(mean)), values[name], abs_tol=1e-12)}


def _by_name(names: Sequence[str], draws: Floats) -> dict[str, Floats]:
    """Backbone → (b,) its column of (b, m) draws."""
    return dict(zip(names, draws.T, strict=True))


def _logit(shares: ArrayLike) -> Floats:
    return logit(np.clip(shares, LEAST_SHARE, 1 - LEAST_SHARE))


def _normal(value: float, error: float, seed: int) -> Floats:
    return value + error * np.random.default_rng([0, seed]).standard_normal(RESAMPLES)
