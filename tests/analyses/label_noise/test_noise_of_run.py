"""The search of a run for missing labels: what it looks at, and what it refuses."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from studies import run_of, study_of
from unseen.analyses.label_noise.of_run import inspect_run
from unseen.errors import UserError
from unseen.studies.study import Study

LEVELS = {"l1": ["n02121808", "n02124623", "n02125081"], "l2": ["n03930630", "n04037443", "n04285008"]}
EACH = 4


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Features and a run of two levels; the first concept of l2 looks like the second of l1."""
    folder = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(0)
    centres = {name: 4 * np.eye(8)[place] for place, name in enumerate([*LEVELS["l1"], *LEVELS["l2"]])}
    centres["n03930630"] = centres["n02124623"]
    lines = ["level,rank,wnid,name"]
    for level, names in LEVELS.items():
        (folder / "features" / level).mkdir(parents=True)
        for split, each in (("train", 20), ("test", EACH)):
            y = np.arange(3).repeat(each)
            X = np.array([centres[names[label]] for label in y]) + 0.1 * rng.standard_normal((len(y), 8))
            place = folder / "features" / level / f"{split}.npz"
            np.savez(place, X=X.astype(np.float32), y=y, classes=np.array(names))
        lines += [f"{level[1]},{rank},{name},{name}" for rank, name in enumerate(names)]
    (folder / "levels.csv").write_text("\n".join(lines))
    run_of(small_study(folder), folder / "run", features=folder / "features")
    return folder


def small_study(folder: Path) -> Study:
    quick = {"protocol": "cog-v2-short"}
    return study_of(
        "cog-v2", levels=str(folder / "levels.csv"), datasets=["l1", "l2"], shots=[1, "all"], seeds=1, logistic=quick
    )


def test_a_higher_threshold_lists_fewer(study: Path) -> None:
    found = [
        inspect_run(study / "run", features=study / "features", threshold=threshold) for threshold in (0, 0.8, 0.999999)
    ]
    counts = [len(each.inspection.table) for each in found]
    assert counts[0] == 2 * 3 * EACH  # every image has a prediction
    assert counts[0] > counts[1] > counts[2]
    assert found[0].names["n02124623"] == "wildcat"
    assert found[0].sources == {}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.0}, "threshold must be a probability"),
        ({"datasets": ["l1"]}, "two domains with regressions .*there is l1"),
        ({"datasets": ["l1", "l22"]}, "not 'l22'; did you mean l2"),
        ({"seed": 3}, r"\(seed 3\); there are none"),
        ({"backbone": "resnet"}, "it has yours"),
        ({"features": None}, "give the folder of the features"),
    ],
)
def test_mistakes_are_named(options: dict[str, object], message: str, study: Path) -> None:
    with pytest.raises(UserError, match=message):
        inspect_run(study / "run", **{"features": study / "features"} | options)  # type: ignore[arg-type]


def test_other_features_than_the_runs_are_refused(study: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not the folder of a run"):
        inspect_run(tmp_path)
    changed = Path(shutil.copytree(study / "features", tmp_path / "changed"))
    shutil.copy(changed / "l1" / "test.npz", changed / "l1" / "train.npz")
    with pytest.raises(UserError, match="other training features"):
        inspect_run(study / "run", features=changed)


def test_validation_features_train_the_classifier_too(study: Path, tmp_path: Path) -> None:
    """The classifiers are those that were scored: on training and validation features together."""
    folder = Path(shutil.copytree(study, tmp_path / "study"))
    for level in LEVELS:
        with np.load(folder / "features" / level / "train.npz") as file:
            np.savez(folder / "features" / level / "val.npz", X=file["X"] + 1.0, y=file["y"], classes=file["classes"])
    run_of(small_study(folder), folder / "joined", features=folder / "features")
    whole, without = (
        inspect_run(folder / run, features=place / "features", threshold=0).inspection.table
        for run, place in (("joined", folder), ("run", study))
    )
    assert len(whole) == len(without)
    assert not np.allclose(np.sort(whole["confidence"]), np.sort(without["confidence"]), atol=1e-3)
    with pytest.raises(UserError, match="other validation features"):
        inspect_run(folder / "joined", features=study / "features")
