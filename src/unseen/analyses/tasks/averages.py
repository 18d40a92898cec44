"""The analysis of the task study as in Ericsson et al. 2021 (appendix A.7): averages of logits, correlations, ranks.

An increase from 98 to 99% means more than one from 50 to 51%, so bounded metrics are averaged and correlated on the
logit scale; angles and depths are not transformed but negated, so that greater is better. Ranks are by plain averages,
as in the paper's Fig. 7.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from unseen.analyses.tasks.data import OTHER
from unseen.analyses.tasks.scores import by_key
from unseen.data.registry import DATASETS, task_sets
from unseen.metrics.accuracy_scales import logit
from unseen.metrics.catalogue import METRICS
from unseen.metrics.correlation import LEAST, Correlation, correlation
from unseen.metrics.ranks import rank
from unseen.papers.dense_settings import DENSE_SETTINGS, PATCH_PROBES, TRAINED, dense_title, is_headline, is_ranked
from unseen.papers.image_settings import AS_LOGITS, IMAGE_SETTINGS, image_title
from unseen.papers.transfer import (
    ECE,
    FINETUNED,
    FINETUNED_ECE,
    FINETUNED_SCALED_ECE,
    IMAGENET,
    LINEAR,
    SCALED_ECE,
    episode_shots,
    few_shot_setting,
    task_setting,
)
from unseen.runs.score import Score
from unseen.text.words import counted

SETTINGS = {
    IMAGENET: "ImageNet",
    LINEAR: "Many-shot, linear",
    FINETUNED: "Many-shot, fine-tuned",
    ECE: "Calibration, linear",
    SCALED_ECE: "Calibration, linear, scaled",
    FINETUNED_ECE: "Calibration, fine-tuned",
    FINETUNED_SCALED_ECE: "Calibration, fine-tuned, scaled",
}
FAMILIES = {"kornblith": "Kornblith", "cd-fsl": "CD-FSL", OTHER: "other data sets"}
CALIBRATED = tuple(
    name for name, dataset in task_sets().items() if dataset.few_shot == "kornblith" and not dataset.multi_label
)
"""The data sets over which the paper averages calibration errors."""
ERRORS = (ECE, SCALED_ECE)
"""The metrics of calibration."""
EQUAL = 9
"""Means that agree to this many decimals are equal, so that rounding does not break ties."""
LEAST_SHARE = 1e-4
"""Shares are clipped to this distance from 0 and 1, where the logit is infinite.

