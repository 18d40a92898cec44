"""The pool of emoji and drawings: its classes, its pictures, its training, and the study that is written of it."""

import json
import tomllib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from emoji_shift import train_pool, write_study
from emoji_shift.analyse import FIT_ON, captions, predictors, subsets
from emoji_shift.concepts import FAMILIES, NEEDED, classes, names_of, pictured
from emoji_shift.pictures import SENTENCES, stored_arrays
from emoji_shift.setups import SHARES, setups
from emoji_shift.ship import ID_SETS, OOD_SETS, PREDICTIONS, TABLE
from emoji_shift.training import Pictures, Sampler
from unseen.analyses.robustness.fits import ShiftSettings, study_shifts
from unseen.analyses.robustness.group_effects import group_effects
from unseen.analyses.robustness.groups import AVERAGE
from unseen.analyses.robustness.subset_keys import SubsetKeys
from unseen.analyses.robustness.table import read_accuracies, shift_table
from unseen.studies.shifts.plans import load_model, read_plans

NAMES = ("cat", "cat-face", "dog", "penguin", "honeybee")
CATEGORIES = {"cat", "dog", "penguin", "bee"}
SETS = ("id_emoji", "id_drawings", "ood_flat", "ood_outlined", "ood_ink", "ood_icons", "ood_chalk")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Packages in the layout of npm, each with the same five squares of other colours."""
    for place, name in enumerate(package for family in FAMILIES.values() for package in family):
        folder = tmp_path / "npm/@iconify-json" / name
        folder.mkdir(parents=True)
        icons = {
            each: {"body": f'<path fill="#{30 * number:02x}{9 * place:02x}80" d="M2 2h12v12H2z"/>'}
            for number, each in enumerate(NAMES)
        }
        if name in FAMILIES["icons"]:
            icons["bee"] = icons.pop("honeybee")
        (folder / "icons.json").write_text(json.dumps({"icons": icons}))
    keywords = tmp_path / "npm/emojibase-data/en/data.json"
    keywords.parent.mkdir(parents=True)
    keywords.write_text(json.dumps([{"label": "cat face", "tags": ["pet", "whiskers"]}, {"label": "dog"}]))
    monkeypatch.setenv("UNSEEN_NPM", str(tmp_path / "npm"))
    for cached in (classes, pictured):
        cached.cache_clear()
    yield tmp_path
    for cached in (classes, pictured):
        cached.cache_clear()


@pytest.fixture
def arrays(packages: Path) -> train_pool.Arrays:
    return stored_arrays(packages / "pictures.npz")


def test_names_of_emoji() -> None:
    assert names_of("hot dog")[:2] == ("hot-dog", "hot-dog-face")
    assert "red-apple" in names_of("apple")


def test_classes_have_a_picture_in_every_test_set(packages: Path, arrays: train_pool.Arrays) -> None:
    assert set(classes().values()) == CATEGORIES
    assert pictured("noto")["cat"] == ("cat", "cat-face")
    for name in SETS:
        assert set(arrays[f"{name}_label"].tolist()) == {0, 1, 2, 3}
        assert arrays[name].shape[1:] == (32, 32, 3)
    icons = packages / "npm/@iconify-json" / NEEDED[2] / "icons.json"
    icons.write_text(json.dumps({"icons": {name: {"body": ""} for name in NAMES if name != "dog"}}))
    classes.cache_clear()
    pictured.cache_clear()
    assert set(classes().values()) == CATEGORIES - {"dog"}


def test_no_picture_trains_and_tests(arrays: train_pool.Arrays) -> None:
    held_out = {picture.tobytes() for picture in arrays["id_emoji"]}
    assert len(held_out) == len(arrays["id_emoji"])  # every square has a colour of its own
    assert not held_out & {picture.tobytes() for picture in arrays["train_emoji"]}
    assert len(arrays["id_emoji"]) + len(arrays["train_emoji"]) == 6 * len(NAMES)


def test_captions_are_names_and_keywords(arrays: train_pool.Arrays) -> None:
    words = ["", *arrays["words"].tolist()]
    said = {" ".join(words[number] for number in text if number) for text in arrays["emoji_texts"].reshape(-1, 10)}
    assert {"cat face", "cat face emoji", "pet whiskers", "honeybee"} <= said
    asked = arrays["class_texts"][list(classes().values()).index("bee")]
    assert " ".join(words[number] for number in asked[1] if number) == SENTENCES[1].format("bee")


def test_models_have_names_and_groups_of_their_own() -> None:
    every = setups()
    assert len(every) == 116
    assert len({setup.name for setup in every}) == 116
    assert len({setup.group for setup in every}) == 11
    assert {setup.data for setup in every} == set(SHARES)


def test_smaller_ratios_are_parts_of_larger_ones(arrays: train_pool.Arrays) -> None:
    data = Pictures.of(arrays, "cpu")
    noto = [setup for setup in setups() if (setup.group, setup.network) == ("noto", "conv16")]
    rows = [set(Sampler.of(data, setup).emoji.tolist()) for setup in sorted(noto, key=lambda each: each.ratio)]
    assert all(one < other for one, other in pairwise(rows))
    assert rows[-1] == set(np.flatnonzero(arrays["train_emoji_family"] == 0).tolist())


def test_batches_are_mixed(arrays: train_pool.Arrays) -> None:
    data = Pictures.of(arrays, "cpu")
    mixed = next(setup for setup in setups() if setup.data == "mixed-25" and not setup.captions)
    images, labels, texts = Sampler.of(data, mixed)()
    assert images.shape == (256, 3, 32, 32)
    assert labels.shape == (256,)
    assert texts.shape == (256, 10)
    said = [
        {tuple(text) for text in arrays[name].reshape(-1, 10).tolist()} for name in ("emoji_texts", "drawing_texts")
    ]
    assert {tuple(text) for text in texts[:64].tolist()} <= said[0]
    assert {tuple(text) for text in texts[64:].tolist()} <= said[1]


@pytest.mark.long_suite
def test_the_study_runs_what_was_trained(
    packages: Path, arrays: train_pool.Arrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    train_pool._begin(packages / "pictures.npz", "cpu", np.inf)
    chosen = [setup for setup in setups() if (setup.network, setup.ratio) == ("conv16", 1) and setup.data == "emoji"]
    made = [train_pool._train((number, setup, 0.002, False)) for number, setup in enumerate(chosen)]
    train_pool.write_pool(packages / "pool", {setup.name: found for setup, found, _ in made})
    command = ["write", str(packages / "pictures.npz"), str(packages / "pool"), "--out", str(packages / "study")]
    monkeypatch.setattr("sys.argv", command)
    write_study.main()
    monkeypatch.chdir(packages / "study")
    plans = read_plans(Path("models.csv"), allow_code=True)
    assert {plan.group for plan in plans} == {"emoji", "emoji-captions", "emoji-grey"}
    by_name = {setup.name: found for setup, found, _ in made}
    pictures = torch.from_numpy(arrays["ood_icons"]).permute(0, 3, 1, 2).float() / 255 - 1
    for plan in plans:
        model = load_model(plan, "cpu")
        assert (model.spec.transform.size, model.spec.transform.mean) == (32, (1.0, 1.0, 1.0))
        with torch.inference_mode():
            logits = model.module(pictures)
        assert logits.argmax(dim=1).tolist() == by_name[plan.model]["predicted/ood_icons"].tolist()


def test_the_table_is_that_of_the_predictions() -> None:
    rows = pd.read_csv(TABLE).set_index("model")
    assert len(rows) == 116
    assert rows["group"].to_dict() == {setup.name: setup.group for setup in setups()}
    with np.load(PREDICTIONS, allow_pickle=False) as stored:
        for name in SETS:
            right = (stored[name] == stored[f"{name}_label"]).mean(axis=1)
            accuracy = rows.loc[stored["models"].tolist(), name].to_numpy()
            np.testing.assert_allclose(accuracy, right, atol=5.1e-7)


def test_the_study_file_has_the_columns_of_the_table() -> None:
    study = tomllib.loads(write_study.STUDY.read_text())
    assert [*study["datasets"]] == [*SETS]
    assert {name for name, facts in study["data"].items() if facts.get("shifted") is False} == set(ID_SETS)


def rows_of(page: str, first: str) -> dict[str, list[str]]:
    """The rows of the table of a page whose head starts with a word: cells by the first one, without marks."""
    lines = page.partition(f"| {first} |")[2].partition("\n\n")[0].splitlines()[2:]
    plain = str.maketrans({"−": "-", "*": "", "`": ""})
    cells = [[cell.strip() for cell in line.translate(plain).strip("|").split("|")] for line in lines]
    return {name: rest for name, *rest in cells}


def test_tables_of_the_page_are_those_of_the_shipped_table() -> None:
    """Fits with their errors on held-out groups, and effects of groups with their intervals."""
    page = (Path(__file__).parents[2] / "docs/worked-shift-study.md").read_text()
    table = shift_table(read_accuracies(TABLE), ID_SETS, OOD_SETS, group="group", unit="fraction", fit_on=FIT_ON)
    study = study_shifts(table, ShiftSettings(resamples=20))
    choices = [(ID_SETS[0],), (ID_SETS[1],), tuple(ID_SETS)]
    told = rows_of(page, "OOD")
    assert {*told} == {*OOD_SETS}
    for fit in study.fits:
        for ids, cell in zip(choices, told[fit.ood], strict=True):
            [found] = [each for each in fit.by_group if each.fit.names == ids]
            assert cell == f"{found.fit.r2:.2f}, {found.held_out:.1f}"
    effects = {(each.group, each.id_sets): each for each in group_effects(study) if each.ood == AVERAGE}
    told = rows_of(page, "group | emoji alone")
    assert {*told} == {group for group, _ in effects}
    for group, cells in told.items():
        own = [effects[group, ids] for ids in choices]
        ends = own[2].effect.interval()
        values = [f"{each.effect.value:+.1f}" for each in own]
        values[2] += f" ({ends.low:+.1f} to {ends.high:+.1f})"
        assert cells == [*values, f"{own[2].smallest:.1f}"]
        assert page.count(f"`{group}` | **{values[0].replace('-', '−')}**") == own[0].resolved


@pytest.mark.long_suite
def test_statements_of_the_page_hold() -> None:
    with np.load(PREDICTIONS, allow_pickle=False) as stored:
        arrays = dict(stored)
    scores = {score.candidate.name: score for score in predictors(TABLE, arrays).overall}
    best = scores["agreement (refined) + severity_drawings_information"]
    assert best.error.value == pytest.approx(1.53, abs=0.01)
    assert best.difference is not None
    assert best.difference.interval().high == pytest.approx(-2.06, abs=0.01)
    assert best.p_holm is not None
    assert best.p_holm < 0.01
    assert scores["id_emoji + id_drawings"].error.value == pytest.approx(2.46, abs=0.01)
    found = subsets(TABLE, arrays, SubsetKeys(permutations=19))
    assert len(found.found) == 9
    assert not any(each.negative for each in found.found)
    assert "+1.45 points" in captions(TABLE)
