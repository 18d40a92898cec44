"""Features of the user's own classes with the file that describes these classes, from Python and from a command."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import unseen
from unseen.errors import UserError
from unseen.runs.record import read_record
from unseen.runs.setup import LevelsUsed, ProtocolUsed, Setup, SplitsUsed, differences
from unseen.studies.concepts.chosen import choose_levels

CLASSES = ("giraffe", "zebra", "hippopotamus", "kangaroo", "pizza", "sandwich", "saxophone", "violin")
FILE = 'seen = ["giraffe", "zebra"]\n[domains]\nfood = ["pizza", "sandwich"]\nmusic = ["saxophone", "violin"]\n'
QUICK: dict[str, Any] = {"protocol": "cog-v2-short", "shots": "all", "seeds": 1, "progress": False}


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


def values(run: Any) -> pd.Series:
    return run.summary().query("metric == 'top1'").set_index("domain")["mean"]


def test_features_are_found_by_the_names_of_their_classes(place: Path) -> None:
    run = unseen.concepts(features=place / "all", levels=place / "mine.toml", out=place / "run", **QUICK)
    assert [domain.name for domain in run.data.domains] == ["seen", "food", "music"]
    assert list(run.data.domains[1].concepts) == ["pizza", "sandwich"]
    # The rows of the classes of each domain, and no others.
    scored = {each.domain: (each.classes, dict(each.images)) for each in run.data.scored}
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


def test_a_folder_for_each_domain_is_taken_as_it_is(place: Path, unseen: Callable[..., Any]) -> None:
    out = place / "run"
    answer = unseen(
        "concepts", "--features", place / "grouped", "--levels", place / "mine.toml", "--protocol", "cog-v2-short",
        "--shots", "all", "--seeds", 1, "--workers", 1, "--out", out,
    )  # fmt: skip
    assert answer.code == 0, answer.err
    assert not (out / "features").exists()
    assert {each.name for each in read_record(out)[0].domains} == {"seen", "food", "music"}


def test_levels_are_built_from_the_classes_of_the_features(place: Path) -> None:
    (place / "levels.toml").write_text('seen = ["giraffe", "zebra"]\nlevels = 3\ntest = 2\n')
    told = list[str]()
    chosen = choose_levels(place / "levels.toml", features=place / "all", tell=told.append)
    assert {*chosen.domains["l1"]} == {"hippopotamus", "kangaroo"}
    assert sum(map(len, chosen.domains.values())) == 6
    assert "test has no effect" in told[0]
    plan = unseen.concepts(
        features=place / "all", levels=place / "levels.toml", out=place / "never", dry_run=True, **QUICK
    )
    assert [part["training images"] for part in plan.parts] == [24] * 4
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
    write(place / "other", classes, labels=labels)
    with pytest.raises(UserError, match=message):
        unseen.concepts(features=place / "other", levels=place / "mine.toml", out=place / "run", **QUICK)
    assert not (place / "run").exists() or not any((place / "run").iterdir())
    (place / "empty").mkdir()
    with pytest.raises(UserError, match="no features in it"):
        unseen.concepts(features=place / "empty", levels=place / "mine.toml", out=place / "run", **QUICK)
    with pytest.raises(UserError, match=r"images=.*features="):
        unseen.concepts("demo:untrained", levels=place / "mine.toml", out=place / "run", device="cpu", **QUICK)


def test_a_plan_knows_what_was_done(place: Path) -> None:
    common: dict[str, Any] = {"features": place / "all", "levels": place / "mine.toml", "out": place / "run", **QUICK}
    assert unseen.concepts(dry_run=True, **common).jobs_left == 3
    run = unseen.concepts(**common)
    plan = unseen.concepts(dry_run=True, **common)
    assert (plan.jobs, plan.jobs_left, run.plan().jobs_left) == (3, 0, 0)


@pytest.mark.parametrize("folder", ["all", "grouped/food"])
def test_validation_features_are_joined_or_refused(place: Path, folder: str) -> None:
    with np.load(place / folder / "train.npz") as file:
        np.savez(place / folder / "val.npz", X=file["X"][::4] + 0.01, y=file["y"][::4])
    common: dict[str, Any] = {"levels": place / "mine.toml", "out": place / "run", **QUICK}
    features = place / folder.partition("/")[0]
    if folder == "all":
        run = unseen.concepts(features=features, **common)
    else:
        with pytest.raises(UserError, match=r"food.*regroup=True"):
            unseen.concepts(features=features, **common)
        run = unseen.concepts(features=features, regroup=True, **common)
    rows = {each.domain: each.images["train"] for each in run.data.scored}
    assert rows["food"] == 30
    assert rows["music"] == (30 if folder == "all" else 24)


@pytest.mark.parametrize("folder", ["all", "grouped"])
def test_a_domain_of_one_class_is_refused_by_name(place: Path, folder: str) -> None:
    (place / "one.toml").write_text('seen = ["giraffe", "zebra"]\n[domains]\nfood = ["pizza"]\n')
    write(place / "grouped/food", ["pizza"])
    with pytest.raises(UserError, match="food"):
        unseen.concepts(features=place / folder, levels=place / "one.toml", out=place / "run", **QUICK)
    assert not (place / "run").exists() or not any((place / "run").iterdir())


def test_features_of_other_classes_are_not_taken_for_a_domain(place: Path) -> None:
    write(place / "grouped/food", CLASSES[2:4])
    with pytest.raises(UserError, match="hippopotamus is not a concept of food"):
        unseen.concepts(features=place / "grouped", levels=place / "mine.toml", out=place / "run", **QUICK)


def test_a_second_backbone_is_added_with_the_levels_of_the_run(place: Path) -> None:
    lines = ["level,rank,wnid,name", *(f"1,{n},{name},{name}" for n, name in enumerate(CLASSES[4:6]))]
    (place / "named-by-me.csv").write_text("\n".join(lines))
    common: dict[str, Any] = {"domains": ["l1"], "out": place / "run", **QUICK}
    write(place / "first/l1", CLASSES[4:6])
    write(place / "second/l1", CLASSES[4:6], labels=CLASSES[4:6])
    unseen.concepts("one", features=place / "first", levels=place / "named-by-me.csv", **common)
    run = unseen.concepts("two", features=place / "second", levels=place / "run/levels.csv", **common)
    assert [each.name for each in run.data.backbones] == ["one", "two"]
    assert run.data.levels is not None
    assert run.data.levels.name == "named-by-me"
    (place / "other.csv").write_text("\n".join([*lines[:-1], "1,1,violin,violin"]))
    write(place / "third/l1", ["pizza", "violin"])
    with pytest.raises(UserError, match="differs in the levels .named-by-me.*other"):
        unseen.concepts("three", features=place / "third", levels=place / "other.csv", **common)


def test_a_file_with_published_levels_is_that_set(tmp_path: Path) -> None:
    unseen.levels("cog-v2").write(tmp_path / "renamed.csv")
    chosen = choose_levels(tmp_path / "renamed.csv")
    assert (chosen.levels.name, len(chosen.seen or ())) == ("cog-v2", 1000)


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
