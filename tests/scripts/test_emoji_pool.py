"""The emoji study: its concepts, its pictures, its classifier, its command, and the table that it gave."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from emoji_pool.classifier import Recipe, augment, train_classifier
from emoji_pool.concepts import CLASSES, FOLDS, class_mapping, classified, folds, named_synsets
from emoji_pool.glyphs import SETS, SIDE, Pictures, all_sets, read_icons, render, stored_pictures, svg
from emoji_pool.pool import DRAWINGS, GREY, ID_SETS, OOD_SETS, RESULTS, emoji_folds, emoji_models
from emoji_pool.train_pool import main
from unseen.data.concepts.drawing_levels import drawings
from unseen.data.concepts.drawings import concepts
from unseen.errors import UserError
from unseen.files import read_table
from unseen.ontology.wordnet import wordnet
from unseen.studies.shifts.model_pool import FoldTraining, Labelled, Setup

Floats = NDArray[np.float64]

SQUARE = {
    "prefix": "tiny",
    "width": 36,
    "height": 36,
    "icons": {
        "red": {"body": '<path fill="#f00" d="M0 0h36v36H0z"/>'},
        "ink": {"body": '<path fill="currentColor" d="M0 0h36v36H0z"/>'},
        "tall": {"body": '<path fill="#00f" d="M0 0h16v32H0z"/>', "width": 16, "height": 32},
        "moved": {"body": "", "left": -2, "top": 4},
    },
    "aliases": {"rouge": {"parent": "red"}},
}


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Packages in the layout of npm, each with the same small set."""
    for name in all_sets():
        folder = tmp_path / "@iconify-json" / name
        folder.mkdir(parents=True)
        (folder / "icons.json").write_text(json.dumps(SQUARE))
    monkeypatch.setenv("UNSEEN_NPM", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="module")
def pictures() -> dict[str, Pictures]:
    """For every concept a picture of one grey level, its number, and another tint in every set."""
    levels = np.arange(len(classified()), dtype=np.uint8)
    grey = np.broadcast_to(levels[:, None, None, None], (len(levels), SIDE, SIDE, 3))
    return {name: grey + np.array([0, 0, 10 * tint], dtype=np.uint8) for tint, name in enumerate(all_sets())}


def test_every_concept_is_a_sense_of_its_name() -> None:
    net = wordnet()
    assert len(named_synsets()) == 342
    for name, synset in named_synsets().items():
        senses = {found.wnid for found in net.find(name.replace("-", " "))}
        assert senses
        assert not synset or net.wnid(synset) in senses
    assert sum(not synset for synset in named_synsets().values()) == 2


def test_classes_are_disjoint_and_have_enough_concepts() -> None:
    net = wordnet()
    counts = Counter(classified().values())
    assert set(counts) == set(range(len(CLASSES)))
    assert len(CLASSES) == 15
    assert min(counts.values()) >= 6
    (statue,) = class_mapping().ambiguous
    assert net.synset(statue).name == "statue_of_liberty.n.01"
    names = list(CLASSES)
    for name, kind in {"tiger": "mammal", "octopus": "other animal", "tram": "road and rail", "pear": "food"}.items():
        assert names[classified()[name]] == kind


def test_each_fold_has_its_part_of_every_class() -> None:
    for number in range(len(CLASSES)):
        counts = Counter(folds()[name] for name, of in classified().items() if of == number)
        assert set(counts) == set(range(FOLDS))
        assert max(counts.values()) - min(counts.values()) <= 1


def test_no_family_both_trains_and_tests_a_shift() -> None:
    family = {name: hand for hand, sets in SETS.items() for name in sets}
    trained = {family[name] for sets in ID_SETS.values() for name in sets}
    tested = {family[name] for sets in OOD_SETS.values() for name in sets}
    assert len(trained) == 2
    assert not trained & tested


def test_concepts_that_test_do_not_train(pictures: dict[str, Pictures]) -> None:
    made = emoji_folds(pictures)
    tested = Counter[int]()
    for fold in made:
        train = {int(image[0, 0, 0]) for part in fold.training for image in part.images}
        test = {int(image[0, 0, 0]) for image in fold.tests["ood_twemoji"].images}
        assert not train & test
        assert train | test == set(range(len(classified())))
        tested.update(test)
        labels = list(classified().values())
        for name in (*ID_SETS, *OOD_SETS):
            for image, label in zip(fold.tests[name].images, fold.tests[name].labels, strict=True):
                assert labels[image[0, 0, 0]] == label
    assert set(tested.values()) == {1}


