"""How alike the backbones of a run are, from a run of two small networks to its pages; and the probe `spectrum`."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from studies import run_of, study_of
from unseen.analyses.feature_similarity import FILE, feature_similarity, same_rows
from unseen.api.run import Run
from unseen.errors import UserError
from unseen.features.features import Features
from unseen.features.readers import read_features
from unseen.metrics.similarity import similarities
from unseen.metrics.spectrum import eigenvalues, rankme
from unseen.report.core.export import page_figures
from unseen.report.core.render import page_html
from unseen.report.of_runs import report_on
from unseen.runs.record import read_results, read_run
from unseen.studies.stored_features import Splits, find_features

NETS = ("demo:untrained", "demo:supervised", "demo:simclr")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three networks on 60 training and 48 test images, by two probes."""
    folder, rng = tmp_path_factory.mktemp("finished"), np.random.default_rng(0)
    for split, count in (("train", 30), ("test", 24)):
        for label in ("a", "b"):
            (folder / f"data/{split}/{label}").mkdir(parents=True)
            for number in range(count):
                pixels = rng.integers(0, 200, (12, 12, 3), dtype=np.uint8) + 40 * (label == "a")
                Image.fromarray(pixels.astype(np.uint8)).save(folder / f"data/{split}/{label}/{number}.png")
    study = study_of(datasets=[str(folder / "data")], probes=["knn", "spectrum"], backbone={"size": 12})
    run_of(study, folder / "run", NETS)
    return folder / "run"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


def test_values_are_those_of_the_stores(run: Path) -> None:
    table = Run(run).feature_similarity()
    parts = [
        read_features(find_features(run / "features", "data", Splits(("test",)), [net])[net]["test"].path)
        for net in NETS
    ]
    orders = [np.argsort(np.array(part.ids)) for part in parts]
    found = similarities([np.asarray(part.X[:])[order] for part, order in zip(parts, orders, strict=True)])
    pairs = [(0, 1), (0, 2), (1, 2)]
    assert table[["first", "second"]].values.tolist() == [[NETS[i], NETS[j]] for i, j in pairs]
    assert table["images"].tolist() == [48] * 3
    for name in ("cka", "mutual_knn"):
        expected = getattr(found, name)
        for ending, of in (("", expected.value), ("_level", expected.level), ("_above", expected.above)):
            assert np.allclose(table[f"{name}{ending}"], [of[pair] for pair in pairs], atol=2e-5), (name, ending)


