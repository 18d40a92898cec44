"""Features of the user's own classes with the file that describes these classes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import unseen
from studies import plan_of, run_of, study_of
from unseen.errors import UserError
from unseen.runs.data import RunData
from unseen.runs.setup import LevelsUsed, ProtocolUsed, Setup, SplitsUsed, differences
from unseen.studies.concepts.levels import choose_levels
from unseen.studies.plan import plan_of_run
from unseen.studies.study import Study
from unseen.studies.toml import find_study

CLASSES = ("giraffe", "zebra", "hippopotamus", "kangaroo", "pizza", "sandwich", "saxophone", "violin")
FILE = 'seen = ["giraffe", "zebra"]\n[domains]\nfood = ["pizza", "sandwich"]\nmusic = ["saxophone", "violin"]\n'


def write(folder: Path, classes: Sequence[str] = CLASSES, *, labels: Sequence[str] | None = None) -> Path:
    """Features of some classes, with an axis for each class, as `train` and `test`."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (split, rows) in enumerate((("train", 12), ("test", 5))):
        y = np.repeat(np.arange(len(classes)), rows)
        place = [CLASSES.index(name) for name in np.array(classes)[y]]
        X = np.eye(len(CLASSES))[place] + 0.4 * np.random.default_rng(number).normal(size=(len(y), len(CLASSES)))
        np.savez(folder / f"{split}.npz", X=X, y=np.array(labels or classes)[y])
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "mine.toml").write_text(FILE)
    write(tmp_path / "all")
    for domain, classes in (("seen", CLASSES[:2]), ("food", CLASSES[4:6]), ("music", CLASSES[6:])):
        write(tmp_path / "grouped" / domain, classes)
    return tmp_path


def quick_study(levels: Path, **keys: Any) -> Study:
    """All samples and one seed."""
    quick = {"shots": ["all"], "seeds": 1, "logistic": {"protocol": "cog-v2-short"}}
    return study_of("cog-v2", levels=str(levels), **quick, **keys)


def values(run: RunData) -> dict[str, float]:
    return {score.domain: score.value for score in run.scores if score.metric == "top1"}


def test_features_are_found_by_the_names_of_their_classes(place: Path) -> None:
    run = run_of(quick_study(place / "mine.toml"), place / "run", features=place / "all")
    assert [domain.name for domain in run.domains] == ["seen", "food", "music"]
    assert list(run.domains[1].concepts) == ["pizza", "sandwich"]
    # The rows of the classes of each domain, and no others.
    scored = {each.domain: (each.classes, dict(each.images)) for each in run.scored}
    assert scored == dict.fromkeys(("seen", "food", "music"), (2, {"train": 24, "test": 10}))
    with np.load(place / "all/test.npz") as file:
        X, y = file["X"], file["y"]
    with np.load(place / "all/train.npz") as file:
        chosen = [np.isin(labels, CLASSES[4:6]) for labels in (file["y"], y)]
        direct = unseen.probe(
            file["X"][chosen[0]].astype("float32"), file["y"][chosen[0]], X[chosen[1]].astype("float32"), y[chosen[1]],
            protocol="cog-v2-short", seeds=1, progress=False,
        )  # fmt: skip
    assert values(run)["food"] == direct.summary().query("metric == 'top1'")["mean"].item()


def test_a_folder_for_each_domain_is_taken_as_it_is(place: Path) -> None:
    run = run_of(quick_study(place / "mine.toml"), place / "run", features=place / "grouped")
    assert not (place / "run/features").exists()
    assert {each.name for each in run.domains} == {"seen", "food", "music"}


def test_a_file_that_names_no_others_is_copied_into_the_run(place: Path) -> None:
    run_of(quick_study(place / "mine.toml"), place / "run", features=place / "all")
    kept = find_study(str(place / "run"))
    assert (kept.levels, kept.files.keys()) == (str(place / "run/files/mine.toml"), {kept.levels})
    (place / "mine.toml").unlink()
    assert plan_of(kept, place / "run", features=place / "all").jobs_left == 0
    (place / "run/files/old.csv").touch()
    other = kept.replace(logistic={"protocol": "cog-v2-pruned"})
    run_of(other, place / "run", features=place / "all", replacing=True)  # its levels are in the run itself
    assert [path.name for path in (place / "run/files").iterdir()] == ["mine.toml"]


def test_levels_are_built_from_the_classes_of_the_features(place: Path) -> None:
    (place / "levels.toml").write_text('seen = ["giraffe", "zebra"]\nlevels = 3\ntest = 2\n')
    told = list[str]()
    chosen = choose_levels(place / "levels.toml", features=place / "all", tell=told.append)
    assert {*chosen.domains["l1"]} == {"hippopotamus", "kangaroo"}
    assert sum(map(len, chosen.domains.values())) == 6
    assert "test has no effect" in told[0]
    plan = plan_of(quick_study(place / "levels.toml"), place / "never", features=place / "all")
    assert [part["train"] for part in plan.parts] == [24] * 4
    assert not (place / "never").exists()