def test_drawings_are_of_the_concepts_held_out_as_ink_on_paper(pictures: dict[str, Pictures]) -> None:
    net = wordnet()
    first = emoji_folds(pictures)[0].tests[DRAWINGS]
    ids = {name: net.wnid(named_synsets()[name]) for name, fold in folds().items() if fold == 0}
    shared = [name for name, wnid in ids.items() if wnid in concepts()]
    assert len(first) == 20 * len(shared)
    original, _ = drawings([ids[shared[0]]], "test")
    assert np.array_equal(255 - first.images[:20, 2:-2, 2:-2, 1], original)
    assert first.images[:, 0].min() == 255
    assert set(first.labels[:20].tolist()) == {classified()[shared[0]]}


def test_drawings_have_the_box_of_their_set_or_their_own() -> None:
    assert 'viewBox="0 0 36 36"' in svg(SQUARE, "red")
    assert 'viewBox="-8 0 32 32"' in svg(SQUARE, "tall")
    assert 'viewBox="-2 4 36 36"' in svg(SQUARE, "moved")


def test_rendering() -> None:
    pytest.importorskip("resvg_py")
    assert (render(svg(SQUARE, "red")) == [255, 0, 0]).all()
    assert (render(svg(SQUARE, "ink")) == 0).all()
    tall = render(svg(SQUARE, "tall"))
    assert (tall[:, 8:24] == [0, 0, 255]).all()
    assert (tall[:, :8] == 255).all()
    assert (tall[:, 24:] == 255).all()


def test_packages_are_found_where_npm_puts_them(packages: Path) -> None:
    assert set(read_icons("noto")["icons"]) == {"red", "ink", "tall", "moved"}
    (packages / "@iconify-json/noto/icons.json").write_text("{")
    with pytest.raises(UserError, match="noto/icons.json: not JSON"):
        read_icons("noto")
    with pytest.raises(UserError, match="run npm install @iconify-json/no-such-set"):
        read_icons("no-such-set")


def test_a_set_without_a_concept_is_named(packages: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="fluent-emoji has no drawing tiger"):
        stored_pictures(tmp_path / "pictures.npz", ["tiger"])
    assert not (tmp_path / "pictures.npz").exists()


def test_a_file_of_other_pictures_is_refused(tmp_path: Path, pictures: dict[str, Pictures]) -> None:
    path = tmp_path / "pictures.npz"
    np.savez_compressed(path, names=np.array(list(classified())), **pictures)
    assert stored_pictures(path, list(classified()))["noto"].shape == (247, SIDE, SIDE, 3)
    with pytest.raises(UserError, match="other concepts"):
        stored_pictures(path, ["tiger"])
    path.write_bytes(b"damaged")
    with pytest.raises(UserError, match="not a file of pictures"):
        stored_pictures(path, ["tiger"])


def job(recipe: Recipe, seed: int = 0) -> FoldTraining:
    return FoldTraining("shi-2023", "", Setup("narrow", 1.0, 1.0, recipe, seed), 0)


def blocks(count: int, seed: int) -> Labelled:
    """A dark square high or low in the picture: two classes, told apart by place alone."""
    rng = np.random.default_rng(seed)
    images = rng.integers(230, 256, (count, SIDE, SIDE, 3), dtype=np.uint8)
    labels = np.arange(count) % 2
    for image, label in zip(images, labels, strict=True):
        image[3:13] = 40 if label == 0 else image[3:13]
        image[19:29] = 40 if label == 1 else image[19:29]
    return Labelled(images, labels)


def test_the_classifier_learns_and_the_seed_decides_it() -> None:
    recipe = Recipe(2, steps=20, rotation=0)
    train, test = blocks(40, 0), blocks(40, 1)
    predict, again = train_classifier(train, job(recipe)), train_classifier(train, job(recipe))
    assert (predict(test.images) == test.labels).mean() > 0.9
    noise = np.random.default_rng(2).integers(0, 256, (60, SIDE, SIDE, 3), dtype=np.uint8)
    assert np.array_equal(predict(noise), again(noise))


