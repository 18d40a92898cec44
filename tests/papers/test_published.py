"""The published numbers against what the papers say of them, and against each other."""

from collections.abc import Callable

import pandas as pd
import pytest

from unseen.backbones.catalogue import catalogue
from unseen.errors import UserError
from unseen.papers import TABLES, cog_models, cog_v1_models, notes, published

DOMAINS = ["in1k", "l1", "l2", "l3", "l4", "l5"]
SHOTS = ["1", "2", "4", "8", "16", "32", "64", "128", "all"]
COG_V2, COG_V1 = published("cog-v2"), published("cog-v1")
ERICSSON, SHI = published("ericsson-2021"), published("shi-2023")
EVERY = pytest.mark.parametrize("name", list(TABLES))


def table(numbers: pd.DataFrame, number: int) -> pd.DataFrame:
    return numbers[numbers["table"] == number]


@EVERY
def test_columns_counts_and_keys(name: str) -> None:
    numbers, source = published(name), TABLES[name]
    assert list(numbers.columns) == list(source.columns)
    assert len(numbers) == source.values
    values = {"mean", "value", "deviation", "interval"}
    assert not numbers.duplicated([column for column in numbers.columns if column not in values]).any()
    for printed in source.tables if "table" in numbers else ():
        assert numbers["table"].isin(printed.numbers).sum() == printed.values


def test_cog_v2_is_all_models_on_all_domains_with_all_shots() -> None:
    assert list(COG_V2.columns) == ["model", "domain", "shots", "mean", "deviation"]
    grid = pd.MultiIndex.from_product([[m.name for m in catalogue("cog-v2")], DOMAINS, SHOTS])
    assert len(COG_V2) == len(grid) == 1674
    assert set(COG_V2[["model", "domain", "shots"]].itertuples(index=False, name=None)) == set(grid)
    assert COG_V2["mean"].between(9, 85).all()
    assert COG_V2["deviation"].between(0, 1).all()


def test_values_are_in_their_range() -> None:
    assert COG_V1.loc[COG_V1["metric"] == "top1", "value"].between(8, 82).all()
    assert COG_V1.loc[COG_V1["metric"] == "gain", "value"].abs().max() < 10
    assert COG_V1.loc[COG_V1["metric"].isin(["purity", "ami", "nmi", "ari"]), "value"].between(0, 1).all()
    few = ERICSSON[ERICSSON["setting"].str.endswith("-shot")]
    assert few["value"].between(20, 100).all()  # five classes: chance is 20
    assert few["interval"].between(0.1, 1).all()
    assert ERICSSON.loc[ERICSSON["metric"] == "miou", "value"].between(0.2, 0.4).all()  # a fraction, as printed
    assert ERICSSON.loc[ERICSSON["metric"].isin(["mean", "median"]), "value"].between(20, 40).all()  # degrees
    shares = ["top1", "accuracy", "AP", "AP50", "AP75", "within-11.25", "within-22.5", "within-30", "pixel-accuracy"]
    assert ERICSSON.loc[ERICSSON["metric"].isin(shares), "value"].between(10, 100).all()
    correlations = ERICSSON[ERICSSON["model"].isna()]
    assert correlations["metric"].str.startswith("correlation-").all()
    assert correlations["value"].abs().max() <= 1
    assert SHI.loc[SHI["metric"] == "r2", "value"].between(0, 1).all()
    assert SHI.loc[SHI["metric"] == "effective-robustness", "deviation"].notna().all()


def test_models_are_those_of_the_catalogue() -> None:
    assert set(COG_V2["model"]) == {model.name for model in catalogue("cog-v2")}
    assert set(ERICSSON["model"].dropna()) == {model.name for model in catalogue("ericsson-2021")}
    assert set(COG_V1["model"]) == set(cog_v1_models()["model"]) <= set(COG_V2["model"])


