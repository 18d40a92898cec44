"""The analysis of the task study, against the paper's own numbers and by hand."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit
from task_scores import task_score

from unseen.analyses.tasks.averages import (
    CALIBRATED,
    averages,
    correlations,
    mean_errors,
    ranks,
    scaled,
    setting_title,
    spokes,
    without_average,
)
from unseen.errors import UserError
from unseen.metrics.accuracy_scales import logit as our_logit
from unseen.metrics.correlation import correlation
from unseen.papers import published
from unseen.papers.transfer import imagenet_top1, published_task_scores, task_setting

UNITS = {"ece": 100, "diffusion": 100, "lpips": 1, "squared-error": 1}


def table9() -> list[tuple[str, str]]:
    table = published("ericsson-2021")
    rows = table[(table["table"] == 9) & table["model"].notna()]
    return list(dict.fromkeys(zip(rows["setting"], rows["metric"], strict=True)))


def test_table_9_has_all_its_columns() -> None:
    # Four of calibration, three of perceptual distance, three of colour, one of attention.
    assert len(table9()) == 4 + 3 + 3 + 1


@pytest.mark.parametrize(("setting", "metric"), table9())
def test_last_row_of_table_9_comes_out_of_its_columns(setting: str, metric: str) -> None:
    table = published("ericsson-2021")
    rows = table[(table["table"] == 9) & (table["setting"] == setting)]
    printed = rows.loc[rows["metric"] == f"correlation-{metric}", "value"].item()
    column = rows[rows["metric"] == metric]
    top1 = {score.backbone: score.value for score in imagenet_top1()}
    assert list(column["model"]) == list(top1)
    values = column["value"] / UNITS[metric]
    found = correlation(our_logit(list(top1.values())), values if metric == "squared-error" else our_logit(values))
    assert found.pearson.value == pytest.approx(printed, abs=0.02)
    assert found.pearson.low <= found.pearson.value <= found.pearson.high


def test_imagenet_accuracies_are_those_of_the_papers() -> None:
    expected = [59.5, 60.6, 61.5, 61.7, 67.6, 69.3, 71.1, 71.7, 71.8, 73.0, 74.3, 75.2, 75.3, 77.2]
    assert [100 * score.value for score in imagenet_top1()] == pytest.approx(expected)


def test_published_scores() -> None:
    scores = {(s.backbone, s.domain, task_setting(s)): s for s in published_task_scores()}
    # Tables 6 to 9, then 1 to 5 without the averages of Table 1 and the accuracies on ImageNet.
    assert len(scores) == 140 + 98 + 112 + 11 * 14 + 728 - 2 * 14 - 14
    byol = scores["BYOL", "food101", "50-shot"]  # Table 7 calls it Food
    assert (byol.value, byol.half_width) == (pytest.approx(0.8304), pytest.approx(0.0051))
    assert scores["InfoMin", "", "ece"].value == pytest.approx(0.0705)
    linear = scores["InsDis", "voc2007", "linear"]
    assert (linear.value, linear.metric, linear.half_width) == (pytest.approx(0.7437), "map-11-point", None)
    assert scores["InsDis", "ade20k", "upernet-miou"].value == pytest.approx(0.2742)  # printed as a fraction
    assert scores["InsDis", "ade20k", "upernet-pixel-accuracy"].value == pytest.approx(0.6803)
    assert scores["InsDis", "nyuv2-normals", "psp-angle-mean"].value == pytest.approx(32.99)  # degrees
    assert scores["InsDis", "voc-detection", "detector-frozen-ap50"].value == pytest.approx(0.7792)


def test_averages_are_means_of_logits_over_shared_data_sets() -> None:
    own = [
        task_score("mine", "cifar10", "5-shot", 0.7, 0.01),
        task_score("mine", "pets", "5-shot", 0.9, 0.01),
        task_score("mine", "digits", "5-shot", 0.8, 0.01),
    ]
    found = {average.setting: average for average in averages([*published_task_scores(), *own])}
    shared = found["5-shot kornblith"]
    assert shared.datasets == ["cifar10", "pets"]
    assert shared.values["mine"] == pytest.approx(logit([0.7, 0.9]).mean())
    assert shared.values["InsDis"] == pytest.approx(logit([0.6264, 0.7321]).mean())
    assert found["5-shot other"].values == {"mine": pytest.approx(logit(0.8))}
    assert len(found["50-shot kornblith"].datasets) == 7
    order = ranks([shared])["5-shot kornblith"]
    assert shared.means["mine"] == pytest.approx(0.8)
    assert shared.means["InsDis"] == pytest.approx((0.6264 + 0.7321) / 2)
    assert order["mine"] == sum(value > 0.8 for value in shared.means.values()) + 1


def test_ranks_are_by_average_accuracy_as_in_figure_7() -> None:
    found = averages([*published_task_scores(), *imagenet_top1()])
    table = published("ericsson-2021")
    rows = table[(table["table"] == 8) & (table["setting"] == "50-shot")]
    means = rows.groupby("model")["value"].mean()
    assert means.idxmax() == "BYOL"
    logits = rows.assign(value=logit(rows["value"] / 100)).groupby("model")["value"].mean()
    assert logits.idxmax() != "BYOL"  # so that it matters which mean it is
    expected = means.rank(ascending=False, method="min").astype(int).to_dict()
    assert ranks(found)["50-shot cd-fsl"] == expected
    assert expected["BYOL"] == 1


def test_equal_means_share_a_rank_whatever_the_order_of_sums() -> None:
    values = {"a": (0.1, 0.2, 0.3), "b": (0.3, 0.2, 0.1), "c": (0.1, 0.1, 0.1)}
    scores = [
        task_score(name, dataset, "linear", value)
        for name, of in values.items()
        for dataset, value in zip(("dtd", "pets", "cars"), of, strict=True)
    ]
    assert np.mean(values["a"]) != np.mean(values["b"])
    assert ranks(averages(scores))["linear"] == {"a": 1, "b": 1, "c": 3}


def test_a_setting_without_a_shared_data_set_is_named() -> None:
    apart = [
        task_score("one", "dtd", "linear", 0.9),
        task_score("two", "pets", "linear", 0.8),
        task_score("one", "digits", "5-shot", 0.7),
        task_score("one", "digits", "ece", 0.7),
    ]
    assert [average.setting for average in averages(apart)] == ["5-shot other"]
    [sentence] = without_average(apart)
    assert sentence == "Many-shot, linear: neither averaged nor ranked, since one and two share no data set."
    both = [*apart, task_score("two", "dtd", "linear", 0.6)]
    assert without_average(both) == []
    assert without_average([*published_task_scores(), *imagenet_top1()]) == []


def test_few_shots_of_other_probes_are_settings_of_their_own() -> None:
    episodes = task_score("mine", "cifar10", "5-shot", 0.7)
    fitted = [replace(episodes, probe="linear", metric=metric, value=value) for metric, value in
              (("top1", 0.6), ("ece", 0.1), ("scaled-ece", 0.05))]  # fmt: skip
    names = [task_setting(score) for score in (episodes, *fitted)]
    assert names == ["5-shot", "linear-5-shot", "linear-5-shot-ece", "linear-5-shot-scaled-ece"]
    found = {average.setting: average for average in averages([episodes, *fitted, *published_task_scores()])}
    assert len(found["5-shot kornblith"].values) == 15
    assert found["linear-5-shot"].means == {"mine": 0.6}
    titles = [setting_title(name) for name in names[1:]]
    assert titles == ["Linear, 5 shots", "Calibration, linear, 5 shots", "Calibration, linear, 5 shots, scaled"]
    assert not any(average.setting.startswith("linear-5") for average in spokes(list(found.values())))


def test_two_scores_of_one_cell_are_refused() -> None:
    scores = [task_score("mine", "cifar10", "linear", value) for value in (0.7, 0.8)]
    with pytest.raises(UserError, match="two scores of linear on cifar10"):
        averages(scores)


def test_data_sets_that_are_not_the_papers_have_means_of_their_own() -> None:
    linear = {"cifar10": 0.7, "dtd": 0.5, "digits": 0.9, "fashion_mnist": 0.8, "pets (yours)": 1.0}
    scores = [task_score("mine", name, "linear", value) for name, value in linear.items()]
    found = {average.setting: average for average in averages(scores)}
    assert found["linear"].means == {"mine": pytest.approx(0.6)}
    assert found["linear other"].means == {"mine": pytest.approx(0.9)}
    assert found["linear other"].datasets == ["digits", "fashion_mnist", "pets (yours)"]
    assert found["linear other"].title == "Many-shot, linear, other data sets"


def test_who_cuts_a_mean_is_of_the_run() -> None:
    fits = task_score("good", "cifar10", "50-shot", 0.9)
    cuts = task_score("bad", "cars", "50-shot", 0.8)  # Table 7 has no cars
    [sentence] = without_average([*published_task_scores(), fits, cuts])
    assert (
        sentence == "50-shot, Kornblith: neither averaged nor ranked, since bad has no data set that all others have."
    )
    other = task_score("other", "flowers", "50-shot", 0.8)
    [sentence] = without_average([*published_task_scores(), cuts, other])
    assert sentence.endswith("since bad and other share no data set.")


def test_calibration_errors_compare_only_over_the_papers_ten() -> None:
    assert len(CALIBRATED) == 10
    part = [task_score("mine", name, "ece", 0.05) for name in CALIBRATED[:9]]
    assert mean_errors(part) == []
    found = {average.setting: average for average in averages([*published_task_scores(), *part])}
    assert "mine" not in found["ece"].values
    whole = mean_errors([*part, task_score("mine", CALIBRATED[9], "ece", 0.15)])
    assert [(score.domain, score.value) for score in whole] == [("", pytest.approx(0.06))]
    found = {average.setting: average for average in averages([*published_task_scores(), *whole])}
    assert found["ece"].values["mine"] == pytest.approx(logit(0.06))
    assert ranks([found["ece"]])["ece"]["mine"] == 1  # the lowest error printed is 7.05


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("linear", 0.93),
        ("finetuned", 0.86),
        ("20-shot kornblith", 0.83),
        ("20-shot cd-fsl", 0.61),
        ("detector-frozen-ap50", 0.79),
        ("detector-finetuned-ap50", 0.33),
        ("psp-within-11.25", 0.43),
        ("upernet-miou", 0.19),
    ],
)
def test_correlations_with_imagenet_of_figure_2(setting: str, expected: float) -> None:
    pairs = correlations(averages([*published_task_scores(), *imagenet_top1()]))
    [found] = [pair.correlation for pair in pairs if (pair.first, pair.second) == ("imagenet", setting)]
    assert round(found.pearson.value, 2) == expected
    assert found.n == 14


def test_angles_are_correlated_as_they_are_and_turned() -> None:
    table = published("ericsson-2021")
    angles = table[(table["setting"] == "normals") & (table["metric"] == "mean")].set_index("model")["value"]
    top1 = table[table["metric"] == "top1"].set_index("model")["value"][angles.index]
    expected = -np.corrcoef(logit(top1 / 100), angles)[0, 1]
    pairs = correlations(averages([*published_task_scores(), *imagenet_top1()]))
    [found] = [pair for pair in pairs if (pair.first, pair.second) == ("imagenet", "psp-angle-mean")]
    assert found.correlation.pearson.value == pytest.approx(expected)
    # Other metrics than the one that counts most are set against ImageNet alone.
    assert not any("psp-angle-mean" in (pair.first, pair.second) for pair in pairs if pair.first != "imagenet")


def test_figure_7_has_nine_spokes() -> None:
    found = spokes(averages([*published_task_scores(), *imagenet_top1()]))
    assert {average.setting for average in found} == {
        "imagenet", "linear", "finetuned", "20-shot kornblith", "20-shot cd-fsl", "detector-frozen-ap50",
        "detector-finetuned-ap50", "psp-angle-mean", "upernet-miou",
    }  # fmt: skip
    table = published("ericsson-2021")
    angles = table[(table["setting"] == "normals") & (table["metric"] == "mean")].set_index("model")["value"]
    assert ranks(found)["psp-angle-mean"] == angles.rank(method="min").astype(int).to_dict()  # least is best
    means = table[(table["table"] == 1) & (table["setting"] == "linear") & (table["metric"] == "accuracy")]
    printed = means[means["dataset"].isna()].set_index("model")["value"]
    assert printed.idxmax() == min(ranks(found)["linear"], key=ranks(found)["linear"].__getitem__)


def test_correlations_of_settings() -> None:
    found = averages([*published_task_scores(), *imagenet_top1()])
    pairs = {(pair.first, pair.second): pair.correlation for pair in correlations(found)}
    table = published("ericsson-2021")
    fives = table[(table["table"] == 6)].pivot_table(index="model", columns="dataset", values="value", sort=False)
    fifties = table[(table["table"] == 7)].pivot_table(index="model", columns="dataset", values="value", sort=False)
    expected = np.corrcoef(logit(fives / 100).mean(axis=1), logit(fifties / 100).mean(axis=1))[0, 1]
    assert pairs["5-shot kornblith", "50-shot kornblith"].pearson.value == pytest.approx(expected)
    assert all(pair.first == "imagenet" for pair in correlations(found)[:8])
    assert correlations(found[:1]) == []


def test_scales_and_titles() -> None:
    assert scaled(task_score("b", "", "linear", 0.25)) == pytest.approx(np.log(1 / 3))
    values = [0.0, 0.00005, 0.0001, 0.0002, 0.5, 0.9998, 0.9999, 0.99995, 1.0]
    found = [scaled(task_score("b", "", "linear", value)) for value in values]
    # What lies beyond the paper's last printed digit reads as that digit, so a perfect score is never below another.
    assert found == pytest.approx(logit([0.0001, 0.0001, 0.0001, 0.0002, 0.5, 0.9998, 0.9999, 0.9999, 0.9999]))
    assert scaled(replace(task_score("b", "", "linear", -0.2), metric="ami")) == -0.2
    assert setting_title("20-shot cd-fsl") == "20-shot, CD-FSL"
