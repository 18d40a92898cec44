"""Every published number against the text of its paper, read in another way than it was for the CSV files."""

import re

import numpy as np
import pandas as pd
import pytest

from conftest import SHARED
from unseen.backbones.catalogue import catalogue
from unseen.papers import cog_v1_models, published

DOMAINS = ["in1k", "l1", "l2", "l3", "l4", "l5"]
SHOTS = ["1", "2", "4", "8", "16", "32", "64", "128", "all"]
COMPONENTS = [32, 64, 128, 256, 512, 1024, 2048]
V2, V1, ERICSSON, SHI = (published(name) for name in ("cog-v2", "cog-v1", "ericsson-2021", "shi-2023"))


def table(numbers: pd.DataFrame, number: int) -> pd.DataFrame:
    return numbers[numbers["table"] == number]


def seed(number: str) -> str:
    files = sorted((SHARED / "seeds").glob(f"{number}_*.txt"))
    if not files:
        pytest.skip("needs the text of the papers in ../shared/seeds")
    return files[0].read_text()


def between(text: str, start: str, end: str) -> str:
    return text[text.index(start) + len(start) :].partition(end)[0]


@pytest.mark.parametrize("number", range(5, 11))
def test_cog_v2_is_what_the_paper_prints(number: int) -> None:
    text = seed("000")
    start = f"Table {number - 1}: **Top-1" if number > 5 else "Figure 11: **Relative"
    domain = DOMAINS[number - 5]
    spelled = {re.sub(r"\W", "", s).lower(): m.name for m in catalogue("cog-v2") for s in (m.name, *m.also)}
    seen = []
    for line in between(text, start, f"Table {number}: **Top-1").splitlines():
        first, *cells = line.split("\t")
        pairs = re.findall(r"(\d+\.\d) \+ (\d\.\d)", " ".join(cells))
        if not pairs:
            continue
        model = spelled[re.sub(r"</?i>|\W", "", first).lower()]
        mine = V2[(V2["model"] == model) & (V2["domain"] == domain)].set_index("shots").loc[SHOTS]
        assert [(f"{a:.1f}", f"{b:.1f}") for a, b in zip(mine["mean"], mine["deviation"], strict=True)] == pairs
        seen.append(model)
    assert len(seen) == len(set(seen)) == 31


def cog_v1_lines(number: int) -> list[list[str]]:
    part = between(seed("003"), f"\nTable {number}: ", f"\nTable {number + 1}: ")
    abbreviations = cog_v1_models().set_index("abbreviation")["model"]
    lines = []
    for line in part.splitlines():
        cells = [re.sub(r"<[^>]*>|[%$_ ]", "", cell) for cell in line.split("\t")]
        if cells[0] in abbreviations.index:
            lines.append([abbreviations[cells[0]], *cells[1:]])
    return lines


def test_cog_v1_accuracies_are_what_the_paper_prints() -> None:
    for number, column, order in ((4, "shots", SHOTS), (5, "components", COMPONENTS)):
        lines = cog_v1_lines(number)
        assert len(lines) == 42
        wide = table(V1, number).pivot(index=["model", "domain"], columns=column, values="value")[order]
        for model, domain, *cells in lines:
            assert [f"{v:.1f}" for v in wide.loc[(model, domain.lower().replace("-", ""))]] == cells


