"""`unseen shifts fit`: what it writes and prints, and that bad input is one sentence, exit code 2, nothing written."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

Run = Callable[..., Any]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Twelve models on four test sets: `sketch` is exactly a plane of the two ID sets, `art` nearly so."""
    rng = np.random.default_rng(0)
    x = rng.normal(0.3, 1, (12, 2))
    sketch, art = x @ [0.6, 0.3] - 0.5, x @ [0.2, 0.7] + rng.normal(0, 0.1, 12)
    path = tmp_path / "table.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["model", "group", "val", "web", "sketch", "art"])
        for i, row in enumerate(np.column_stack([x, sketch, art])):
            writer.writerow([f"m{i}", ["a", "b"][i % 2], *(100 * special.expit(row))])
    return path


def fit(unseen: Run, table: Path, *more: str, ids: str = "val,web", ood: str = "sketch,art") -> Any:
    return unseen("shifts", "fit", table, "--id", ids, "--ood", ood, "--out", table.parent / "out", *more)


def test_writes_the_fit_the_models_and_a_report(unseen: Run, table: Path) -> None:
    answer = fit(unseen, table, "--set", "group=group", "--set", "fit-on=group in {a, b}", "--set", "sizes=val=5000")
    assert answer.code == 0, answer.err
    assert "read as percent" in answer.err
    out = table.parent / "out"
    assert sorted(path.name for path in out.iterdir()) == ["fit.json", "groups.csv", "models.csv", "report.html"]
    record = json.loads((out / "fit.json").read_text())
    sketch = record["ood"]["sketch"]
    assert sketch["n"] == 12
    assert sketch["coefficients"] == {"val": pytest.approx(0.6), "web": pytest.approx(0.3)}
    assert (sketch["intercept"], sketch["r2"]) == (pytest.approx(-0.5), pytest.approx(1))
    assert sketch["mae"] == pytest.approx(0, abs=1e-9)
    low, high = sketch["intervals"]["coefficients"]["val"]
    assert low == pytest.approx(0.6) == high
    assert record["unit"] == "percent"
    assert record["sizes"] == {"val": 5000}
    assert {group["group"] for group in record["groups"]} == {"a", "b"}
    with (out / "groups.csv").open() as file:
        groups = list(csv.DictReader(file))
    assert [(row["id"], row["ood"]) for row in groups if row["group"] == "b"][2] == ("val + web", "(average)")
    assert "(average)" in answer.out
    with (out / "models.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    art = record["ood"]["art"]
    for row in rows[12:]:
        logit = art["intercept"] + sum(
            weight * special.logit(float(row[f"id:{name}"])) for name, weight in art["coefficients"].items()
        )
        assert float(row["rho"]) == pytest.approx(float(row["accuracy"]) - special.expit(logit), abs=2e-6)
    assert np.mean([abs(float(row["rho"])) for row in rows[12:]]) == pytest.approx(art["mae"] / 100, abs=1e-6)


@pytest.mark.long_suite
def test_its_tables_and_figures_are_exported(unseen: Run, table: Path) -> None:
    folder = table.parent / "files"
    assert fit(unseen, table, "--export", str(folder)).code == 0
    names = {path.name for path in folder.iterdir()}
    assert {"fits.csv", "fits.tex", "models.csv", "residuals-sketch.svg", "residuals-art.png"} <= names
    assert "textbf" not in (folder / "fits.tex").read_text()


def test_id_sets_for_one_ood_set(unseen: Run, table: Path) -> None:
    """Named by `--id-for`, with `--id` for the others."""
    replaced(table, "val,web", "val,web=2")
    answer = unseen("shifts", "fit", table, "--id", "val", "--ood", "sketch", "--id-for", "art=web=2", "--set",
                    "min-id=1", "--out", table.parent / "out")  # fmt: skip
    assert answer.code == 0, answer.err
    record = json.loads((table.parent / "out/fit.json").read_text())
    assert {ood: fit["id"] for ood, fit in record["ood"].items()} == {"sketch": ["val"], "art": ["web=2"]}
    assert record["id"] == ["val / web=2"]
    assert record["minimum"] == {"val": 1, "web=2": 1}
    answer = unseen("shifts", "fit", table, "--id-for", "art", "--out", table.parent / "out")
    assert (answer.code, "--id-for takes OOD=ID" in answer.err) == (2, True)


def test_the_same_command_writes_the_same_bytes(unseen: Run, table: Path) -> None:
    files = []
    for _ in range(2):
        assert fit(unseen, table).code == 0
        files.append({path.name: path.read_bytes() for path in (table.parent / "out").iterdir()})
    assert files[0] == files[1]


def test_other_methods_units_and_minimum(unseen: Run, table: Path) -> None:
    answer = fit(
        unseen, table, "--set", "scale=probit", "--set", "loss=huber", "--set", "unit=percent", "--set", "min-id=val=1"
    )
    assert answer.code == 0, answer.err
    record = json.loads((table.parent / "out/fit.json").read_text())
    assert record["method"] == "probit, Huber"
    assert record["minimum"] == {"val": 1.0}
    assert fit(unseen, table, "--set", "min-id=2", ids="val").code == 0
    assert json.loads((table.parent / "out/fit.json").read_text())["minimum"] == {"val": 2.0}


def replaced(table: Path, old: str, new: str) -> None:
    text = table.read_text()
    assert old in text
    table.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (None, {"ids": "vall"}, "no column 'vall'; did you mean val"),
        (None, {"ood": "sketch,"}, "--ood takes values separated by commas"),
        (None, {"ids": "val,val"}, "'val' is named twice"),
        (("m3,b,", "m3,b,x"), {}, "of model 'm3' in column 'val' is not a number"),
        (("m3,b,", "m3,b,9"), {}, "of model 'm3' in column 'val' is not an accuracy from 0 to 100"),
        (("m3,", "m4,"), {}, "the model 'm4' is in rows 4 and 5"),
        (("model,", "modell,"), {}, "no column 'model'; did you mean modell"),
        (None, {"more": ["--set", "fit-on=group in {a"]}, "character 12: expected ',' or '}', not the end"),
        (
            None,
            {"more": ["--set", "fit-on=model in {m1, m2, m3}"]},
            "needs at least 4 models",
        ),
        (None, {"more": ["--set", "sizes=val"]}, "sizes takes name=number pairs, not 'val'"),
        (None, {"more": ["--set", "sizes=val=many"]}, "'many' is not a number of images for 'val'"),
        (None, {"more": ["--set", f"sizes=val={'9' * 5000}"]}, "is not a number of images for 'val'"),
        (None, {"more": ["--set", "sizes=val=10,val=20"]}, "sizes has 'val' twice"),
        (None, {"more": ["--set", "min-id=low"]}, "min-id takes a number"),
        (None, {"more": ["--set", "min-id=nan"]}, "min-id takes a number"),
        (None, {"more": ["--set", "min-id=5,50"]}, "min-id takes one number for all ID test sets"),
        (None, {"more": ["--set", "min-id=val=inf"]}, "min-id takes a number"),
        (None, {"more": ["--set", "min-id=101"]}, "a minimum of 101 on 'val' is above any possible accuracy"),
        (None, {"more": ["--set", "min-id=99.9"]}, "12 are below the minimum: lower it"),
        (None, {"more": ["--set", "scale=log"]}, 'scale must be "logit" or "probit", not "log"; did you mean logit?'),
        (None, {"more": ["--set", "resamples=0"]}, "resamples must be at least 1, not 0"),
        (None, {"more": ["--set", "resamples=1000001"]}, "from one to 1,000,000 resamples"),
        (None, {"more": ["--set", "resample=9"]}, "no key 'resample'; did you mean resamples"),
        (None, {"more": ["--set", "resamples"]}, "--set takes KEY=VALUE"),
        (None, {"more": ["--set", "seed=1", "--set", "seed=2"]}, "--set seed is given twice"),
        (None, {"more": ["--set", "unit=fraction"]}, "is not an accuracy from 0 to 1"),
        (("m3,b,", "m3,"), {}, "line 5: 5 fields where the header has 6"),
        (("m3,b,", "m3,b,0.0000"), {"ids": "val", "ood": "web"}, "m3"),
        (("val,web", '"val, 2012",web'), {"ids": "val, 2012"}, "put 'val, 2012' in double quotes"),
        (None, {"ids": '"val,web'}, "--id has a double quote that is not closed"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_written(
    unseen: Run, table: Path, change: tuple[str, str] | None, arguments: dict[str, Any], message: str
) -> None:
    if change:
        replaced(table, *change)
    names = {key: value for key, value in arguments.items() if key != "more"}
    answer = fit(unseen, table, *arguments.get("more", []), **names)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""
    assert not (table.parent / "out").exists()


def test_no_such_table(unseen: Run, tmp_path: Path) -> None:
    answer = fit(unseen, tmp_path / "none.csv")
    assert (answer.code, "no such file" in answer.err) == (2, True)


def test_names_with_commas(unseen: Run, table: Path) -> None:
    """As in a line of CSV, wherever an option names columns."""
    assert fit(unseen, table, "--set", "sizes=val=5000,art=300", "--set", "min-id=val=1").code == 0
    expected = json.loads((table.parent / "out/fit.json").read_text())
    replaced(table, "group,val,web", 'group,"val, top-1",web')
    sizes, least = '"val, top-1"=5000, art=300', '"val, top-1=1"'
    answer = fit(unseen, table, "--set", f"sizes={sizes}", "--set", f"min-id={least}", ids='"val, top-1",web')
    assert answer.code == 0, answer.err
    record = json.loads((table.parent / "out/fit.json").read_text())
    assert record["id"] == ["val, top-1", "web"]
    assert record["sizes"] == {"val, top-1": 5000, "art": 300}
    assert record["minimum"] == {"val, top-1": 1.0}
    assert list(record["ood"]["art"]["coefficients"].values()) == list(expected["ood"]["art"]["coefficients"].values())


@pytest.mark.parametrize("separator", [";", "\t"])
def test_tables_separated_by_semicolons_or_tabs(unseen: Run, table: Path, separator: str) -> None:
    assert fit(unseen, table).code == 0
    expected = (table.parent / "out/models.csv").read_bytes()
    text = table.read_text()
    table.write_text(text.replace(",", separator))
    assert fit(unseen, table).code == 0
    assert (table.parent / "out/models.csv").read_bytes() == expected
    table.write_text(text.replace(",", ";").replace(".", ","))
    answer = fit(unseen, table)
    assert (answer.code, "write decimals with a point" in answer.err) == (2, True)


def test_pairs_are_ranked(unseen: Run, table: Path) -> None:
    answer = unseen("shifts", "pairs", table, "--id", "val,web,art", "--ood", "sketch", "--top", "2")
    assert answer.code == 0, answer.err
    title, _, _, first, *rest = answer.out.splitlines()
    assert title.startswith("sketch: 3 pairs on 12 models")
    assert first.split()[:3] == ["val", "+", "web"]  # of which it was made
    assert len(rest) == 1
    assert unseen("shifts", "pairs", table, "--id", "val", "--ood", "sketch").code == 2


def without(table: Path, *models: str) -> Path:
    """The same table with fewer models."""
    path = table.parent / f"without-{'-'.join(models)}.csv"
    path.write_text(
        "".join(line for line in table.read_text().splitlines(keepends=True) if line.split(",")[0] not in models)
    )
    return path


def ranking(unseen: Run, table: Path, *more: str) -> tuple[str, str]:
    answer = unseen("shifts", "pairs", table, "--id", "val,web,art", "--ood", "sketch", *more)
    assert answer.code == 0, answer.err
    return answer.out, answer.err


def test_pairs_are_ranked_on_the_models_of_the_fit(unseen: Run, table: Path) -> None:
    """A model that is only scored, or below the minimum, changes no number: the table may as well not have it."""
    text = table.read_text().splitlines()
    text[3] = "m2,scored,1.5,98,60,70"
    table.write_text("\n".join(text) + "\n")
    alone, _ = ranking(unseen, without(table, "m2"))
    out, err = ranking(unseen, table, "--set", "fit-on=group in {a, b}")
    assert out == alone
    assert "models that are not in the fit and are not used here: 1" in err
    out, err = ranking(unseen, table, "--set", "min-id=val=2")
    assert out == alone
    assert "models of the fit that are left out: 1 below the minimum" in err
    assert ranking(unseen, table)[0] != alone


def test_pairs_say_who_is_left_out_and_sizes_keep_the_ends(unseen: Run, table: Path) -> None:
    text = table.read_text().splitlines()
    cells = [line.split(",") for line in text]
    cells[1][2], cells[2][5], cells[3][3] = "0", "100", ""
    table.write_text("\n".join(map(",".join, cells)) + "\n")
    out, err = ranking(unseen, table)
    assert "3 pairs on 9 models" in out
    assert "1 without an accuracy on one of the test sets, 2 at exactly 0% or 100% (--set sizes=… keeps them)" in err
    (table.parent / "columns.csv").write_text("column,images\nval,199\nart,199\nelsewhere,7\nweb,0\n")
    inside = [list(row) for row in cells]
    inside[1][2], inside[2][5] = str(100 * 0.5 / 200), str(100 * 199.5 / 200)
    moved = table.parent / "moved.csv"
    moved.write_text("\n".join(map(",".join, inside)) + "\n")
    expected, _ = ranking(unseen, moved)
    for sizes in ("val=199,art=199", str(table.parent / "columns.csv")):
        out, _ = ranking(unseen, table, "--set", f"sizes={sizes}")
        assert out == expected
        assert "on 11 models" in out


def test_pairs_take_the_unit_and_the_method(unseen: Run, table: Path) -> None:
    rows = [line.split(",") for line in table.read_text().splitlines()]
    for row in rows[1:]:
        row[4] = str(float(row[4]) / 100)  # percentages below 1
    table.write_text("\n".join(map(",".join, rows)) + "\n")
    arguments = ("shifts", "pairs", table, "--id", "val,web,art", "--ood", "sketch")
    answer = unseen(*arguments)
    assert (answer.code, "--set unit=percent" in answer.err) == (2, True)
    answer = unseen(*arguments, "--set", "unit=percent")
    assert (answer.code, "Accuracies were read as percent" in answer.err) == (0, True)
    other = unseen(*arguments, "--set", "unit=percent", "--set", "scale=probit", "--set", "loss=huber")
    assert other.code == 0
    assert other.out != answer.out
    assert unseen(*arguments[:-1], "sketch,group").code == 2
    answer = unseen(*arguments, "--set", "unit=percent", "--set", "fit-on=model in {m1, m2, m3}")
    assert (answer.code, "3 models of the fit have all of these test sets; a pair needs 4" in answer.err) == (2, True)


def test_sizes_from_the_columns_of_evaluate(unseen: Run, table: Path) -> None:
    columns = table.parent / "columns.csv"
    columns.write_text("column,test_set,images,classes,classes_sha256\nval,val,5000,10,x\nother,other,9,2,y\n")
    assert fit(unseen, table, "--set", f"sizes={columns}").code == 0
    from_file = (table.parent / "out/fit.json").read_bytes()
    assert fit(unseen, table, "--set", "sizes=val=5000").code == 0
    assert (table.parent / "out/fit.json").read_bytes() == from_file
    answer = fit(unseen, table, "--set", f"sizes={columns}", ids="web")
    assert (answer.code, "has no number of images for web, sketch, art" in answer.err) == (2, True)
    assert "no such file" in fit(unseen, table, "--set", "sizes=nowhere.csv").err
    columns.write_text("column,images,classes_sha256\nval,5000,x\nsketch,90,x\nart,90,y\n")
    answer = fit(unseen, table, "--set", f"sizes={columns}", ids="val")
    assert ("val was scored on other classes than art" in answer.err, "than sketch" in answer.err) == (True, False)


def test_a_pair_that_determines_no_plane_is_passed_over(unseen: Run, table: Path) -> None:
    header, *lines = table.read_text().splitlines()
    place = header.split(",").index("val")
    rows = [f"{header},same", *(f"{line},{line.split(',')[place]}" for line in lines)]
    table.write_text("\n".join(rows) + "\n")
    answer = unseen("shifts", "pairs", table, "--id", "val,web,same", "--ood", "sketch")
    assert answer.code == 0, answer.err
    assert answer.out.startswith("sketch: 2 pairs on 12 models")
    assert "skipped, val + same: the accuracies on val, same determine each other" in answer.err
    answer = unseen("shifts", "pairs", table, "--id", "val,same", "--ood", "sketch")
    assert (answer.code, "no pair can be fitted" in answer.err) == (2, True)


def predictions(folder: Path) -> tuple[Path, Path]:
    rng = np.random.default_rng(0)
    paths = folder / "id.npz", folder / "ood.npz"
    for path, shift in zip(paths, (0.0, 0.5), strict=True):
        labels, shared = rng.integers(0, 5, 3000), rng.normal(size=3000)
        made = {"labels": labels}
        for number, skill in enumerate(np.linspace(0, 1.5, 6)):
            right = skill - shift > np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.normal(size=3000)
            made[f"m{number}"] = np.where(right, labels, (labels + rng.integers(1, 5, 3000)) % 5)
        np.savez(path, **made)
    return paths


def test_agreement(unseen: Run, tmp_path: Path) -> None:
    known, shifted = predictions(tmp_path)
    answer = unseen("shifts", "agreement", known, shifted)
    assert answer.code == 0, answer.err
    assert "6 models, 15 pairs" in answer.out
    rows = [line.split() for line in answer.out.splitlines() if line.startswith("m") and line[1].isdigit()]
    with np.load(known) as made:
        expected = [100 * float((made[f"m{i}"] == made["labels"]).mean()) for i in range(6)]
    assert [float(row[1]) for row in rows] == pytest.approx(expected, abs=0.051)
    off = [abs(float(row[2]) - float(row[4])) for row in rows]
    assert np.mean(off) < np.mean([abs(float(row[1]) - float(row[4])) for row in rows]) / 2


def test_agreement_without_labels_and_with_bad_files(unseen: Run, tmp_path: Path) -> None:
    known, shifted = predictions(tmp_path)
    with np.load(known) as made:
        arrays = dict(made)
    bare = tmp_path / "bare.npz"
    np.savez(bare, **{name: values for name, values in arrays.items() if name != "labels"})
    answer = unseen("shifts", "agreement", bare, shifted)
    assert (answer.code, "no 'labels'" in answer.err, "OOD (refined)" in answer.out) == (0, True, False)
    cases: dict[str, dict[str, Any]] = {
        "different numbers of images": {"m0": arrays["m0"][:5]},
        "one class index per image": {"m0": arrays["m0"] * 0.5},
        "not an .npz file of plain arrays": {"m0": np.array([{}] * 3000, dtype=object)},
    }
    for message, change in cases.items():
        np.savez(bare, **arrays | change)
        answer = unseen("shifts", "agreement", bare, shifted)
        assert (answer.code, message in answer.err) == (2, True), answer.err
    np.savez(bare, **arrays | {"m9": arrays["m0"]})
    answer = unseen("shifts", "agreement", bare, shifted)
    assert (answer.code, "on only one test set: m9" in answer.err) == (0, True)
    assert "6 models, 15 pairs" in answer.out
    np.savez(bare, other=arrays["m0"])
    answer = unseen("shifts", "agreement", bare, shifted)
    assert (answer.code, "no model in common" in answer.err) == (2, True)
    bare.write_bytes(b"PK not a zip")
    assert unseen("shifts", "agreement", bare, shifted).code == 2
    assert unseen("shifts", "agreement", tmp_path / "none.npz", shifted).code == 2