It is the last digit that the paper prints, so numbers that it would print the same are not distinguished.
"""


@dataclass(frozen=True)
class Average:
    """The mean of a setting over data sets, on the scale of correlations and on the scale of ranks.

    Attributes:
        datasets: data sets that every backbone has; empty for numbers that are not on data sets.
        values: backbone → mean of logits.
        means: backbone → mean of the untransformed numbers.
        higher_is_better: whether greater numbers are better.
    """

    setting: str
    title: str
    datasets: Sequence[str]
    values: Mapping[str, float]
    means: Mapping[str, float]
    higher_is_better: bool = True


@dataclass(frozen=True)
class Pair:
    """The correlation of two settings over backbones."""

    first: str
    second: str
    correlation: Correlation


@dataclass(frozen=True)
class CorrelationTable:
    """Correlations over some backbones, and the correlated averages."""

    title: str
    averages: Sequence[Average]
    pairs: Sequence[Pair]


def scaled(score: Score) -> float:
    """A score on the scale of averages and correlations: the logit if its metric is bounded."""
    metric = METRICS[score.metric]
    if score.metric in AS_LOGITS:
        return float(logit(min(max(score.value, LEAST_SHARE), 1 - LEAST_SHARE)))
    if not metric.bounded:
        return -score.value if metric.unit in {"degrees", "metres"} else score.value
    share = metric.position(score.value)
    return float(logit(min(max(share, LEAST_SHARE), 1 - LEAST_SHARE)))


def averages(scores: Iterable[Score]) -> list[Average]:
    """The mean of each setting over data sets; few-shot settings by family of data sets.

    Data sets that are not in the paper have separate means.

    A mean is over the data sets that every backbone with the setting has, since means over different data sets are not
    comparable. Without a common data set there is no mean; see `without_average`. For calibration errors, only means
    over the paper's data sets (`mean_errors`) are used, since the paper prints no others.
    """
    found = []
    for setting, by_backbone in _by_setting(scores).items():
        shared = _shared(by_backbone)
        if shared:
            values = {
                name: float(np.mean([scaled(of[dataset]) for dataset in shared])) for name, of in by_backbone.items()
            }
            means = {
                name: float(np.mean([of[dataset].value for dataset in shared])) for name, of in by_backbone.items()
            }
            metric = METRICS[next(iter(by_backbone.values()))[shared[0]].metric]
            datasets = [name for name in shared if is_dataset(name)]
            found.append(Average(setting, setting_title(setting), datasets, values, means, metric.ranks_high))
    return found


def without_average(scores: Iterable[Score]) -> list[str]:
    """A sentence about each setting without a mean in `averages`, with the backbones of the run that are the reason."""
    return [
        f"{setting_title(setting)}: neither averaged nor ranked, since {_why_apart(by_backbone)}."
        for setting, by_backbone in _by_setting(scores).items()
        if not _shared(by_backbone)
    ]


def _why_apart(by_backbone: Mapping[str, Mapping[str, Score]]) -> str:
    """The backbones of the run without which the others would have a common data set; all of them if there are none."""
    own = [name for name, of in by_backbone.items() if not any(score.published for score in of.values())]
    alone = [name for name in own if _shared({other: of for other, of in by_backbone.items() if other != name})]
    who = alone or own or list(by_backbone)
    return f"{who[0]} has no data set that all others have" if len(who) == 1 else f"{_listed(who)} share no data set"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _by_setting(scores: Iterable[Score]) -> dict[str, dict[str, dict[str, Score]]]:
    """Setting, in the order of pages → backbone → data set → score."""
    wanted = (score for score in scores if score.metric not in ERRORS or not score.domain)
    cells: dict[str, dict[str, dict[str, Score]]] = {}
    for (setting, backbone, domain), score in by_key(wanted, lambda s: (_setting(s), s.backbone, s.domain)).items():
        cells.setdefault(setting, {}).setdefault(backbone, {})[domain] = score
    return {setting: cells[setting] for setting in sorted(cells, key=setting_order)}


def _shared(by_backbone: Mapping[str, Mapping[str, Score]]) -> list[str]:
    """The data sets on which every backbone has a score, the user's own last."""
    known = dict.fromkeys(["", IMAGENET, *task_sets(), *(name for of in by_backbone.values() for name in of)])
    return [name for name in known if all(name in of for of in by_backbone.values())]


def mean_errors(scores: Iterable[Score]) -> list[Score]:
    """Calibration errors as in the paper: means over its ten data sets, for backbones and seeds that have all ten."""
    errors: dict[tuple[str, str, int], dict[str, Score]] = {}
    for score in scores:
        if score.metric in ERRORS and score.domain:
            errors.setdefault((score.backbone, task_setting(score), score.seed), {})[score.domain] = score
    return [
        replace(of[CALIBRATED[0]], domain="", value=float(np.mean([of[name].value for name in CALIBRATED])))
        for of in errors.values()
        if all(name in of for name in CALIBRATED)
    ]


def _setting(score: Score) -> str:
    """The setting, with the family of its data sets if it is few-shot or if they are not in the paper.

    Probes on patches are not in the paper, so all their data sets are one family.
    """
    setting = task_setting(score)
    if score.probe in PATCH_PROBES:
        return setting
    if not in_paper(score.domain):
        return f"{setting} {OTHER}"
    return f"{setting} {DATASETS[score.domain].few_shot}" if episode_shots(setting) is not None else setting


