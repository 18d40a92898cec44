"""A concept study of the user's own: what its file says, and what is found out before anything is computed."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from unseen.data.own.concept_data import open_concept_data
from unseen.data.own.concept_file import is_concept_file, read_concept_file
from unseen.data.own.contents import Hashed
from unseen.errors import UserError
from unseen.studies.concepts.levels import choose_levels

ANIMALS = ("giraffe", "zebra", "hippopotamus", "kangaroo", "meerkat")
THINGS = ("pizza", "sandwich", "bicycle", "ambulance", "saxophone", "violin")
CLASSES = (*ANIMALS, *THINGS)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_images(tmp_path / "images", dict.fromkeys(CLASSES, 5))
    return tmp_path


def write_images(folder: Path, counts: Mapping[str, int]) -> None:
    for name, count in counts.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            (folder / name / f"{number}.png").write_bytes(f"{folder.name}{name}{number}".encode())


def write(folder: Path, text: str, name: str = "mine.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_levels_are_built_from_all_other_classes(place: Path) -> None:
    path = write(place, 'images = "images"\nseen = ["giraffe", "zebra"]\nlevels = 3\n')
    data = open_concept_data(read_concept_file(path))
    assert {*data.levels.ids(1)} == {"hippopotamus", "kangaroo", "meerkat"}
    assert sorted(name for classes in data.domains.values() for name in classes) == sorted({*CLASSES} - {*data.seen})
    assert data.levels[1][0].nearest in data.seen
    assert [*data.domains] == ["l1", "l2", "l3"]
    domains, lost = data.open(["seen", "l1"])
    assert [domain.rows for domain in domains] == [{"train": 8, "test": 2}, {"train": 12, "test": 3}]
    assert not lost


def test_classes_that_are_wider_than_a_seen_one_are_not_unseen(place: Path) -> None:
    write_images(place / "images", {"ruminant": 5, "piano": 5})
    path = write(place, 'images = "images"\nseen = ["giraffe", "zebra"]\nlevels = 3\n')
    data = open_concept_data(read_concept_file(path))
    assert data.told[0] == "Not unseen, because they include seen classes: ruminant."
    assert len(data.levels.concepts) == 9
    assert data.told[1].startswith("Not used, because they fall between two levels: ")


def test_domains_by_name_and_images_without_one(place: Path) -> None:
    text = 'images = "images"\nseen = "seen.txt"\nseen_name = "animals"\ntest = 2\ntrain = 2\n'
    (place / "seen.txt").write_text("giraffe\nzebra\n")
    path = write(place, text + '[domains]\nmusic = ["saxophone", "violin"]\nfood = ["pizza", "sandwich"]\n')
    data = open_concept_data(read_concept_file(path))
    assert data.domains == {"music": ("saxophone", "violin"), "food": ("pizza", "sandwich")}
    assert data.told[0].startswith("In no domain: 25 images of 5 classes (ambulance")
    chosen = choose_levels(path)
    assert chosen.names == ("animals", "music", "food")
    [domain], _ = data.open(["music"])
    assert domain.rows == {"train": 4, "test": 4}


def test_a_csv_file_says_the_domain_of_each_class(place: Path) -> None:
    rows = ["class,domain,concept", "giraffe,seen,", "zebra,seen,", "violin,far,violin.n.01", "pizza,far,"]
    path = write(place, "\n".join(rows), "domains.csv")
    assert is_concept_file(path)
    with pytest.raises(UserError, match="no images given"):
        read_concept_file(path)
    data = open_concept_data(read_concept_file(path, place / "images"))
    assert data.domains == {"far": ("pizza", "violin")}
    assert not is_concept_file(write(place, "level,rank,wnid,name\n", "levels.csv"))
    assert is_concept_file(write(place, "class;domain\ngiraffe;seen\n", "semicolons.csv"))


def test_images_that_are_split_already(place: Path) -> None:
    write_images(place / "tests", dict.fromkeys(CLASSES, 2))
    text = 'images = "images"\ntest_images = "tests"\nseen = ["giraffe", "zebra"]\n'
    data = open_concept_data(read_concept_file(write(place, text)))
    assert data.rule is None
    [domain], _ = data.open(["seen"])
    assert domain.rows == {"train": 10, "test": 4}
    lines = ["path,label,split"]
    for name in CLASSES:
        lines += [f"images/{name}/{number}.png,{name},{'fit' if number else 'held'}" for number in range(5)]
    write(place, "\n".join(lines), "list.csv")
    text = 'images = "list.csv"\ntrain_split = "fit"\ntest_split = "held"\nseen = ["giraffe", "zebra"]\n'
    [domain], _ = open_concept_data(read_concept_file(write(place, text))).open(["seen"])
    assert domain.rows == {"train": 8, "test": 2}


def test_classes_without_images_or_with_too_few(place: Path) -> None:
    (place / "images/zebra/0.png").unlink()
    text = 'images = "images"\nseen = ["giraffe", "zebra", "okapi"]\nleast = 4\ntest = 1\n'
    data = open_concept_data(read_concept_file(write(place, text)))
    with pytest.raises(UserError, match=r"no images of 1 of 3 concepts \(okapi\) and fewer than 5 .* \(zebra has 4\)"):
        data.open(["seen"])
    with pytest.raises(UserError, match="1 concepts of seen have enough images"):
        data.open(["seen"], "report")


def test_test_images_that_train_too(place: Path) -> None:
    for number in range(5):
        (place / "images/zebra" / f"{number}.png").write_bytes(b"the same")
    text = 'images = "images"\nseen = ["giraffe", "zebra"]\n'
    totals = []

    def track(items: Iterable[Hashed], what: str, total: int) -> Iterable[Hashed]:
        totals.append(total)
        return items

    with pytest.raises(UserError, match="1 test image is in training too: zebra/"):
        open_concept_data(read_concept_file(write(place, text))).open(["seen"], track=track)
    assert totals == [8, 2]
    allowed = open_concept_data(read_concept_file(write(place, text + "allow_duplicates = true\n")))
    assert len(allowed.open(["seen"])[0]) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('seen = ["giraffe"]', "no images given"),
        ('images = "images"', "no seen classes given"),
        ('images = "images"\nseen = ["giraffe", "giraffe"]', "giraffe is twice in seen"),
        ('images = "images"\nseen = ["giraffe"]\n[domains]\na = ["giraffe", "zebra"]', "giraffe is in seen and in a"),
        ('images = "images"\nseen = ["giraffe"]\nlevel = 3', "unknown key 'level'; did you mean levels"),
        ('images = "images"\nseen = ["giraffe"]\nlevels = 9', "10 classes are too few for 9 levels of 2"),
        (
            'images = "images"\nseen = ["giraffe"]\n[concepts]\nzebr = "zebra.n.01"',
            "zebr, which is not a class; did you",
        ),
        ('images = "images"\nseen = ["giraffe"]\ntrain_split = "a"', "give train_split and test_split, or neither"),
        ('images = "images"\nseen = ["giraffe"]\nseen_name = "l1"', "levels are called l1"),
    ],
)
def test_files_that_cannot_be(place: Path, text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        choose_levels(write(place, text))


def test_a_taxonomy_of_ones_own(place: Path) -> None:
    edges = [(name, "animal") for name in ANIMALS] + [(name, "thing") for name in THINGS]
    rows = [f"{child},{parent}" for child, parent in [*edges, ("animal", "all"), ("thing", "all")]]
    write(place, "\n".join(["child,parent", *rows]), "tree.csv")
    text = 'images = "images"\nseen = ["giraffe", "zebra"]\nlevels = 2\nsize = 3\ntaxonomy = "tree.csv"\n'
    data = open_concept_data(read_concept_file(write(place, text)))
    assert {*data.levels.ids(1)} == {"hippopotamus", "kangaroo", "meerkat"}
    assert {*data.levels.ids(2)} <= {*THINGS}