def test_facts_of_the_models() -> None:
    facts = cog_models().set_index("model")
    assert list(facts.columns) == ["category", "parameters", "dimension", "size", "extra_data"]
    assert facts["category"].value_counts()["web data"] == (facts["extra_data"] != "").sum() == 4
    assert tuple(facts.loc["a-NAT-M4"]) == ("architecture", 7.6, 1536, 224, "")


def test_facts_of_the_first_version() -> None:
    facts = cog_v1_models().set_index("abbreviation")
    assert dict(facts["additional_data"])["S-W-Sup"] == "IG-1B"
    assert list(facts.index[facts["in1k_labels"] == "no"]) == ["MoCo", "SwAV", "SimCLR", "BYOL"]
    assert (facts["in1k_images"] == "yes").all()


def test_numbers_that_the_text_names() -> None:
    every = COG_V2[COG_V2["shots"] == "all"].pivot(index="model", columns="domain", values="mean")
    assert list(every.loc["ResNet50", DOMAINS]) == [75.8, 67.9, 63.1, 59.0, 58.1, 52.0]
    first = table(COG_V1, 2).pivot(index="model", columns="domain", values="value")
    margins = (first.loc[["s-MoCo-v2", "s-SwAV", "s-SimCLR-v2", "s-BYOL"], "l5"] - first.loc["ResNet50", "l5"]).round(1)
    assert list(margins) == [0.8, 5.0, 1.5, 2.9]
    laion = SHI[(SHI["table"] == 3) & (SHI["pool"] == "laion") & (SHI["testset"] == "imagenet-r")]
    assert list(laion["value"]) == [0.216, 0.982, 9.23, 1.32]
    web = SHI[(SHI["table"] == 2) & (SHI["models"] == "ImageNet") & (SHI["evaluation"] == "single-id")]
    assert list(web["value"])[1:3] == [3.91, 2.77]


def test_more_images_and_more_components_are_better() -> None:
    v2 = COG_V2.pivot(index=["model", "domain"], columns="shots", values="mean")[SHOTS]
    v1 = table(COG_V1, 4).pivot(index=["model", "domain"], columns="shots", values="value")[SHOTS]
    pca = table(COG_V1, 5).pivot(index=["model", "domain"], columns="components", values="value")
    for rows, equal in ((v2, {("a-DeiT-B-distilled", "in1k")}), (v1, set()), (pca, {("ResNet50", "in1k")})):
        steps = rows.diff(axis=1).iloc[:, 1:].round(1)
        assert (steps >= 0).all(axis=None)
        assert set(rows.index[(steps == 0).any(axis=1)]) == equal


def test_levels_are_ever_harder_but_for_clip() -> None:
    v2 = COG_V2.pivot(index=["model", "shots"], columns="domain", values="mean")
    rising = v2[(v2.diff(axis=1) >= 0).any(axis=1)]
    assert {model for model, _ in rising.index} == {"d-CLIP"}
    assert {shots for _, shots in rising.index} == set(SHOTS) - {"1"}
    measures = table(COG_V1, 6).pivot(index=["metric", "model"], columns="domain", values="value")
    assert list(measures.index[(measures.diff(axis=1) >= 0).any(axis=1)]) == [("nmi", "s-SimCLR-v2")]


def test_tables_of_the_first_version_agree() -> None:
    key = ["model", "domain"]
    full = table(COG_V1, 2).set_index(key)["value"]
    others = [
        table(COG_V1, 3).query("probe == 'logistic'"),
        table(COG_V1, 4).query("shots == 'all'"),
        table(COG_V1, 5).query("components == 2048"),
    ]
    for other in others:
        assert other.set_index(key)["value"].reindex(full.index).equals(full)


def test_both_versions_agree_on_seen_concepts() -> None:
    key = ["model", "shots"]
    first = table(COG_V1, 4).query("domain == 'in1k'").set_index(key)["value"]
    second = COG_V2.query("domain == 'in1k'").set_index(key)["mean"].reindex(first.index)
    difference = (first - second).abs().round(1)
    assert difference.max() <= 0.5  # other draws of few images
    assert difference.xs("all", level="shots").max() <= 0.1