@pytest.mark.parametrize(
    ("classes", "labels", "message"),
    [
        (CLASSES[:6], None, "no train features of 2 of 6 concepts .saxophone, violin."),
        (CLASSES, ["violinn" if name == "violin" else name for name in CLASSES], "violin.*did you mean violinn"),
        (CLASSES, [str(number) for number in range(8)], "only numbered"),
    ],
)
def test_what_is_missing_is_named(
    place: Path, classes: Sequence[str], labels: Sequence[str] | None, message: str
) -> None:
    study = quick_study(place / "mine.toml")
    write(place / "other", classes, labels=labels)
    with pytest.raises(UserError, match=message):
        run_of(study, place / "run", features=place / "other")
    (place / "empty").mkdir()
    with pytest.raises(UserError, match="no features in it"):
        run_of(study, place / "run", features=place / "empty")
    with pytest.raises(UserError, match="mine.toml: .*images"):
        run_of(study, place / "run", ["demo:untrained"])
    assert not (place / "run").exists() or not any((place / "run").iterdir())


def test_a_plan_knows_what_was_done(place: Path) -> None:
    study = quick_study(place / "mine.toml")
    assert plan_of(study, place / "run", features=place / "all").jobs_left == 3
    run_of(study, place / "run", features=place / "all")
    plan = plan_of(study, place / "run", features=place / "all")
    assert (plan.jobs, plan.jobs_left, plan_of_run(place / "run").jobs_left) == (3, 0, 0)


@pytest.mark.parametrize("folder", ["all", "grouped/food"])
def test_validation_features_are_joined(place: Path, folder: str) -> None:
    with np.load(place / folder / "train.npz") as file:
        np.savez(place / folder / "val.npz", X=file["X"][::4] + 0.01, y=file["y"][::4])
    run = run_of(quick_study(place / "mine.toml"), place / "run", features=place / folder.partition("/")[0])
    rows = {
        each.domain: sum(each.images[split] for split in ("train", "val") if split in each.images)
        for each in run.scored
    }
    assert rows["food"] == 30
    assert rows["music"] == (30 if folder == "all" else 24)


@pytest.mark.parametrize("folder", ["all", "grouped"])
def test_a_domain_of_one_class_is_refused_by_name(place: Path, folder: str) -> None:
    (place / "one.toml").write_text('seen = ["giraffe", "zebra"]\n[domains]\nfood = ["pizza"]\n')
    write(place / "grouped/food", ["pizza"])
    with pytest.raises(UserError, match="food"):
        run_of(quick_study(place / "one.toml"), place / "run", features=place / folder)
    assert not (place / "run").exists() or not any((place / "run").iterdir())


def test_features_of_other_classes_are_not_taken_for_a_domain(place: Path) -> None:
    write(place / "grouped/food", CLASSES[2:4])
    with pytest.raises(UserError, match="hippopotamus is not a concept of food|food.*hippopotamus"):
        run_of(quick_study(place / "mine.toml"), place / "run", features=place / "grouped")


def test_a_second_backbone_is_added_with_the_levels_of_the_run(place: Path) -> None:
    lines = ["level,rank,wnid,name", *(f"1,{n},{name},{name}" for n, name in enumerate(CLASSES[4:6]))]
    (place / "named-by-me.csv").write_text("\n".join(lines))
    write(place / "first/l1", CLASSES[4:6])
    write(place / "second/l1", CLASSES[4:6], labels=CLASSES[4:6])
    study = quick_study(place / "named-by-me.csv", datasets=["l1"])
    run_of(study, place / "run", ["one"], features=place / "first")
    again = study.replace(levels=str(place / "run/levels.csv"))
    run = run_of(again, place / "run", ["two"], features=place / "second")
    assert [each.name for each in run.backbones] == ["one", "two"]
    assert run.levels is not None
    assert run.levels.name == "named-by-me"
    (place / "other.csv").write_text("\n".join([*lines[:-1], "1,1,violin,violin"]))
    write(place / "third/l1", ["pizza", "violin"])
    other = study.replace(levels=str(place / "other.csv"))
    with pytest.raises(UserError, match="differs in the levels .named-by-me.*other"):
        run_of(other, place / "run", ["three"], features=place / "third")


@pytest.mark.parametrize(
    ("first", "second", "field"),
    [
        (Setup(levels=LevelsUsed("a", "1" * 16)), Setup(levels=LevelsUsed("b", "1" * 16)), ""),
        (Setup(levels=LevelsUsed("a", "1" * 16)), Setup(levels=LevelsUsed("a", "2" * 16)), "levels"),
        (Setup(splits=SplitsUsed(file="a", hash="1")), Setup(splits=SplitsUsed(file="b", hash="1")), ""),
        (Setup(splits=SplitsUsed(file="a", hash="1")), Setup(splits=SplitsUsed(file="a", hash="2")), "splits"),
        (
            Setup(protocols=[ProtocolUsed("p", "own", {"file": "a.py", "code": "1"})]),
            Setup(protocols=[ProtocolUsed("p", "own", {"file": "b.py", "code": "1"})]),
            "",
        ),
        (
            Setup(protocols=[ProtocolUsed("p", "own", {"file": "a.py", "code": "1"})]),
            Setup(protocols=[ProtocolUsed("p", "own", {"file": "a.py", "code": "2"})]),
            "code of the p protocol",
        ),
    ],
)
def test_files_are_compared_by_their_contents(first: Setup, second: Setup, field: str) -> None:
    found = differences(first, second)
    assert len(found) == bool(field)
    assert all(field in each.field for each in found)