def test_augmentation_leaves_paper_white_and_can_take_the_colour() -> None:
    import torch

    torch.manual_seed(0)
    paper = torch.zeros(4, 3, SIDE, SIDE)
    assert not augment(paper, Recipe(2)).any()
    coloured = torch.rand(4, 3, SIDE, SIDE) - 1
    grey = augment(coloured, Recipe(2, jitter=0, grey=1))
    assert torch.allclose(grey[:, 0], grey[:, 2])
    assert not torch.allclose(*augment(coloured, Recipe(2, jitter=0))[:, :2].unbind(1))


def test_the_command_trains_what_is_missing(
    tmp_path: Path, pictures: dict[str, Pictures], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez_compressed(tmp_path / "pictures.npz", names=np.array(list(classified())), **pictures)

    def run(only: str) -> list[str]:
        monkeypatch.setattr("sys.argv", ["train_pool", str(tmp_path), "--steps", "1", "--only", only])
        main()
        return capsys.readouterr().out.splitlines()

    assert len(run("narrow λ=1 5%")) == FOLDS + 1
    assert len(run("narrow λ=1 5%")) == 1  # all is there
    assert len(run("λ=1 5%")) == FOLDS + 1  # the wide network is new
    rows = [row for _, row in read_table(tmp_path / "emoji_pool.csv", ["model", "group", DRAWINGS])]
    assert [row["model"] for row in rows] == ["narrow λ=1 5%", "wide λ=1 5%"]


def test_the_committed_table_is_of_the_planned_pool() -> None:
    columns = ["model", "group", "network", "ratio", "lambda", "images", *ID_SETS, *OOD_SETS, DRAWINGS]
    rows = [row for _, row in read_table(RESULTS, columns)]
    assert list(rows[0]) == columns
    assert [(row["model"], row["group"]) for row in rows] == [(model.name, model.group) for model in emoji_models()]
    assert Counter(row["group"] for row in rows) == {"noto": 14, "fluent-ink": 14, "both": 21, GREY: 4}
    for row in rows:
        for name, size in {"id_noto": 494, "id_fluent_ink": 247, "ood_twemoji": 247}.items():
            right = float(row[name]) * size
            assert right == pytest.approx(round(right), abs=0.01)


def logits(rows: list[dict[str, str]], name: str) -> Floats:
    share = np.array([float(row[name]) for row in rows])
    return np.log(share / (1 - share))


def test_the_figures_of_the_page_are_those_of_the_table() -> None:
    """Every fit of docs/model-pools.md again, by NumPy's least squares alone."""
    rows = [row for _, row in read_table(RESULTS, ["group"])]
    inside = np.array([row["group"] != GREY for row in rows])
    page = (Path(__file__).parents[2] / "docs" / "model-pools.md").read_text().splitlines()
    printed = [line.split("|")[1:-1] for line in page if line.startswith("| `ood_") and line.count("|") == 11]
    assert len(printed) == 5
    for name, *figures in printed:
        y = logits(rows, name.strip(" `"))
        for place, ids in enumerate((["id_noto"], ["id_fluent_ink"], ["id_noto", "id_fluent_ink"])):
            x = np.column_stack([*(logits(rows, found) for found in ids), np.ones(len(rows))])
            r2, mae, left_out = figures_of(x[inside], y[inside])
            shown = [float(figure) for figure in figures[3 * place : 3 * place + 3]]
            assert shown == pytest.approx([r2, mae, left_out], abs=0.0051)


def figures_of(x: Floats, y: Floats) -> tuple[float, float, float]:
    """R² on logits, mean absolute error and leave-one-out error in points."""

    def predicted(fitted: NDArray[np.bool_]) -> Floats:
        return x @ np.linalg.lstsq(x[fitted], y[fitted], rcond=None)[0]

    def points(z: Floats) -> Floats:
        return 100 / (1 + np.exp(-z))

    everyone = np.ones(len(y), dtype=bool)
    whole = predicted(everyone)
    others = ~np.eye(len(y), dtype=bool)
    left_out = np.array([predicted(rest)[i] for i, rest in enumerate(others)])
    r2 = 1 - ((y - whole) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    return r2, float(np.abs(points(y) - points(whole)).mean()), float(np.abs(points(y) - points(left_out)).mean())