def test_more_images_are_better_in_episodes() -> None:
    few = ERICSSON[ERICSSON["setting"].str.endswith("-shot")]
    wide = few.pivot(index=["model", "dataset"], columns="setting", values="value")
    assert len(wide) == 14 * 14
    assert (wide["20-shot"] > wide["5-shot"]).all()
    both = wide.dropna()
    assert len(both) == 14 * 11
    assert (both["50-shot"] > both["20-shot"]).all()


def test_averages_of_table_1_are_of_its_cells() -> None:
    rows = table(ERICSSON, 1).query("metric == 'accuracy'")
    average = rows[rows["dataset"].isna()].set_index(["model", "setting"])["value"]
    assert len(average) == 28
    mean = rows[rows["dataset"].notna()].groupby(["model", "setting"])["value"].mean().reindex(average.index)
    assert (average - mean).abs().max() < 0.01  # 0.005 of its own rounding, and that of its cells


def test_looser_thresholds_are_met_by_more() -> None:
    detection = table(ERICSSON, 4).pivot(index=["model", "setting"], columns="metric", values="value")
    assert ((detection["AP50"] > detection["AP75"]) & (detection["AP50"] > detection["AP"])).all()
    normals = table(ERICSSON, 5).query("setting == 'normals'").pivot(index="model", columns="metric", values="value")
    assert (normals["within-11.25"] < normals["within-22.5"]).all()
    assert (normals["within-22.5"] < normals["within-30"]).all()
    assert (normals["median"] < normals["mean"]).all()


def test_averages_are_of_what_is_above_them() -> None:
    key = ["table", "pool", "models", "evaluation", "metric"]
    average = SHI[SHI["testset"] == "average"].set_index(key)["value"]
    mean = SHI[SHI["testset"] != "average"].groupby(key)["value"].mean().reindex(average.index)
    assert len(average) == 6 + 12 + 32
    assert (average - mean).abs().max() < 0.01  # 0.005 of its own rounding, and that of three or four terms


def test_an_error_is_never_less_than_what_it_averages() -> None:
    wide = SHI[SHI["table"] >= 6].pivot(
        index=["table", "models", "testset", "evaluation"], columns="metric", values="value"
    )
    assert (wide["mae"] - wide["effective-robustness"].abs() > -0.011).all()


def test_groups_of_models_add_up() -> None:
    for number, total in ((2, 148), (4, 103), (5, 107)):
        assert table(SHI, number).groupby("models")["count"].first().sum() == total
    assert set(table(SHI, 1)["count"]) == {148}
    assert dict(table(SHI, 3).groupby("pool")["count"].first()) == {"yfcc": 103, "laion": 107}


@EVERY
def test_notes_are_about_tables_that_are_there(name: str) -> None:
    found = notes(name)
    assert list(found.columns) == ["table", "where", "note"]
    assert len(found) >= 5
    assert found.notna().all(axis=None)
    there = {number for printed in TABLES[name].tables for number in printed.numbers}
    for numbers in found["table"]:
        first, _, last = numbers.partition("-")
        elsewhere = {1, 10}  # facts and trainings of models
        assert set(range(int(first), int(last or first) + 1)) <= there | elsewhere


def test_a_table_is_the_callers_own() -> None:
    mine = published("cog-v2")
    mine["mean"] = 0.0
    assert published("cog-v2")["mean"].min() > 0


@pytest.mark.parametrize("read", [published, notes])
def test_an_unknown_name_is_named(read: Callable[[str], pd.DataFrame]) -> None:
    with pytest.raises(UserError, match=r"no published numbers 'cog-v3', only cog-v2, .*; did you mean cog-v"):
        read("cog-v3")