def test_values_are_kept_and_computed_again_only_for_other_features(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (run / FILE).unlink(missing_ok=True)
    first = Run(run).feature_similarity()
    written = (run / FILE).stat().st_mtime_ns

    def never(*_: object, **__: object) -> None:
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr("unseen.analyses.feature_similarity.similarities", never)
        assert Run(run).feature_similarity().equals(first)
        assert (run / FILE).stat().st_mtime_ns == written
        kept = json.loads((run / FILE).read_text())
        (run / FILE).write_text(json.dumps({f"0{key[1:]}": each for key, each in kept.items()}))
        with pytest.raises(AssertionError):
            Run(run).feature_similarity()
    for damage in ("{", "[]", json.dumps({key: {"images": 48} for key in kept})):
        (run / FILE).write_text(damage)
        assert Run(run).feature_similarity().equals(first)
    (run / FILE).unlink()
    (run / FILE).mkdir()  # nothing can be kept
    assert Run(run).feature_similarity().equals(first)


def test_the_page_shows_the_matrix_and_spectra(run: Path, tmp_path: Path) -> None:
    page = report_on([run]).page
    sections = {section.name: section for section in page.sections}
    assert [*sections][-1] == "provenance"
    table = sections["similarity"].tables[0]
    assert len(table.rows) == 3
    figures = page_figures(page)
    drawn = next(figure for name, figure in figures.items() if name.startswith("similarity"))
    cells = np.array(drawn.cells)
    values = Run(run).feature_similarity()
    assert cells[0, 1] == pytest.approx(values["cka"][0], abs=1e-3)
    assert cells[1, 0] == pytest.approx(values["mutual_knn"][0], abs=1e-3)
    drawn.save(tmp_path / "matrix.svg")
    assert NETS[2] in (tmp_path / "matrix.svg").read_text()
    spectra = sections["spectrum"].tables[0]
    assert {row.cells[0].text for row in spectra.rows} == {*NETS}
    assert {row.cells[2].values for row in spectra.rows} == {(60, 60)}
    assert 'data-figure="similarity-0"' in page_html(page)


def test_runs_without_their_features_say_so(run: Path) -> None:
    shutil.rmtree(run / "features")
    found = feature_similarity(read_run(run))
    assert (found.every, len(found.left_out)) == ((), 1)
    [section] = [section for section in report_on([run]).page.sections if section.name == "similarity"]
    assert (section.figures, section.tables) == ((), ())
    with pytest.raises(UserError):
        Run(run).feature_similarity()


def test_one_backbone_is_not_compared(finished: Path, tmp_path: Path) -> None:
    study = study_of(datasets=[str(finished.parent / "data")], probes=["knn"], backbone={"size": 12})
    run_of(study, tmp_path, NETS[:1])
    assert feature_similarity(read_run(tmp_path)).every == ()
    assert not (tmp_path / FILE).exists()
    assert all(section.name != "similarity" for section in report_on([tmp_path]).page.sections)


def features(ids: list[str], y: list[int] | None = None) -> Features:
    return Features(np.zeros((len(ids), 2)), np.array(y or [0] * len(ids)), ("a",), ids=ids)


def test_images_are_matched_by_name() -> None:
    names = [f"{number:03d}" for number in range(60)]
    rows, of = same_rows([features(names), features([*names[:0:-1], "other"])], most=50)
    assert (of, len(rows[0])) == (59, 50)
    assert [names[row] for row in rows[0]] == [[*names[:0:-1], "other"][row] for row in rows[1]]
    again, _ = same_rows([features([*names[::-1]]), features(names)], most=50)
    assert {names[::-1][row] for row in again[0]} == {names[row] for row in again[1]}
    with pytest.raises(UserError):
        same_rows([features(names), features([f"x{name}" for name in names])])
    unnamed = Features(np.zeros((60, 2)), np.arange(60) % 2, ("a", "b"))
    assert same_rows([unnamed, unnamed])[1] == 60
    with pytest.raises(UserError):
        same_rows([unnamed, Features(np.zeros((60, 2)), np.zeros(60, int), ("a", "b"))])


def test_spectra_in_a_run_say_how_many_images(run: Path) -> None:
    data = read_run(run)
    [first, *_] = [result for result in read_results(run) if result.job["probe"] == "spectrum"]
    place = find_features(run / "features", "data", Splits(("train", "val", "test")), [first.job["backbone"]])
    parts = place[first.job["backbone"]]
    X = np.concatenate([np.asarray(read_features(parts[split].path).X[:]) for split in ("train", "val")])
    assert first.details | {"duplicates": 0} == {
        "samples": 60, "of": 60, "features": "train", "dimensions": 256, "duplicates": 0,
        "alpha_indices": [11, 59], "left_out": [],
    }  # fmt: skip
    values = dict(first.fits[0].values)
    assert values["rankme"] == pytest.approx(rankme(eigenvalues(torch.from_numpy(X), centred=False)))
    assert first.fits[0].interval is None
    codes = {each.code: dict(each.arguments) for each in data.told}
    assert codes["few-for-spectrum"]["images"] == 60
    assert "label-free" in codes


def test_no_backbone_is_ranked_by_what_has_no_direction(run: Path) -> None:
    from unseen.analyses.core.rankings import rankings
    from unseen.runs.tables import score_table, summarise, with_comparisons

    data = read_run(run)
    assert {ranking.probe for ranking in rankings(data)} == {"knn-20"}
    table = with_comparisons(summarise(score_table(data.scores)), seen=None)
    assert table[table["probe"] == "spectrum"]["rank"].isna().all()
    assert table[table["metric"] == "top1"]["rank"].notna().all()
    assert Run(run).compare(*NETS[:2])["probe"].tolist() == ["knn-20"]