def test_cog_v1_domains_in_columns_are_what_the_paper_prints() -> None:
    index = ["model", "probe", "metric"]
    probes = {"LogReg": "logistic", "MLPNoAct.(2)": "mlp-linear", "MLP(2)": "mlp"}
    for number, lines in ((2, 7), (3, 21), (6, 28)):
        wide = table(V1, number).pivot(index=index, columns="domain", values="value")
        read = cog_v1_lines(number)
        assert len(read) == len(wide) == lines
        for place, (model, *cells) in enumerate(read):
            probe = probes[cells.pop(0)] if number == 3 else "kmeans" if number == 6 else "logistic"
            metric = ("purity", "ami", "nmi", "ari")[place // 7] if number == 6 else "top1"
            metric = "gain" if probe.startswith("mlp") else metric
            assert list(wide.loc[(model, probe, metric)]) == list(map(float, cells))


def test_table_1_of_the_first_version_is_what_the_paper_prints() -> None:
    rows = [line.split("\t") for line in between(seed("003"), "Table 1: ", "\n## 4").splitlines() if "<b>" in line]
    rows = [[re.sub(r"<[^>]*>|\[.*?\]", "", cell).strip() for cell in row] for row in rows]
    printed = [
        [called, short, *("yes" if c == "✓" else "no" for c in ticks), extra] for called, short, *ticks, extra in rows
    ]
    mine = cog_v1_models()[["called", "abbreviation", "in1k_images", "in1k_labels", "additional_data"]]
    assert [[*row[:4], "" if row[4] == "✗" else row[4]] for row in printed] == mine.to_numpy().tolist()


@pytest.mark.parametrize("number", [6, 7, 8, 9])
def test_ericsson_is_what_the_paper_prints(number: int) -> None:
    part = between(seed("004"), f"\nTable {number}. ", f"\nTable {number + 1}. ")
    rows = [re.sub(r"</?u>", "", line).split("\t") for line in part.splitlines() if line.count("\t") > 5]
    lines = {first: [float(n) for cell in cells for n in cell.split(" ± ")] for first, *cells in rows if first}
    assert len(lines) == (15 if number == 9 else 14)
    mine = table(ERICSSON, number)
    for model, values in lines.items():
        own = mine["model"].isna() if model.startswith("Correlation") else mine["model"] == model
        assert mine.loc[own, ["value", "interval"]].stack().dropna().tolist() == values
    if number < 9:
        assert list(dict.fromkeys(mine["dataset"])) == [cell.lower() for cell in rows[0] if cell]


SINGLE_AND_MULTI = ["single-id", "multi-id"]
FIT = [(metric, evaluation) for metric in ("r2", "mae") for evaluation in SINGLE_AND_MULTI]
ROBUSTNESS = [("effective-robustness", evaluation) for evaluation in SINGLE_AND_MULTI]
NUMBER = r"(-?\d+\.\d+)(?: ?(?:±|\\pm) ?(\d+\.\d+))?"


@pytest.mark.parametrize(
    ("number", "columns"),
    [
        (1, FIT),
        (2, None),
        (3, FIT),
        (4, ROBUSTNESS),
        (5, ROBUSTNESS),
        (6, FIT[2:] + ROBUSTNESS),
        (7, FIT[2:] + ROBUSTNESS),
    ],
)
def test_shi_is_what_the_paper_prints(number: int, columns: list[tuple[str, str]] | None) -> None:
    part = seed("002").split(f"\nTable {number}: ")[1].split("\n\n")[1]
    rows = table(SHI, number).itertuples(index=False)
    group, lines = "", 0
    for line in part.splitlines():
        cells = line.split("\t")
        numbers = [match for cell in cells if (match := re.fullmatch(NUMBER, cell))]
        if not numbers:
            continue
        lines += 1
        words = [re.sub(r" \(\d+ models\)", "", cell).lower() for cell in cells[: -len(numbers)]]
        group = words[0] or group
        for place, match in enumerate(numbers):
            row = next(rows)
            assert row.value == float(match[1])
            np.testing.assert_equal(row.deviation, float(match[2] or "nan"))
            assert {group, words[-1]} <= {row.pool, row.models.lower(), row.testset, row.evaluation}
            if columns:
                assert (row.metric, row.evaluation) == columns[place]
            else:
                assert row.models == ("CIFAR-10", "ImageNet", "CIFAR-10+ImageNet")[place]
    assert lines == len(part.splitlines()) - (1 if number in {2, 4, 5} else 2)
    assert next(rows, None) is None