def is_dataset(domain: str) -> bool:
    """Whether a domain is a data set of the study, not a mean or ImageNet."""
    return domain not in {"", IMAGENET}


def in_paper(domain: str) -> bool:
    """Whether a domain is one of the paper's data sets, or none; the user's own data with such a name are not."""
    if domain in task_sets():
        return DATASETS[domain].in_paper
    return not is_dataset(domain) or domain in {trained.domain for trained in TRAINED.values()}


def setting_title(setting: str) -> str:
    """The title of a setting on pages."""
    base, _, family = setting.partition(" ")
    if base in IMAGE_SETTINGS:
        return f"{image_title(base)}{', your images' if family else ''}"
    title = dense_title(base) if base in DENSE_SETTINGS else SETTINGS.get(base, few_shot_title(base))
    return f"{title}, {FAMILIES[family]}" if family else title


def few_shot_title(setting: str) -> str:
    """The title of a few-shot setting of a probe that the paper has only with all images; of others their name."""
    few = few_shot_setting(setting)
    if few is None:
        return setting
    of = f"{few.probe}, {counted(few.shots, 'shot')}"
    if few.metric:
        return f"Calibration, {of}{', scaled' if few.metric == SCALED_ECE else ''}"
    return of[:1].upper() + of[1:]


def setting_order(setting: str) -> tuple[int, int, str]:
    """Sort key: ImageNet, many-shot, few-shot by shots, calibration, dense tasks, single images."""
    base, _, family = setting.partition(" ")
    for place, settings in enumerate((DENSE_SETTINGS, IMAGE_SETTINGS), 5):
        if base in settings:
            return place, list(settings).index(base), family
    if (shots := episode_shots(base)) is not None:
        return 1, shots, family
    if few := few_shot_setting(base):
        return (4 if few.metric else 2), few.shots, setting
    first = (IMAGENET, LINEAR, FINETUNED)
    return (0, first.index(base), family) if base in first else (3, list(SETTINGS).index(base), family)


def correlations(found: Sequence[Average]) -> list[Pair]:
    """The correlations of all pairs of settings that at least four backbones have, those with ImageNet first.

    For dense tasks, metrics other than the main one are correlated only with ImageNet.
    """
    pairs = []
    for first, second in combinations(found, 2):
        if first.setting != IMAGENET and not (is_headline(_base(first)) and is_headline(_base(second))):
            continue
        shared = [name for name in first.values if name in second.values]
        x, y = ([average.values[name] for name in shared] for average in (first, second))
        if len(shared) >= LEAST and np.ptp(x) > 0 and np.ptp(y) > 0:
            pairs.append(Pair(first.setting, second.setting, correlation(x, y)))
    return sorted(pairs, key=lambda pair: pair.first != IMAGENET)


def ranks(found: Sequence[Average]) -> dict[str, dict[str, int]]:
    """Setting → backbone → rank by the mean, from 1, the best; equal means share the better rank."""
    result = {}
    for average in found:
        sign = 1 if average.higher_is_better else -1
        numbers = rank(sign * np.array(list(average.means.values())).round(EQUAL))
        result[average.setting] = dict(zip(average.means, numbers.tolist(), strict=True))
    return result


def spokes(found: Sequence[Average]) -> list[Average]:
    """The settings of the paper's Fig. 7, nine for its models: few-shot with 20 images if available; no calibration."""
    shots = {average.setting for average in found}
    return [average for average in found if _is_spoke(average, shots)]


def _is_spoke(average: Average, settings: Container[str]) -> bool:
    base, _, family = average.setting.partition(" ")
    if base in DENSE_SETTINGS:
        return is_ranked(base)
    if episode_shots(base) is not None:
        return base == "20-shot" or f"20-shot {family}" not in settings
    return base in {IMAGENET, LINEAR, FINETUNED}


def _base(average: Average) -> str:
    return average.setting.partition(" ")[0]
